#include "cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/job.h"
#include "replay/match.h"

/* One size of a collective on communicators of one layout. */
typedef struct {
    tune_collective_t collective;
    size_t bytes;
    double seconds;
} cell_t;

/* While the recording is read: a class, and what is not kept in it. */
typedef struct {
    tune_cells_class_t class;
    cell_t *cells;
    int cell_count;
    double seconds, best_s; /* of all its calls; of the longest one on the communicator that is measured on */
} draft_t;

typedef struct {
    const tune_options_t *options;
    const replay_plan_t *plan;
    const int *node_of;
    double *seconds, *calls; /* by call of the plan: of all ranks together; how often it was made */
    draft_t *drafts;
    int count;
    double all_s, left_s; /* of all ranks: in all, and in what is left out */
    int left;             /* cells and patterns that are left out */
} reader_t;

/* ---- calls ---- */

static void sum_calls(reader_t *reader)
{
    const replay_plan_t *plan = reader->plan;

    reader->seconds = replay_allocate((size_t)plan->call_count, sizeof *reader->seconds);
    reader->calls = replay_allocate((size_t)plan->call_count, sizeof *reader->calls);
    for (int rank = 0; rank < plan->recording->ranks; rank++)
        for (int i = 0; i < plan->tracks[rank].count; i++) {
            const replay_step_t *step = &plan->tracks[rank].steps[i];
            const int size = plan->recording->comms[plan->calls[step->call].comm].size;
            reader->seconds[step->call] += step->took_s;
            reader->all_s += step->took_s;
            reader->calls[step->call] += step->started == REPLAY_NO_START ? 1.0 / size : 0;
        }
}

/* ---- classes ---- */

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void find_layout(const reader_t *reader, const replay_comm_t *comm, tune_layout_t *layout)
{
    int *nodes = replay_allocate((size_t)comm->size, sizeof *nodes), *firsts, count = 0;

    firsts = replay_allocate((size_t)comm->size, sizeof *firsts);
    for (int i = 0; i < comm->size; i++) {
        const int node = reader->node_of[comm->world_ranks[i]];
        int n = 0;
        while (n < count && firsts[n] != node)
            n++;
        if (n == count)
            firsts[count++] = node;
        nodes[i] = n;
    }
    tune_layout_init(layout, nodes, comm->size);
    free(nodes);
    free(firsts);
}

static draft_t *find_draft(reader_t *reader, const tune_layout_t *layout)
{
    int i = 0;
    while (i < reader->count && memcmp(&reader->drafts[i].class.layout, layout, sizeof *layout) != 0)
        i++;
    if (i == reader->count) {
        reader->drafts = bench_extend(reader->drafts, (size_t)++reader->count * sizeof *reader->drafts);
        reader->drafts[i] = (draft_t){.class = {.layout = *layout}, .best_s = -1};
    }
    return &reader->drafts[i];
}

/* The communicator of the call that took the longest, of those that rank 0 is in. */
static void offer_comm(draft_t *draft, const replay_comm_t *comm, double seconds)
{
    bool has_rank_0 = false;

    draft->seconds += seconds;
    for (int i = 0; i < comm->size; i++)
        has_rank_0 |= comm->world_ranks[i] == 0;
    if (!has_rank_0 || seconds <= draft->best_s)
        return;
    draft->best_s = seconds;
    free(draft->class.world_ranks);
    draft->class.world_ranks = replay_allocate((size_t)comm->size, sizeof *comm->world_ranks);
    memcpy(draft->class.world_ranks, comm->world_ranks, (size_t)comm->size * sizeof *comm->world_ranks);
    qsort(draft->class.world_ranks, (size_t)comm->size, sizeof *comm->world_ranks, ascending);
}

/* ---- cells and patterns ---- */

static size_t in_elements(size_t bytes)
{
    return (bytes + TUNE_ELEMENT_BYTES - 1) / TUNE_ELEMENT_BYTES;
}

static void add_cell(draft_t *draft, tune_collective_t collective, size_t bytes, double seconds)
{
    int i = 0;
    while (i < draft->cell_count &&
           (draft->cells[i].collective != collective || draft->cells[i].bytes != bytes))
        i++;
    if (i == draft->cell_count) {
        draft->cells = bench_extend(draft->cells, (size_t)++draft->cell_count * sizeof *draft->cells);
        draft->cells[i] = (cell_t){collective, bytes, 0};
    }
    draft->cells[i].seconds += seconds;
}

static void add_pattern(const reader_t *reader, draft_t *draft, int number, tune_collective_t collective)
{
    const replay_plan_t *plan = reader->plan;
    const replay_call_t *call = &plan->calls[number];
    const bench_blocks_t *blocks = &call->collective->blocks;
    const int size = plan->recording->comms[call->comm].size;
    const bool pairs = blocks->sends == BENCH_BLOCK_EACH && blocks->receives == BENCH_BLOCK_EACH;
    const int count = pairs ? size * size : size;
    tune_pattern_t pattern = {.collective = collective,
                              .count = count,
                              .calls = reader->calls[number],
                              .recorded_s = reader->seconds[number]};
    long long sum = 0;

    replay_site_text(plan->recording, call->site, pattern.places[0].text, TUNE_PLACE_BYTES);
    pattern.places[0].calls = pattern.calls;
    pattern.place_count = pattern.places[0].text[0] != '\0';
    pattern.elements = replay_allocate((size_t)count, sizeof *pattern.elements);
    for (int i = 0; i < count; i++) {
        const size_t elements = pairs ? replay_length(plan, call, i / size, i % size)
                                : blocks->sends == BENCH_ONE_BLOCK ? replay_length(plan, call, i, 0)
                                                                   : replay_length(plan, call, 0, i);
        pattern.elements[i] = (int)in_elements(elements * call->type_bytes);
        sum += pattern.elements[i];
    }
    if (sum > 0)
        tune_patterns_add(&draft->class.patterns, &pattern, reader->options->near);
    else
        free(pattern.elements);
}

static void add_call(reader_t *reader, int number)
{
    const replay_call_t *call = &reader->plan->calls[number];
    const replay_comm_t *comm = &reader->plan->recording->comms[call->comm];
    const tune_collective_t collective = tune_collective_find(call->collective->name);
    tune_layout_t layout;

    if (collective == TUNE_COLLECTIVES || !reader->options->collectives[collective] || comm->size == 1)
        return;
    find_layout(reader, comm, &layout);
    draft_t *draft = find_draft(reader, &layout);
    offer_comm(draft, comm, reader->seconds[number]);
    if (call->lengths)
        add_pattern(reader, draft, number, collective);
    else if (call->collective->no_data)
        add_cell(draft, collective, 0, reader->seconds[number]);
    else if (call->count * call->type_bytes > 0)
        add_cell(draft, collective, in_elements(call->count * call->type_bytes) * TUNE_ELEMENT_BYTES,
                 reader->seconds[number]);
}

/* ---- from drafts to classes ---- */

static bool is_little(reader_t *reader, double seconds)
{
    const bool little = seconds < reader->options->least * reader->all_s;
    reader->left += little;
    reader->left_s += little ? seconds : 0;
    return little;
}

static int by_seconds(const void *a, const void *b)
{
    const double x = ((const cell_t *)a)->seconds, y = ((const cell_t *)b)->seconds;
    return (x < y) - (x > y);
}

static int by_bytes(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Those that take the longest, as far as there is room. */
static void keep_size(reader_t *reader, tune_cells_class_t *class, tune_collective_t collective, size_t bytes,
                      double seconds)
{
    tune_sizes_t *sizes = &class->sizes[collective];

    for (int i = 0; i < sizes->count; i++)
        if (sizes->bytes[i] == bytes)
            return;
    if (sizes->count < TUNE_SIZES_MAX) {
        sizes->bytes[sizes->count++] = bytes;
        class->collectives[collective] = true;
    } else {
        reader->left++;
        reader->left_s += seconds;
    }
}

static void keep_patterns(reader_t *reader, tune_cells_class_t *class)
{
    tune_patterns_t all = class->patterns;

    class->patterns = (tune_patterns_t){0};
    for (int i = 0; i < all.count; i++) {
        tune_pattern_t *pattern = &all.list[i];
        if (is_little(reader, pattern->recorded_s)) {
            free(pattern->elements);
            continue;
        }
        const bool own_sizes = tune_collective_family(pattern->collective) == TUNE_OF_OWN_SIZES;
        keep_size(reader, class, pattern->collective, own_sizes ? 0 : tune_pattern_bytes(pattern), 0);
        class->on_patterns[pattern->collective] = true;
        const int alike = pattern->alike;
        tune_patterns_add(&class->patterns, pattern, -1); /* none of them is another again */
        class->patterns.list[class->patterns.count - 1].alike = alike;
    }
    free(all.list);
}

static void finish_draft(reader_t *reader, draft_t *draft)
{
    qsort(draft->cells, (size_t)draft->cell_count, sizeof *draft->cells, by_seconds);
    for (int i = 0; i < draft->cell_count; i++)
        if (!is_little(reader, draft->cells[i].seconds))
            keep_size(reader, &draft->class, draft->cells[i].collective, draft->cells[i].bytes,
                      draft->cells[i].seconds);
    keep_patterns(reader, &draft->class);
    for (int c = 0; c < TUNE_COLLECTIVES; c++)
        qsort(draft->class.sizes[c].bytes, (size_t)draft->class.sizes[c].count, sizeof(size_t), by_bytes);
    draft->class.share = reader->all_s > 0 ? draft->seconds / reader->all_s : 0;
    free(draft->cells);
}

static bool has_any(const tune_cells_class_t *class)
{
    for (int c = 0; c < TUNE_COLLECTIVES; c++)
        if (class->collectives[c])
            return true;
    return false;
}

static int by_share(const void *a, const void *b)
{
    const double x = ((const tune_cells_class_t *)a)->share, y = ((const tune_cells_class_t *)b)->share;
    return (x < y) - (x > y);
}

static void class_fini(tune_cells_class_t *class)
{
    free(class->world_ranks);
    tune_patterns_fini(&class->patterns);
}

static void finish(reader_t *reader, tune_cells_t *cells)
{
    cells->classes = replay_allocate((size_t)reader->count, sizeof *cells->classes);
    for (int i = 0; i < reader->count; i++) {
        draft_t *draft = &reader->drafts[i];
        finish_draft(reader, draft);
        if (draft->class.world_ranks && has_any(&draft->class)) {
            cells->classes[cells->count++] = draft->class;
            continue;
        }
        if (has_any(&draft->class))
            fprintf(stderr,
                    "hanpmpi_tune: communicators of %d ranks on %d nodes are left out: rank 0 is in none of "
                    "them\n",
                    draft->class.layout.ranks, draft->class.layout.nodes);
        class_fini(&draft->class);
    }
    qsort(cells->classes, (size_t)cells->count, sizeof *cells->classes, by_share);
    if (reader->left > 0)
        fprintf(stderr,
                "hanpmpi_tune: %d sizes and patterns with %.2g%% of the time in collectives are left out "
                "(--least)\n",
                reader->left, reader->all_s > 0 ? 100 * reader->left_s / reader->all_s : 0);
}

/* Rank 0. */
static bool read_recording(tune_cells_t *cells, const tune_options_t *options, const int *node_of, int ranks)
{
    char error[REPLAY_ERROR_BYTES];
    replay_recording_t recording;
    replay_plan_t plan = {0};
    bool good = replay_recording_read(&recording, options->pattern, error);

    if (!good) {
        fprintf(stderr, "hanpmpi_tune: --pattern: %s\n", error);
    } else if (recording.ranks != ranks) {
        fprintf(
            stderr,
            "hanpmpi_tune: --pattern: %s is of %d ranks, and this job has %d: start it with mpirun -np %d\n",
            options->pattern, recording.ranks, ranks, recording.ranks);
        good = false;
    } else if (!(good = replay_match(&plan, &recording, error))) {
        fprintf(stderr, "hanpmpi_tune: --pattern: %s: %s\n", options->pattern, error);
    } else {
        reader_t reader = {.options = options, .plan = &plan, .node_of = node_of};
        sum_calls(&reader);
        for (int call = 0; call < plan.call_count; call++)
            add_call(&reader, call);
        finish(&reader, cells);
        free(reader.seconds);
        free(reader.calls);
        free(reader.drafts);
        good = cells->count > 0;
        if (!good)
            fprintf(stderr,
                    "hanpmpi_tune: --pattern: %s has no collective that can be tuned; accepted by "
                    "--collectives are "
                    "those that it calls\n",
                    options->pattern);
    }
    replay_plan_fini(&plan);
    replay_recording_fini(&recording);
    return good;
}

/* ---- to all ranks ---- */

static void cast(void *data, size_t bytes, MPI_Comm comm)
{
    BENCH_MPI(MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, comm));
}

static void share_class(tune_cells_class_t *class, int rank, MPI_Comm comm)
{
    tune_cells_class_t copy = *class;

    cast(&copy, sizeof copy, comm);
    if (rank != 0) {
        *class = copy;
        class->world_ranks = replay_allocate((size_t)copy.layout.ranks, sizeof *class->world_ranks);
        class->patterns.list = replay_allocate((size_t)copy.patterns.count, sizeof *class->patterns.list);
    }
    cast(class->world_ranks, (size_t)copy.layout.ranks * sizeof *class->world_ranks, comm);
    for (int i = 0; i < class->patterns.count; i++) {
        tune_pattern_t pattern = class->patterns.list[i];
        cast(&pattern, sizeof pattern, comm);
        if (rank != 0) {
            pattern.elements = replay_allocate((size_t)pattern.count, sizeof *pattern.elements);
            class->patterns.list[i] = pattern;
        }
        cast(class->patterns.list[i].elements, (size_t)pattern.count * sizeof *pattern.elements, comm);
    }
}

bool tune_cells_read(tune_cells_t *cells, const tune_options_t *options, const int *node_of, MPI_Comm comm)
{
    int rank, size, good = 1;

    *cells = (tune_cells_t){0};
    BENCH_MPI(MPI_Comm_rank(comm, &rank));
    BENCH_MPI(MPI_Comm_size(comm, &size));
    if (rank == 0)
        good = read_recording(cells, options, node_of, size);
    cast(&good, sizeof good, comm);
    cast(&cells->count, sizeof cells->count, comm);
    if (rank != 0)
        cells->classes = replay_allocate((size_t)cells->count, sizeof *cells->classes);
    for (int i = 0; i < cells->count && good; i++)
        share_class(&cells->classes[i], rank, comm);
    return good;
}

void tune_cells_fini(tune_cells_t *cells)
{
    for (int i = 0; i < cells->count; i++)
        class_fini(&cells->classes[i]);
    free(cells->classes);
    *cells = (tune_cells_t){0};
}
