#include "plan.h"

#include <stdlib.h>
#include <string.h>

static const char *read_candidates(teach_part_t *part, json_t *list)
{
    json_t *row;
    size_t i;

    part->candidates = calloc(json_array_size(list) + 1, sizeof *part->candidates);
    if (!part->candidates)
        return "no memory";
    if (json_array_size(list) == 0 || json_array_size(list) > TEACH_CANDIDATES_MAX)
        return "a collective has 1 to 256 candidates";
    json_array_foreach(list, i, row)
    {
        teach_candidate_t *candidate = &part->candidates[part->candidate_count++];
        if (json_unpack(row, "{s:s, s:o}", "name", &candidate->name, "set", &candidate->set) != 0 ||
            !json_is_object(candidate->set))
            return "a candidate has a name and a set";
    }
    return NULL;
}

static const char *read_part(teach_part_t *part, json_t *row)
{
    json_t *bytes, *candidates, *number;
    size_t i;

    if (json_unpack(row, "{s:s, s:o, s:o}", "collective", &part->collective, "bytes", &bytes, "candidates",
                    &candidates) != 0)
        return "a collective has a name, bytes and candidates";
    part->bytes = calloc(json_array_size(bytes) + 1, sizeof *part->bytes);
    if (!part->bytes)
        return "no memory";
    json_array_foreach(bytes, i, number)
    {
        if (!json_is_integer(number) || json_integer_value(number) < 0 || json_integer_value(number) % 8 != 0)
            return "sizes are multiples of 8";
        part->bytes[part->byte_count++] = (size_t)json_integer_value(number);
    }
    return read_candidates(part, candidates);
}

const char *teach_plan_init(teach_plan_t *plan, const char *text)
{
    json_t *parts, *row;
    size_t i;

    memset(plan, 0, sizeof *plan);
    plan->text = json_loads(text, 0, NULL);
    if (!plan->text || json_unpack(plan->text, "{s:i, s:F, s:F, s:F, s:o}", "rounds", &plan->rounds,
                                   "batch_us", &plan->batch_us, "cell_seconds", &plan->cell_seconds,
                                   "seconds", &plan->seconds, "collectives", &parts) != 0)
        return "it is no JSON with rounds, batch_us, cell_seconds, seconds and collectives";
    if (plan->rounds < 1 || plan->rounds > TEACH_ROUNDS_MAX)
        return "there are 1 to 64 rounds";
    plan->parts = calloc(json_array_size(parts) + 1, sizeof *plan->parts);
    if (!plan->parts)
        return "no memory";
    json_array_foreach(parts, i, row)
    {
        const char *wrong = read_part(&plan->parts[plan->part_count++], row);
        if (wrong)
            return wrong;
    }
    return NULL;
}

void teach_plan_fini(teach_plan_t *plan)
{
    for (int i = 0; i < plan->part_count; i++) {
        free(plan->parts[i].bytes);
        free(plan->parts[i].candidates);
    }
    free(plan->parts);
    json_decref(plan->text);
}
