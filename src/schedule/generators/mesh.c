/* mesh2d, mesh3d: positions are points of a mesh, and exchange with those of their line in one dimension after the other
 * (A. Faraj, X. Yuan, Automatic Generation and Tuning of MPI Collective Communication Routines, ICS 2005).
 *
 * p = d0 d1 (d2), with the least sum that there is. A number's digits in the mixed radix of the dimensions are its
 * coordinates. Allgather: in dimension k a position sends the blocks it has, of all numbers that differ from its own in
 * lower digits, to the others of its line; far first: in higher digits, the last dimension first, so that the most goes to
 * neighbours (depth_first.c). Alltoall: before dimension k a block is known by a number whose lower digits
 * are those of the position that brought it and whose others are those of the one it is for; the position sends each of
 * the others of its line those whose digit k is theirs, and what comes has the sender's digit in that place.
 * Rounds: the sum of d - 1.  Bytes: allgather p - 1 blocks; alltoall the sum of p (d - 1)/d, and local copies of p/d - 1
 * in each dimension.
 * Constraints: of a prime number of positions the mesh is one line, and all is direct. Alltoall: blocks of one size, as
 * nobody knows what those have that pass through. */
#include "schedule/generators/parts/mesh.h"
#include "schedule/generator.h"

enum { DIMENSIONS_MAX = 3 };

/* A dimension: points of a line are weight apart. */
typedef struct {
    uint32_t size, weight, mine; /* mine: the position's coordinate */
} line_t;

typedef struct {
    uint32_t count, me, dimensions;
    line_t lines[DIMENSIONS_MAX];
} mesh_t;

/* Cuts a number into so many factors of the least sum; returns that. */
static uint32_t cut(uint32_t number, uint32_t dimensions, uint32_t *sizes)
{
    uint32_t least = UINT32_MAX, rest[DIMENSIONS_MAX];

    if (dimensions == 1)
        return sizes[0] = number;
    for (uint32_t first = 1; (uint64_t)first * first <= number; first++) {
        const uint32_t sum = number % first == 0 ? first + cut(number / first, dimensions - 1, rest) : least;
        if (sum >= least)
            continue;
        least = sum;
        sizes[dimensions - 1] = first;
        for (uint32_t i = 0; i + 1 < dimensions; i++)
            sizes[i] = rest[i];
    }
    return least;
}

static uint32_t point(const mesh_t *mesh, const line_t *line, uint32_t coordinate)
{
    return mesh->me - line->mine * line->weight + coordinate * line->weight;
}

/* Blocks of all numbers that differ from the point's in the dimensions that are through: lower ones; or higher ones. */
static hp_range_t known_near(const mesh_t *mesh, const line_t *line, uint32_t point)
{
    (void)mesh;
    return hp_range(HP_SPACE_RECV, point / line->weight * line->weight, line->weight);
}

static hp_range_t known_far(const mesh_t *mesh, const line_t *line, uint32_t point)
{
    const uint32_t stride = line->weight * line->size;
    return (hp_range_t){HP_SPACE_RECV, point % stride, mesh->count / stride, 1, stride};
}

static void allgather_line(hp_schedule_t *schedule, const mesh_t *mesh, const line_t *line,
                           hp_range_t (*known)(const mesh_t *, const line_t *, uint32_t))
{
    for (uint32_t i = 1; i < line->size; i++) {
        const uint32_t to = point(mesh, line, (line->mine + i) % line->size);
        const uint32_t from = point(mesh, line, (line->mine + line->size - i) % line->size);
        hp_schedule_step(schedule, (int32_t)to, (int32_t)from, HP_ACTION_STORE);
        hp_schedule_sends(schedule, known(mesh, line, mesh->me));
        hp_schedule_receives(schedule, known(mesh, line, from));
    }
}

/* Where blocks are: in the send buffer, in scratch from base on, or in the result. */
typedef struct {
    hp_space_t space;
    uint32_t base;
} place_t;

/* The blocks whose digit is the coordinate. */
static hp_range_t digit(const mesh_t *mesh, const line_t *line, const place_t *place, uint32_t coordinate)
{
    hp_range_t range = hp_range_digit(place->space, mesh->count, line->size, line->weight, coordinate);
    range.first += place->base;
    return range;
}

/* Those whose digit is the position's own, but for its own block, which goes nowhere. */
static void add_kept(hp_schedule_t *schedule, const mesh_t *mesh, const line_t *line, const place_t *place,
                     void (*add)(hp_schedule_t *, hp_range_t))
{
    const uint32_t stride = line->weight * line->size, before = mesh->me / stride * line->weight;
    const uint32_t run = mesh->me / line->weight * line->weight, in_run = mesh->me - run;
    const uint32_t behind = mesh->count / line->size - before - line->weight, base = place->base;

    add(schedule, (hp_range_t){place->space, base + line->mine * line->weight, before, line->weight, stride});
    add(schedule, hp_range(place->space, base + run, in_run));
    add(schedule, hp_range(place->space, base + mesh->me + 1, line->weight - in_run - 1));
    add(schedule, (hp_range_t){place->space, base + run + stride, behind, line->weight, stride});
}

static void alltoall_line(hp_schedule_t *schedule, const mesh_t *mesh, const line_t *line,
                          const place_t *source, const place_t *target)
{
    if (line->size < mesh->count) {
        hp_schedule_step(schedule, (int32_t)mesh->me, (int32_t)mesh->me, HP_ACTION_STORE);
        add_kept(schedule, mesh, line, source, hp_schedule_sends);
        add_kept(schedule, mesh, line, target, hp_schedule_receives);
    }
    for (uint32_t i = 1; i < line->size; i++) {
        const uint32_t to = (line->mine + i) % line->size, from = (line->mine + line->size - i) % line->size;
        hp_schedule_step(schedule, (int32_t)point(mesh, line, to), (int32_t)point(mesh, line, from),
                         HP_ACTION_STORE);
        hp_schedule_sends(schedule, digit(mesh, line, source, to));
        hp_schedule_receives(schedule, digit(mesh, line, target, from));
    }
}

static void alltoall(hp_schedule_t *schedule, const mesh_t *mesh)
{
    place_t source = {HP_SPACE_SEND, 0};

    for (uint32_t k = 0; k < mesh->dimensions; k++) {
        const line_t *line = &mesh->lines[k];
        const bool is_last = line->weight * line->size == mesh->count;
        const place_t target = {is_last ? HP_SPACE_RECV : HP_SPACE_SCRATCH,
                                is_last ? 0 : schedule->scratch_blocks};
        if (line->size == 1)
            continue;
        alltoall_line(schedule, mesh, line, &source, &target);
        schedule->scratch_blocks += is_last ? 0 : mesh->count;
        source = target;
    }
}

static void allgather(hp_schedule_t *schedule, const mesh_t *mesh, bool far_first)
{
    for (uint32_t k = 0; k < mesh->dimensions; k++)
        allgather_line(schedule, mesh, &mesh->lines[far_first ? mesh->dimensions - 1 - k : k],
                       far_first ? known_far : known_near);
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me, uint32_t dimensions,
                     bool far_first)
{
    const bool gathers = problem->pattern == HP_PATTERN_ALLGATHER;
    mesh_t mesh = {.count = problem->count, .me = me, .dimensions = dimensions};
    uint32_t sizes[DIMENSIONS_MAX], weight = 1;

    cut(mesh.count, dimensions, sizes);
    for (uint32_t k = 0; k < dimensions; weight *= sizes[k++])
        mesh.lines[k] = (line_t){.size = sizes[k], .weight = weight, .mine = me / weight % sizes[k]};
    hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, gathers ? 0 : me, 1),
                      hp_range(HP_SPACE_RECV, me, 1), HP_ACTION_STORE);
    if (gathers)
        allgather(schedule, &mesh, far_first);
    else
        alltoall(schedule, &mesh);
}

static void generate_2d(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    generate(schedule, problem, me, 2, false);
}

static void generate_3d(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    generate(schedule, problem, me, 3, false);
}

void hp_generate_mesh2d_far_first(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    generate(schedule, problem, me, 2, true);
}

void hp_generate_mesh3d_far_first(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    generate(schedule, problem, me, 3, true);
}

const hp_generator_t hp_generator_mesh2d = {
    .name = "mesh2d",
    .text = "rows, then columns of a mesh: about 2 sqrt(p) rounds, neighbours in the order of ranks first",
    .patterns = HP_SERVES(ALLGATHER) | HP_SERVES(ALLTOALL),
    .equal = HP_SERVES(ALLTOALL),
    .generate = generate_2d};

const hp_generator_t hp_generator_mesh3d = {.name = "mesh3d",
                                            .text =
                                                "lines of a mesh in three dimensions: about 3 cbrt(p) rounds",
                                            .patterns = HP_SERVES(ALLGATHER) | HP_SERVES(ALLTOALL),
                                            .equal = HP_SERVES(ALLTOALL),
                                            .generate = generate_3d};
