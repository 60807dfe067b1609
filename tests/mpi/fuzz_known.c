#include "fuzz_known.h"

#include <ctype.h>

typedef struct {
    uint64_t calls, bytes;
} sum_t;

static sum_t sums[HP_FUZZ_COLLECTIVES][HP_FUZZ_PERSISTENT + 1][2], starts;

static void add(sum_t *sum, uint64_t bytes)
{
    sum->calls++;
    sum->bytes += bytes;
}

void hp_fuzz_known_call(hp_fuzz_collective_t collective, hp_fuzz_way_t way, bool count_form, uint64_t bytes)
{
    add(&sums[collective][way][count_form && collective != HP_FUZZ_BARRIER], bytes);
}

void hp_fuzz_known_start(uint64_t bytes)
{
    add(&starts, bytes);
}

static void write_sum(FILE *file, const char *function, const sum_t *sum)
{
    if (sum->calls)
        fprintf(file, "call %s 0 %" PRIu64 " %" PRIu64 " 0\n", function, sum->calls, sum->bytes);
}

/* MPI_X, MPI_Ix, MPI_X_init, each of which may end in _c. */
static void write_function(FILE *file, int collective, int way, int form)
{
    const char *name = hp_fuzz_collective_info((hp_fuzz_collective_t)collective)->name;
    const char *end = form ? "_c" : "";
    char function[64];

    if (way == HP_FUZZ_NONBLOCKING)
        snprintf(function, sizeof function, "I%c%s%s", tolower(name[0]), name + 1, end);
    else
        snprintf(function, sizeof function, "%s%s%s", name, way == HP_FUZZ_PERSISTENT ? "_init" : "", end);
    write_sum(file, function, &sums[collective][way][form]);
}

void hp_fuzz_known_write(const char *name)
{
    char path[4096];

    snprintf(path, sizeof path, "%s.%d", name, hp_comm_rank(MPI_COMM_WORLD));
    FILE *file = fopen(path, "w");
    CHECK(file, "%s cannot be written", path);
    for (int i = 0; i < HP_FUZZ_COLLECTIVES; i++)
        for (int way = 0; way <= HP_FUZZ_PERSISTENT; way++)
            for (int form = 0; form < 2; form++)
                write_function(file, i, way, form);
    write_sum(file, "Start", &starts);
    fclose(file);
}
