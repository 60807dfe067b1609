#include "hier/call/stats.h"

#include <sys/resource.h>
#include "base/words.h"
#include "event_engine/mem/node_memory.h"

hp_stats_bin_t hp_stats[HP_COLLECTIVE_COUNT][HP_STATS_BINS];
uint64_t hp_stats_setup_ns;
bool hp_stats_threads;

static uint64_t read_count(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

void hp_stats_totals(hp_collective_t collective, uint64_t *calls, uint64_t *taken, uint64_t *bytes)
{
    *calls = *taken = *bytes = 0;
    for (unsigned bin = 0; bin < HP_STATS_BINS; bin++) {
        for (unsigned outcome = 0; outcome < HP_OUTCOME_COUNT; outcome++)
            *calls += read_count(&hp_stats[collective][bin].calls[outcome]);
        *taken += read_count(&hp_stats[collective][bin].calls[HP_OUTCOME_TAKEN]);
        *bytes += read_count(&hp_stats[collective][bin].taken_bytes);
    }
}

uint64_t hp_stats_outcome(hp_collective_t collective, hp_outcome_t outcome)
{
    uint64_t calls = 0;
    for (unsigned bin = 0; bin < HP_STATS_BINS; bin++)
        calls += read_count(&hp_stats[collective][bin].calls[outcome]);
    return calls;
}

static void format_bin(char *text, size_t room, unsigned bin)
{
    char from[24], to[24];
    if (bin == HP_STATS_BIN_UNKNOWN) {
        snprintf(text, room, "any");
    } else if (bin == 0) {
        snprintf(text, room, "0 B");
    } else {
        hp_word_size(1ull << (4 * (bin - 1)), from, sizeof from);
        hp_word_size(1ull << (4 * bin), to, sizeof to);
        if (bin + 1 == HP_STATS_BIN_UNKNOWN)
            snprintf(text, room, "%s and more", from);
        else
            snprintf(text, room, "%s to < %s", from, to);
    }
}

static double average_us(uint64_t ns, uint64_t calls)
{
    return calls ? (double)ns / (double)calls / 1000.0 : 0.0;
}

static void print_node_memory(FILE *out)
{
    const hp_node_usage_t usage = hp_node_usage();
    char reserved[24], backed[24], pool[24], resident[24];
    struct rusage used = {0};

    if (!usage.memories_peak)
        return;
    hp_word_size(usage.bytes_peak, reserved, sizeof reserved);
    hp_word_size(usage.slot_bytes_peak, backed, sizeof backed);
    fprintf(out,
            "  shared memory of the node: %u communicators, %s reserved by this rank, %s of it backed by "
            "pages for slots"
            " (each at most)\n",
            usage.memories_peak, reserved, backed);
    hp_word_size(usage.pool_bytes, pool, sizeof pool);
    fprintf(out,
            "  slots that this rank lends to its communicators: %u rings lent at most, %s backed by pages\n",
            usage.rings_lent_peak, pool);
    getrusage(RUSAGE_SELF, &used);
    hp_word_size((uint64_t)used.ru_maxrss * 1024, resident, sizeof resident);
    fprintf(out, "  resident memory of this rank, the whole process: %s at most\n", resident);
}

void hp_stats_print(FILE *out, unsigned rank)
{
    bool seen[HP_OUTCOME_COUNT] = {false};

    fprintf(out, "hanpmpi: collectives of rank %u\n", rank);
    fprintf(out, "  %-10s %-20s %10s %12s %12s %10s %12s  %s\n", "collective", "bytes per call", "taken",
            "bytes", "mean us", "passed", "mean us", "passed through because");
    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++)
        for (unsigned bin = 0; bin < HP_STATS_BINS; bin++) {
            const hp_stats_bin_t *s = &hp_stats[c][bin];
            uint64_t passed = 0;
            char size[64], why[512] = "";
            size_t used = 0;
            for (unsigned outcome = 1; outcome < HP_OUTCOME_COUNT; outcome++)
                if (s->calls[outcome]) {
                    passed += s->calls[outcome];
                    seen[outcome] = true;
                    used += (size_t)snprintf(
                        why + used, used < sizeof why ? sizeof why - used : 0, "%s%s: %llu", used ? ", " : "",
                        hp_outcome_word((hp_outcome_t)outcome), (unsigned long long)s->calls[outcome]);
                    if (used >= sizeof why)
                        used = sizeof why - 1;
                }
            const uint64_t taken = s->calls[HP_OUTCOME_TAKEN];
            if (taken + passed == 0)
                continue;
            format_bin(size, sizeof size, bin);
            fprintf(out, "  %-10s %-20s %10llu %12llu %12.2f %10llu %12.2f  %s\n",
                    hp_collective_name((hp_collective_t)c), size, (unsigned long long)taken,
                    (unsigned long long)s->taken_bytes, average_us(s->taken_ns, taken),
                    (unsigned long long)passed, average_us(s->passed_ns, passed), why);
        }
    for (unsigned outcome = 1; outcome < HP_OUTCOME_COUNT; outcome++)
        if (seen[outcome])
            fprintf(out, "  %s: %s\n", hp_outcome_word((hp_outcome_t)outcome),
                    hp_outcome_text((hp_outcome_t)outcome));
    print_node_memory(out);
}
