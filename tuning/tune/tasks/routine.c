#include "tune/tasks/routine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "schedule/file.h"
#include "schedule/generators/generators.h"

enum { WORD_BYTES = 64 };

/* ---- one algorithm ---- */

/* Sets the parameter of that name, or the window of a generator that is direct. */
static bool set_parameter(hp_generator_t *generator, hp_problem_t *problem, const char *name, uint32_t value)
{
    if (strcmp(name, "window") == 0) {
        generator->in_flight = value;
        return value > 0 && value <= INT32_MAX && generator->direct & 1u << problem->pattern;
    }
    for (unsigned i = 0; i < HP_PARAMETERS_MAX && generator->parameters[i].name; i++)
        if (strcmp(generator->parameters[i].name, name) == 0) {
            problem->parameter[i] = value;
            return true;
        }
    return false;
}

/* The algorithm that the words name, where it solves the problem, whose parameters are set. */
static bool find_one(const char *words, hp_problem_t *problem, hp_generator_t *out)
{
    char name[WORD_BYTES], parameter[WORD_BYTES];
    unsigned value;

    const int found = sscanf(words, "%63[a-z0-9_] %63[a-z]=%u", name, parameter, &value);
    const hp_generator_t *generator = found >= 1 ? hp_generator_find(name) : NULL;
    if (!generator || found == 2)
        return false;
    *out = *generator;
    hp_generator_usual(out, problem);
    if (found == 3 && !set_parameter(out, problem, parameter, value))
        return false;
    return hp_generator_serves(out, problem, NULL, 0);
}

/* ---- two of them ---- */

/* Where the blocks of a list lie in the allreduce. */
typedef enum {
    BLOCKS_SAME,    /* as they do */
    BLOCKS_IN_RECV, /* block i in recv */
    BLOCKS_OWN      /* all in the position's own block of recv */
} blocks_t;

static void copy_list(hp_schedule_t *to, const hp_schedule_t *from, const hp_list_t *list, blocks_t where,
                      uint32_t me, bool receives)
{
    for (uint32_t i = 0; i < list->count; i++) {
        hp_range_t range = from->ranges[list->first + i];
        if (where == BLOCKS_OWN)
            range = hp_range(HP_SPACE_RECV, me, 1);
        else if (where == BLOCKS_IN_RECV)
            range.space = HP_SPACE_RECV;
        (receives ? hp_schedule_receives : hp_schedule_sends)(to, range);
    }
}

static void copy_step(hp_schedule_t *to, const hp_step_t *step, hp_action_t action)
{
    to->stream = step->stream;
    hp_schedule_step(to, step->to, step->from, action);
}

/* The messages of a direct alltoall, reduced as they come. */
static void reduce_directly(hp_schedule_t *to, const hp_schedule_t *alltoall, uint32_t count, uint32_t me)
{
    to->cut = count;
    hp_schedule_local(to, me, hp_range(HP_SPACE_SEND, 0, count), hp_range(HP_SPACE_RECV, 0, count),
                      HP_ACTION_STORE);
    for (uint32_t i = 0; i < alltoall->step_count; i++) {
        const hp_step_t *step = &alltoall->steps[i];
        if (step->to == (int32_t)me)
            continue;
        copy_step(to, step, HP_ACTION_REDUCE_LEFT);
        copy_list(to, alltoall, &step->send, BLOCKS_IN_RECV, me, false);
        copy_list(to, alltoall, &step->recv, BLOCKS_OWN, me, true);
    }
}

/* owners[block]: who has it when it is reduced, and what its number becomes: a position's own. false: some have none, or not
 * one. */
static bool find_owners(const hp_schedule_t *allreduces, uint32_t count, uint32_t *owners)
{
    memset(owners, 0xff, count * sizeof *owners);
    for (uint32_t me = 0; me < count; me++) {
        hp_range_t last = hp_range(HP_SPACE_RECV, 0, 0);
        for (uint32_t i = 0; i < allreduces[me].step_count; i++) {
            const hp_step_t *step = &allreduces[me].steps[i];
            if (step->action != HP_ACTION_STORE && step->recv.count == 1)
                last = allreduces[me].ranges[step->recv.first];
        }
        if (last.count != 1 || last.first >= count || owners[last.first] != UINT32_MAX)
            return false;
        owners[last.first] = me;
    }
    return true;
}

static void copy_renumbered(hp_schedule_t *to, const hp_schedule_t *from, const hp_list_t *list,
                            const uint32_t *owners, bool receives)
{
    for (uint32_t i = 0; i < list->count; i++)
        hp_schedule_renumbered(to, from->ranges[list->first + i], owners, receives);
}

/* The steps of an allreduce but for those that hand results on. */
static void reduce_half(hp_schedule_t *to, const hp_schedule_t *allreduce, const uint32_t *owners,
                        uint32_t me)
{
    to->cut = allreduce->cut;
    for (uint32_t i = 0; i < allreduce->step_count; i++) {
        const hp_step_t *step = &allreduce->steps[i];
        if (step->action == HP_ACTION_STORE && step->to != (int32_t)me)
            continue;
        copy_step(to, step, step->action);
        copy_renumbered(to, allreduce, &step->send, owners, false);
        copy_renumbered(to, allreduce, &step->recv, owners, true);
    }
}

/* An allgather's messages; the position's block is in its place. */
static void gather(hp_schedule_t *to, const hp_schedule_t *allgather, uint32_t me)
{
    for (uint32_t i = 0; i < allgather->step_count; i++) {
        const hp_step_t *step = &allgather->steps[i];
        if (step->to == (int32_t)me)
            continue;
        copy_step(to, step, HP_ACTION_STORE);
        const bool sends_own =
            step->send.count == 1 && allgather->ranges[step->send.first].space == HP_SPACE_SEND;
        copy_list(to, allgather, &step->send, sends_own ? BLOCKS_OWN : BLOCKS_SAME, me, false);
        copy_list(to, allgather, &step->recv, BLOCKS_SAME, me, true);
    }
}

static bool is_plain(const hp_schedule_t *schedule)
{
    bool plain = schedule->scratch_blocks == 0;

    for (uint32_t i = 0; i < schedule->step_count && plain; i++)
        plain = !schedule->steps[i].sync;
    return plain;
}

/* The two algorithms, and the problems that they solve. */
typedef struct {
    hp_generator_t reduces, gathers;
    hp_problem_t first, second;
} pair_t;

static bool find_pair(const char *words, const hp_problem_t *problem, pair_t *pair)
{
    const char *plus = strchr(words, '+');
    char first[WORD_BYTES];

    if (!plus || problem->pattern != HP_PATTERN_ALLREDUCE || problem->ordered)
        return false;
    snprintf(first, sizeof first, "%.*s", (int)(plus - words), words);
    pair->first = pair->second = *problem;
    pair->first.pattern = HP_PATTERN_ALLTOALL;
    bool reduces =
        find_one(first, &pair->first, &pair->reduces) && pair->reduces.direct & HP_SERVES(ALLTOALL);
    if (!reduces) {
        pair->first.pattern = HP_PATTERN_ALLREDUCE;
        reduces = find_one(first, &pair->first, &pair->reduces);
    }
    pair->second.pattern = HP_PATTERN_ALLGATHER;
    return reduces && find_one(plus + 1 + strspn(plus + 1, " "), &pair->second, &pair->gathers);
}

/* owners: of an alltoall's blocks NULL. */
static hp_status_t join(hp_schedule_t *joined, const hp_schedule_t *first, const uint32_t *owners,
                        const hp_schedule_t *second, uint32_t count, uint32_t me)
{
    hp_schedule_init(joined);
    if (!is_plain(first) || !is_plain(second))
        return HP_ERR_ARG;
    if (owners)
        reduce_half(joined, first, owners, me);
    else
        reduce_directly(joined, first, count, me);
    gather(joined, second, me);
    return joined->status;
}

/* The schedules of all positions. *status: what is wrong where there are none. */
static hp_schedule_t *join_all(const pair_t *pair, hp_status_t *status)
{
    const uint32_t count = pair->first.count;
    hp_schedule_t *joined = calloc(count, sizeof *joined);
    hp_schedule_t *first = hp_schedules_make(&pair->reduces, &pair->first);
    hp_schedule_t *second = hp_schedules_make(&pair->gathers, &pair->second);
    uint32_t *owners = malloc(count * sizeof *owners);
    const bool halves = pair->first.pattern == HP_PATTERN_ALLREDUCE;

    *status = joined && first && second && owners ? HP_OK : HP_ERR_NO_MEM;
    if (*status == HP_OK && halves && (first->cut != count || !find_owners(first, count, owners)))
        *status = HP_ERR_ARG;
    for (uint32_t me = 0; me < count && *status == HP_OK; me++)
        *status = join(&joined[me], &first[me], halves ? owners : NULL, &second[me], count, me);
    free(owners);
    hp_schedules_free(first, count);
    hp_schedules_free(second, count);
    if (*status == HP_OK)
        return joined;
    hp_schedules_free(joined, count);
    return NULL;
}

/* ---- the text ---- */

static hp_status_t write_text(const hp_schedule_t *schedules, const hp_problem_t *problem,
                              const hp_generator_t *generator, char **text, size_t *length)
{
    hp_fault_t fault;
    hp_status_t status = hp_schedules_verify(schedules, problem, &fault);
    FILE *out = status == HP_OK ? open_memstream(text, length) : NULL;

    if (!out)
        return status == HP_OK ? HP_ERR_NO_MEM : status;
    status = hp_schedule_file_write(out, schedules, problem, generator);
    if (fclose(out) != 0 && status == HP_OK)
        status = HP_ERR_NO_MEM;
    if (status == HP_OK)
        return HP_OK;
    free(*text);
    *text = NULL;
    return status;
}

static hp_status_t write_pair(const pair_t *pair, const hp_problem_t *problem, char **text, size_t *length)
{
    char says[2 * WORD_BYTES + 64];
    hp_status_t status;
    hp_schedule_t *schedules = join_all(pair, &status);

    if (!schedules)
        return status;
    snprintf(says, sizeof says, "reduces as %s, then gathers as %s", pair->reduces.name, pair->gathers.name);
    const hp_generator_t described = {.name = "", .text = says};
    status = write_text(schedules, problem, &described, text, length);
    hp_schedules_free(schedules, problem->count);
    return status;
}

hp_status_t hp_routine_write(const char *words, const hp_problem_t *problem, char **text, size_t *length)
{
    hp_problem_t asked = *problem;
    hp_generator_t generator;
    pair_t pair;

    *text = NULL;
    if (find_pair(words, problem, &pair))
        return write_pair(&pair, problem, text, length);
    if (strchr(words, '+') || !find_one(words, &asked, &generator))
        return HP_ERR_ARG;
    hp_schedule_t *schedules = hp_schedules_make(&generator, &asked);
    if (!schedules)
        return HP_ERR_NO_MEM;
    const hp_status_t status = write_text(schedules, &asked, &generator, text, length);
    hp_schedules_free(schedules, asked.count);
    return status;
}
