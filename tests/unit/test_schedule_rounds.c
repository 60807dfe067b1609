/* test_schedule_rounds: the rounds and the blocks that the heads of the generators name are those that their schedules
 * take (one_port.h), for every number of positions up to 128, or up to HP_SCHEDULE_POSITIONS. */
#include "one_port.h"
#include "check.h"
#include "positions.h"
#include "schedule/generators/generators.h"

enum { POSITIONS_MAX = 128 };

/* ceil(log_radix p). */
static uint64_t digits(uint64_t p, uint64_t radix)
{
    uint64_t found = 0;
    for (uint64_t power = 1; power < p; power *= radix)
        found++;
    return found;
}

/* The numbers below p that have one digit other than 0, and the digits other than 0 of all numbers below p. */
static uint64_t bruck_messages(uint64_t p, uint64_t radix)
{
    uint64_t messages = 0;
    for (uint64_t power = 1; power < p; power *= radix)
        messages += (p - 1) / power < radix ? (p - 1) / power : radix - 1;
    return messages;
}

static uint64_t bruck_blocks(uint64_t p, uint64_t radix)
{
    uint64_t blocks = 0;
    for (uint64_t number = 0; number < p; number++)
        for (uint64_t rest = number; rest > 0; rest /= radix)
            blocks += rest % radix > 0;
    return blocks;
}

/* The least that the sum of so many factors of p can be. */
static uint64_t mesh_sum(uint64_t p, unsigned factors)
{
    uint64_t least = p + factors - 1;

    for (uint64_t factor = 1; factor <= p && factors > 1; factor++)
        if (p % factor == 0 && factor + mesh_sum(p / factor, factors - 1) < least)
            least = factor + mesh_sum(p / factor, factors - 1);
    return least;
}

/* The blocks that an alltoall sends in a mesh of that sum: of factors a b (c) with a + b (+ c). */
static uint64_t mesh_blocks(uint64_t p, unsigned factors)
{
    const uint64_t sum = mesh_sum(p, factors);

    for (uint64_t a = 1; a <= p; a++)
        for (uint64_t b = 1; p % a == 0 && b <= p / a; b++) {
            const uint64_t c = p / a % b == 0 ? p / a / b : 0;
            if (c > 0 && (factors == 3 || c == 1) && a + b + c - (factors == 2) == sum)
                return p / a * (a - 1) + p / b * (b - 1) + p / c * (c - 1);
        }
    return 0;
}

static uint64_t most_power(uint64_t number)
{
    uint64_t power = 1;
    while (2 * power <= number)
        power *= 2;
    return power;
}

/* Trees of D positions are taken edge by edge, so many in a message: a or, in the end, less. */
static uint64_t pat_rounds(uint64_t p, uint64_t aggregate)
{
    const uint64_t power = most_power(2 * p - 1), wanted = most_power(aggregate);
    const uint64_t trees = wanted < power ? wanted : power, distance = power / trees;
    return digits(trees, 2) + (distance < p ? distance : p) - 1;
}

/* For p positions and the first parameter n: rounds, and blocks that the position sends that sends the most. EXACT: for
 * every p; MOST: not more for any p, and so many for at least one. up, down: log2 p, rounded; power: 2^down; uneven: 1
 * where p is not power. */
#define CLAIMS(EXACT, MOST)                                                                                  \
    EXACT(linear, BCAST, (p - 1) * n, (p - 1) * n)                                                           \
    EXACT(linear, REDUCE, (p - 1) * n, n)                                                                    \
    EXACT(linear, ALLREDUCE, (n + 1) * (p - 1), n * (p - 1))                                                 \
    EXACT(linear, ALLGATHER, 2 * (p - 1), p * (p - 1))                                                       \
    EXACT(linear, REDUCE_SCATTER, 2 * (p - 1), p)                                                            \
    EXACT(linear, GATHER, p - 1, 1)                                                                          \
    EXACT(linear, SCATTER, p - 1, p - 1)                                                                     \
    EXACT(linear, BARRIER, 2 * (p - 1), 0)                                                                   \
    EXACT(chain, BCAST, p - 1 + n - 1, n)                                                                    \
    EXACT(chain, REDUCE, p - 1 + n - 1, n)                                                                   \
    MOST(chain, ALLREDUCE, 2 * (p - 1) + 2 * (n - 1), 2 * n)                                                 \
    EXACT(chain, ALLGATHER, 2 * (p - 1), p > 2 ? 2 * p - 1 : 2)                                              \
    EXACT(chain, REDUCE_SCATTER, 2 * (p - 1), p > 2 ? 2 * p - 2 : 2)                                         \
    EXACT(chain, GATHER, p - 1, p - 1)                                                                       \
    EXACT(chain, SCATTER, p - 1, p - 1)                                                                      \
    EXACT(chain, BARRIER, 2 * (p - 1), 0)                                                                    \
    MOST(binary, BCAST, 2 * down + 2 * (n - 1), 2 * n)                                                       \
    MOST(binary, REDUCE, 2 * down + 2 * (n - 1), n)                                                          \
    MOST(binary, ALLREDUCE, 4 * down + 4 * (n - 1), 3 * n)                                                   \
    EXACT(binomial, BCAST, (n * up), (n * up))                                                               \
    EXACT(binomial, REDUCE, (n * up), n)                                                                     \
    MOST(binomial, ALLREDUCE, 2 * n * up, n * up)                                                            \
    EXACT(binomial, ALLGATHER, 2 * up, p * up)                                                               \
    MOST(binomial, REDUCE_SCATTER, 2 * up, p + p / 2 - (p > 2))                                              \
    MOST(binomial, GATHER, up, p / 2)                                                                        \
    EXACT(binomial, SCATTER, up, p - 1)                                                                      \
    EXACT(binomial, BARRIER, 2 * up, 0)                                                                      \
    MOST(knomial4, BCAST, n * 3 * digits(p, 4), n * 3 * digits(p, 4))                                        \
    MOST(knomial4, REDUCE, n * 3 * digits(p, 4), n)                                                          \
    MOST(knomial8, BCAST, n * 7 * digits(p, 8), n * 7 * digits(p, 8))                                        \
    MOST(knomial8, REDUCE, n * 7 * digits(p, 8), n)                                                          \
    MOST(double_tree, BCAST, 2 * down + 2 + n + n / 3, n + n % 2)                                            \
    MOST(double_tree, REDUCE, 2 * down + 6 + n + n / 2, n)                                                   \
    MOST(double_tree, ALLREDUCE, 4 * down + 4 + 2 * n + n / 2, 2 * n + n % 2)                                \
    EXACT(ring, ALLREDUCE, 2 * (p - 1), 2 * (p - 1))                                                         \
    EXACT(ring, REDUCE_SCATTER, p - 1, p - 1)                                                                \
    EXACT(ring, ALLGATHER, p - 1, p - 1)                                                                     \
    EXACT(recursive_doubling, ALLREDUCE, down + 2 * uneven, down + uneven)                                   \
    EXACT(recursive_doubling, ALLGATHER, up, p - 1)                                                          \
    MOST(recursive_multiplying, ALLREDUCE, (n - 1) * digits(p, n) + 1, (n - 1) * digits(p, n))               \
    EXACT(dissemination, BARRIER, up, 0)                                                                     \
    EXACT(neighbour_exchange, ALLGATHER, p / 2, p - 1)                                                       \
    EXACT(pairwise, ALLTOALL, p - 1, p - 1)                                                                  \
    EXACT(pairwise, ALLGATHER, p - 1, p - 1)                                                                 \
    EXACT(pairwise, REDUCE_SCATTER, p - 1, p - 1)                                                            \
    EXACT(pairwise_xor, ALLTOALL, p - 1, p - 1)                                                              \
    EXACT(pairwise_xor, ALLGATHER, p - 1, p - 1)                                                             \
    EXACT(pairwise_xor, REDUCE_SCATTER, p - 1, p - 1)                                                        \
    EXACT(bruck, ALLGATHER, bruck_messages(p, n), p - 1)                                                     \
    EXACT(bruck, ALLTOALL, bruck_messages(p, n), bruck_blocks(p, n))                                         \
    EXACT(rabenseifner, BCAST, 2 * down + uneven, 2 * (power - 1) + uneven * power)                          \
    EXACT(rabenseifner, REDUCE, 2 * down + uneven, power - 1 + power / 2)                                    \
    EXACT(rabenseifner, ALLREDUCE, 2 * (down + uneven), 2 * (power - 1) + uneven * power)                    \
    EXACT(rabenseifner, REDUCE_SCATTER, up, p - 1)                                                           \
    EXACT(circulant, ALLREDUCE, 2 * up, 2 * (p - 1))                                                         \
    EXACT(circulant, REDUCE_SCATTER, up, p - 1)                                                              \
    EXACT(circulant, ALLGATHER, up, p - 1)                                                                   \
    EXACT(circulant_bcast, BCAST, n - 1 + up, n - 1 + up)                                                    \
    EXACT(circulant_bcast, REDUCE, n - 1 + up, n)                                                            \
    MOST(circulant_bcast, ALLREDUCE, 2 * (n - 1 + up), 2 * n - 2 + up)                                       \
    EXACT(bine, BCAST, (n * up), (n * up))                                                                   \
    EXACT(bine, REDUCE, (n * up), n)                                                                         \
    MOST(bine, GATHER, up, power)                                                                            \
    EXACT(bine, SCATTER, up, p - 1)                                                                          \
    EXACT(bine, ALLREDUCE, 2 * (down + uneven), 2 * (power - 1) + uneven * power)                            \
    EXACT(bine, REDUCE_SCATTER, up, p - 1)                                                                   \
    EXACT(scan_doubling, SCAN, up, up)                                                                       \
    EXACT(scan_doubling, EXSCAN, 1 + digits(p - 1, 2), p > 2 ? digits(p - 1, 2) + (p > 2) : 1)               \
    EXACT(scan_chain, SCAN, p - 1 + n - 1, n)                                                                \
    EXACT(scan_chain, EXSCAN, p - 1 + n - 1, n)                                                              \
    EXACT(bine, ALLGATHER, up, p - 1)                                                                        \
    EXACT(mesh2d, ALLGATHER, mesh_sum(p, 2) - 2, p - 1)                                                      \
    EXACT(mesh2d, ALLTOALL, mesh_sum(p, 2) - 2, mesh_blocks(p, 2))                                           \
    EXACT(mesh3d, ALLGATHER, mesh_sum(p, 3) - 3, p - 1)                                                      \
    EXACT(mesh3d, ALLTOALL, mesh_sum(p, 3) - 3, mesh_blocks(p, 3))                                           \
    EXACT(sparbit, ALLGATHER, up, p - 1)                                                                     \
    EXACT(pat, ALLGATHER, pat_rounds(p, n), p - 1)                                                           \
    EXACT(pat, REDUCE_SCATTER, pat_rounds(p, n), p - 1)                                                      \
    EXACT(recursive_halving, REDUCE_SCATTER, down + 2 * uneven, p - 1 + uneven)

#define FUNCTION(generator, id, rounds_claimed, sent_claimed)                                                \
    static one_port_t claim_##generator##_##id(uint64_t p, uint64_t n)                                       \
    {                                                                                                        \
        const uint64_t up = digits(p, 2), power = (uint64_t)1 << (digits(p + 1, 2) - 1);                     \
        const uint64_t down = digits(power, 2), uneven = p != power;                                         \
        (void)n, (void)up, (void)down, (void)uneven;                                                         \
        return (one_port_t){.rounds = rounds_claimed, .sent = sent_claimed};                                 \
    }
CLAIMS(FUNCTION, FUNCTION)
#undef FUNCTION

static const struct {
    const char *generator;
    hp_pattern_t pattern;
    one_port_t (*claim)(uint64_t p, uint64_t n);
    bool exact;
} claims[] = {
#define ROW(generator, id, exact)          {#generator, HP_PATTERN_##id, claim_##generator##_##id, exact},
#define EXACT(generator, id, rounds, sent) ROW(generator, id, true)
#define MOST(generator, id, rounds, sent)  ROW(generator, id, false)
    CLAIMS(EXACT, MOST)
#undef MOST
#undef EXACT
#undef ROW
};

static one_port_t run(const hp_generator_t *generator, const hp_problem_t *problem, uint64_t expected)
{
    hp_schedule_t *schedules = hp_schedules_make(generator, problem);

    assert_non_null(schedules);
    const one_port_t taken = one_port_run(schedules, problem, expected);
    hp_schedules_free(schedules, problem->count);
    return taken;
}

static void compare(const char *generator, const hp_problem_t *problem, const one_port_t *taken,
                    const one_port_t *claimed, bool exact)
{
    const bool right = exact ? taken->rounds == claimed->rounds && taken->sent == claimed->sent
                             : taken->rounds <= claimed->rounds && taken->sent <= claimed->sent;
    if (!right)
        fail_msg("%s %s, %u positions, parameter %u: %lu rounds, %lu blocks; claimed: %lu, %lu",
                 hp_pattern_name(problem->pattern), generator, problem->count, problem->parameter[0],
                 (unsigned long)taken->rounds, (unsigned long)taken->sent, (unsigned long)claimed->rounds,
                 (unsigned long)claimed->sent);
}

static void they_are_as_claimed(void **state)
{
    static const uint32_t values[] = {1, 2, 3, 4, 7, 12};
    const uint32_t most = positions_max(POSITIONS_MAX);
    (void)state;

    for (unsigned c = 0; c < ARRAY_LENGTH(claims); c++) {
        const hp_generator_t *generator = hp_generator_find(claims[c].generator);
        one_port_t reached = {0};
        assert_non_null(generator);
        for (uint32_t count = 2; count <= most; count++) {
            hp_problem_t problem = {.pattern = claims[c].pattern, .count = count};
            if (hp_pattern_is(problem.pattern, HP_PATTERN_ROOTED))
                problem.root = count / 3;
            hp_generator_usual(generator, &problem);
            for (unsigned v = 0; v < (generator->parameters[0].name ? ARRAY_LENGTH(values) : 1); v++) {
                problem.parameter[0] = values[v];
                if (!hp_generator_serves(generator, &problem, NULL, 0))
                    continue;
                const one_port_t claimed = claims[c].claim(count, problem.parameter[0]);
                const one_port_t taken = run(generator, &problem, claimed.rounds);
                compare(generator->name, &problem, &taken, &claimed, claims[c].exact);
                reached.rounds += taken.rounds == claimed.rounds;
                reached.sent += taken.sent == claimed.sent;
            }
        }
        if (!reached.rounds || !reached.sent)
            fail_msg("%s %s: no number of positions takes so many %s", hp_pattern_name(claims[c].pattern),
                     generator->name, reached.rounds ? "blocks" : "rounds");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(they_are_as_claimed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
