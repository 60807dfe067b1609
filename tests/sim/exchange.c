#include "sim/exchange.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/sim_random.h"
#include "sim/transport_sim.h"

enum { GUARD_BYTES = 64 };

void problem_report(problem_t *problem, const char *format, ...)
{
    va_list args;
    if (problem->text[0])
        return;
    va_start(args, format);
    vsnprintf(problem->text, sizeof problem->text, format, args);
    va_end(args);
}

/* ---- buffers ---- */

static void fill_at_random(char *bytes, size_t count, sim_random_t *random)
{
    for (; count >= sizeof(uint64_t); count -= sizeof(uint64_t), bytes += sizeof(uint64_t)) {
        const uint64_t word = sim_random_next(random);
        memcpy(bytes, &word, sizeof word);
    }
    const uint64_t word = sim_random_next(random);
    memcpy(bytes, &word, count);
}

/* Random bytes but where data will be filled in. keeps_data: nobody may write it. */
static void buffer_init(buffer_t *buffer, const collective_t *collective, const hp_type_t *type,
                        bool keeps_data, bool is_filled, sim_random_t *random)
{
    const size_t span = type->true_extent + (collective->count - 1) * type->extent;
    buffer->raw_bytes = span + 2 * GUARD_BYTES;
    buffer->raw = sim_alloc_unset(1, buffer->raw_bytes);
    buffer->before = sim_alloc_unset(1, buffer->raw_bytes);
    buffer->address = buffer->raw + GUARD_BYTES - type->true_lb;
    buffer->guards_only = !keeps_data && hp_type_is_dense(type);
    if (is_filled && hp_type_is_dense(type)) {
        fill_at_random(buffer->raw, GUARD_BYTES, random);
        fill_at_random(buffer->raw + GUARD_BYTES + span, GUARD_BYTES, random);
    } else {
        fill_at_random(buffer->raw, buffer->raw_bytes, random);
    }
}

static void buffer_fini(buffer_t *buffer)
{
    free(buffer->raw);
    free(buffer->before);
}

/* Contributions that suit the operation; where there are gaps, random bytes are in them before. */
static void buffer_fill(buffer_t *buffer, const collective_t *collective, const hp_type_t *type,
                        sim_random_t *random)
{
    const bool doubles = collective->op == ELEMENTS_SUM_DOUBLE, affine = collective->op == ELEMENTS_AFFINE;
    const uint32_t words = elements_words(type);
    ptrdiff_t place[ELEMENTS_WORDS_MAX] = {0};
    char *element = buffer->address;

    for (uint32_t w = 0; w < words; w++)
        place[w] = elements_place(type, 0, w);
    for (size_t i = 0; i < collective->count; i++, element += type->extent)
        for (uint32_t w = 0; w < words; w++) {
            uint64_t word = sim_random_next(random);
            if (doubles) {
                const double number = collective->inexact
                                          ? (double)(word >> 20) / (double)(1 + (word & 0xfffff))
                                          : (double)(word % 1000);
                memcpy(&word, &number, sizeof word);
            } else if (affine && w == 0) {
                word |= 1; /* an even factor would lose bits at every step */
            }
            memcpy(element + place[w], &word, sizeof word);
        }
}

/* What will be asked for is put aside. */
static void buffer_remember(buffer_t *buffer)
{
    const size_t behind = buffer->raw_bytes - GUARD_BYTES;
    if (!buffer->guards_only) {
        memcpy(buffer->before, buffer->raw, buffer->raw_bytes);
        return;
    }
    memcpy(buffer->before, buffer->raw, GUARD_BYTES);
    memcpy(buffer->before + behind, buffer->raw + behind, GUARD_BYTES);
}

static bool buffer_is_untouched(const buffer_t *buffer)
{
    return memcmp(buffer->raw, buffer->before, buffer->raw_bytes) == 0;
}

/* Compares gaps and guards: where there are gaps, the data is put into what was there before, too. */
static bool buffer_gaps_are_untouched(buffer_t *buffer, size_t count, const hp_type_t *type)
{
    const size_t behind = buffer->raw_bytes - GUARD_BYTES;
    if (buffer->guards_only)
        return memcmp(buffer->raw, buffer->before, GUARD_BYTES) == 0 &&
               memcmp(buffer->raw + behind, buffer->before + behind, GUARD_BYTES) == 0;
    char *data = sim_alloc_unset(count, type->bytes);
    elements_pack(data, buffer->address, count, type);
    elements_unpack(buffer->before + (buffer->address - buffer->raw), data, count, type);
    free(data);
    return buffer_is_untouched(buffer);
}

/* ---- a bcast in steps ---- */

static char *element(const exchange_t *x, uint32_t rank, size_t i)
{
    return x->recv[rank].address + i * x->type.extent;
}

static hp_status_t advance(hp_source_t *source, uint64_t bytes)
{
    steps_t *steps = (steps_t *)source;
    const exchange_t *x = steps->exchange;
    const size_t first = steps->elements, end = bytes / x->type.bytes;
    const bool is_root = steps->rank == x->collective->root;
    const char *expected = x->expected + first * x->type.bytes;

    if (is_root && ++steps->count == x->collective->failing_step)
        return HP_ERR_TRANSPORT;
    steps->wrong |= bytes % x->type.bytes != 0 || end <= first || end > x->collective->count;
    steps->elements = end;
    if (is_root)
        elements_unpack(element(x, steps->rank, first), expected, end - first, &x->type);
    steps->wrong |= !elements_equal(element(x, steps->rank, first), expected, end - first, &x->type);
    return HP_OK;
}

/* The root's data is taken away. */
static void begin_steps(exchange_t *x, uint32_t rank_count)
{
    const collective_t *c = x->collective;

    x->steps = sim_alloc(rank_count, sizeof *x->steps);
    for (uint32_t rank = 0; rank < rank_count; rank++)
        x->steps[rank] = (steps_t){.source = {advance}, .exchange = x, .rank = rank};
    elements_fill(x->recv[c->root].address, 0, c->count, &x->type);
}

/* ---- one collective ---- */

static bool has_result(const collective_t *collective, uint32_t rank)
{
    const hp_collective_t id = collective->algorithm->collective;
    return id == HP_BCAST || id == HP_ALLREDUCE || (id == HP_REDUCE && rank == collective->root);
}

static bool has_contribution(const collective_t *collective)
{
    const hp_collective_t id = collective->algorithm->collective;
    return id == HP_REDUCE || id == HP_ALLREDUCE;
}

/* The operation applied in rank order; pieces that stay in a cache while the ranks' ones join them. */
static void expect(exchange_t *x, uint32_t rank_count)
{
    enum { PIECE_BYTES = 8 << 10 };
    const collective_t *c = x->collective;
    const size_t piece = PIECE_BYTES / x->type.bytes;
    char next[PIECE_BYTES];

    x->expected = sim_alloc_unset(c->count, x->type.bytes);
    if (c->algorithm->collective == HP_BARRIER)
        return;
    if (c->algorithm->collective == HP_BCAST) {
        elements_pack(x->expected, x->recv[c->root].address, c->count, &x->type);
        return;
    }
    const hp_type_t packed = elements_type(elements_words(&x->type) == 1 ? ELEMENTS_ONE : ELEMENTS_PAIR);
    for (size_t i = 0; i < c->count; i += piece) {
        const size_t count = c->count - i < piece ? c->count - i : piece;
        char *expected = x->expected + i * packed.bytes;
        for (uint32_t rank = 0; rank < rank_count; rank++) {
            const buffer_t *own = x->send[rank].raw ? &x->send[rank] : &x->recv[rank];
            elements_pack(next, own->address + i * x->type.extent, count, &x->type);
            if (rank)
                elements_reduce(expected, next, count, &packed, c->op);
            memcpy(expected, next, count * packed.bytes);
        }
    }
}

void exchange_init(exchange_t *x, const collective_t *c, uint32_t rank_count)
{
    sim_random_t random = {c->data_seed};
    const bool reduces = has_contribution(c);
    *x = (exchange_t){.collective = c,
                      .type = elements_type(c->kind),
                      .send = sim_alloc(rank_count, sizeof(buffer_t)),
                      .recv = sim_alloc(rank_count, sizeof(buffer_t))};
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        const bool in_place = c->in_place && has_result(c, rank);
        buffer_t *send = &x->send[rank], *recv = &x->recv[rank];
        if (has_result(c, rank) || c->lockstep)
            buffer_init(recv, c, &x->type, false, reduces && in_place, &random);
        if (reduces && !in_place)
            buffer_init(send, c, &x->type, true, true, &random);
        sim_random_t data = {sim_random_mix(c->data_seed) + rank}; /* the same in place or not */
        if (reduces)
            buffer_fill(in_place ? recv : send, c, &x->type, &data);
        if (recv->raw)
            buffer_remember(recv);
        if (send->raw)
            buffer_remember(send);
    }
    expect(x, rank_count);
    if (c->algorithm->collective == HP_BCAST && !c->lockstep && rank_count > 1 &&
        (c->failing_step || (c->data_seed & 2)))
        begin_steps(x, rank_count);
}

void exchange_fini(exchange_t *x, uint32_t rank_count)
{
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        buffer_fini(&x->send[rank]);
        buffer_fini(&x->recv[rank]);
    }
    free(x->send);
    free(x->recv);
    free(x->expected);
    free(x->steps);
}

/* FNV-1a, but of words: that of bytes took a sixth of the time of the simulations. */
static uint64_t hash(const char *data, size_t bytes)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, data + i, bytes - i < sizeof word ? bytes - i : sizeof word);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 32; /* its high bits matter for the low ones, too */
    }
    return h;
}

hp_call_t exchange_call(const exchange_t *x, uint32_t rank)
{
    const collective_t *c = x->collective;
    const bool in_place = c->in_place && has_result(c, rank);

    return (hp_call_t){.collective = c->algorithm->collective,
                       .send = in_place ? x->recv[rank].address : x->send[rank].address,
                       .recv = x->recv[rank].address,
                       .count = c->count,
                       .type = x->type,
                       .op = c->op,
                       .commutative = c->commutative,
                       .root = c->root,
                       .source = x->steps ? &x->steps[rank].source : NULL};
}

/* ---- afterwards ---- */

bool exchange_has_result(const exchange_t *x, uint32_t rank)
{
    return has_result(x->collective, rank);
}

void exchange_check_frame(exchange_t *x, uint32_t rank, problem_t *problem)
{
    if (x->send[rank].raw && !buffer_is_untouched(&x->send[rank]))
        problem_report(problem, "rank %u: the send buffer was written", rank);
    if (has_result(x->collective, rank) &&
        !buffer_gaps_are_untouched(&x->recv[rank], x->collective->count, &x->type))
        problem_report(problem, "rank %u: a gap or a guard of the result was written", rank);
}

/* Ranks with the right result have the same one. */
static uint64_t hash_of_expected(exchange_t *x)
{
    if (!x->hashed)
        x->hash = hash(x->expected, x->collective->count * x->type.bytes);
    x->hashed = true;
    return x->hash;
}

static uint64_t report_wrong(const exchange_t *x, uint32_t rank, problem_t *problem)
{
    const size_t count = x->collective->count;
    char *result = sim_alloc_unset(count, x->type.bytes);
    size_t at = 0;

    elements_pack(result, x->recv[rank].address, count, &x->type);
    while (result[at] == x->expected[at])
        at++;
    problem_report(problem, "rank %u: wrong result from element %zu on", rank, at / x->type.bytes);
    const uint64_t bits = hash(result, count * x->type.bytes);
    free(result);
    return bits;
}

uint64_t exchange_check(exchange_t *x, uint32_t rank, problem_t *problem)
{
    const collective_t *c = x->collective;

    if (x->steps && (x->steps[rank].wrong || x->steps[rank].elements != c->count))
        problem_report(problem, "rank %u: %zu of %zu elements in steps, %s", rank, x->steps[rank].elements,
                       c->count, x->steps[rank].wrong ? "wrong" : "right");
    uint64_t bits = 0;
    if (has_result(c, rank)) {
        const char *address = x->recv[rank].address;
        if (c->inexact && rank == (c->algorithm->collective == HP_REDUCE ? c->root : 0)) {
            elements_pack(x->expected, address, c->count, &x->type);
            x->hashed = false;
        }
        if (elements_equal(address, x->expected, c->count, &x->type))
            bits = hash_of_expected(x);
        else
            bits = report_wrong(x, rank, problem);
    }
    exchange_check_frame(x, rank, problem);
    return bits;
}
