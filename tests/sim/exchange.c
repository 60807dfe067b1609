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

static void buffer_init(buffer_t *buffer, const collective_t *collective, const hp_type_t *type,
                        sim_random_t *random)
{
    const size_t span = type->true_extent + (collective->count - 1) * type->extent;
    buffer->raw_bytes = span + 2 * GUARD_BYTES;
    buffer->raw = sim_alloc(1, buffer->raw_bytes);
    buffer->before = sim_alloc(1, buffer->raw_bytes);
    buffer->address = buffer->raw + GUARD_BYTES - type->true_lb;
    for (size_t i = 0; i < buffer->raw_bytes; i += sizeof(uint64_t)) {
        const uint64_t word = sim_random_next(random);
        const size_t left = buffer->raw_bytes - i;
        memcpy(buffer->raw + i, &word, left < sizeof word ? left : sizeof word);
    }
}

static void buffer_fini(buffer_t *buffer)
{
    free(buffer->raw);
    free(buffer->before);
}

/* Contributions that suit the operation; otherwise the random bytes stay. */
static void buffer_fill(buffer_t *buffer, const collective_t *collective, const hp_type_t *type,
                        sim_random_t *random)
{
    for (size_t i = 0; i < collective->count; i++)
        for (uint32_t w = 0; w < elements_words(type); w++) {
            uint64_t word = sim_random_next(random);
            double number = collective->inexact ? (double)(word >> 20) / (double)(1 + (word & 0xfffff))
                                                : (double)(word % 1000);
            if (collective->op == ELEMENTS_SUM_DOUBLE)
                memcpy(&word, &number, sizeof word);
            else if (collective->op == ELEMENTS_AFFINE && w == 0)
                word |= 1; /* an even factor would lose bits at every step */
            memcpy(buffer->address + elements_place(type, i, w), &word, sizeof word);
        }
}

static bool buffer_is_untouched(const buffer_t *buffer)
{
    return memcmp(buffer->raw, buffer->before, buffer->raw_bytes) == 0;
}

/* Compares gaps and guards: the data is put into what was there before, too. */
static bool buffer_gaps_are_untouched(buffer_t *buffer, size_t count, const hp_type_t *type)
{
    char *data = sim_alloc(count, type->bytes);
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
    char *there = sim_alloc(end - first + 1, x->type.bytes);
    steps->wrong |= bytes % x->type.bytes != 0 || end <= first || end > x->collective->count;
    steps->elements = end;
    if (is_root)
        elements_unpack(element(x, steps->rank, first), expected, end - first, &x->type);
    elements_pack(there, element(x, steps->rank, first), end - first, &x->type);
    steps->wrong |= memcmp(there, expected, (end - first) * x->type.bytes) != 0;
    free(there);
    return HP_OK;
}

/* The root's data is taken away. */
static void begin_steps(exchange_t *x, uint32_t rank_count)
{
    const collective_t *c = x->collective;
    char *nothing = sim_alloc(c->count, x->type.bytes);

    x->steps = sim_alloc(rank_count, sizeof *x->steps);
    for (uint32_t rank = 0; rank < rank_count; rank++)
        x->steps[rank] = (steps_t){.source = {advance}, .exchange = x, .rank = rank};
    elements_unpack(x->recv[c->root].address, nothing, c->count, &x->type);
    free(nothing);
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

/* The operation applied in rank order. */
static void expect(exchange_t *x, uint32_t rank_count)
{
    const collective_t *c = x->collective;
    const size_t bytes = c->count * x->type.bytes;
    x->expected = sim_alloc(1, bytes);
    if (c->algorithm->collective == HP_BARRIER)
        return;
    if (c->algorithm->collective == HP_BCAST) {
        elements_pack(x->expected, x->recv[c->root].address, c->count, &x->type);
        return;
    }
    const hp_type_t packed = elements_type(elements_words(&x->type) == 1 ? ELEMENTS_ONE : ELEMENTS_PAIR);
    char *next = sim_alloc(1, bytes);
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        const buffer_t *own = x->send[rank].raw ? &x->send[rank] : &x->recv[rank];
        elements_pack(next, own->address, c->count, &x->type);
        if (rank)
            elements_reduce(x->expected, next, c->count, &packed, c->op);
        char *last = x->expected;
        x->expected = next;
        next = last;
    }
    free(next);
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
        if (has_result(c, rank) || c->lockstep)
            buffer_init(&x->recv[rank], c, &x->type, &random);
        if (reduces && !in_place)
            buffer_init(&x->send[rank], c, &x->type, &random);
        sim_random_t data = {sim_random_mix(c->data_seed) + rank}; /* the same in place or not */
        if (reduces)
            buffer_fill(in_place ? &x->recv[rank] : &x->send[rank], c, &x->type, &data);
    }
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        if (x->recv[rank].raw)
            memcpy(x->recv[rank].before, x->recv[rank].raw, x->recv[rank].raw_bytes);
        if (x->send[rank].raw)
            memcpy(x->send[rank].before, x->send[rank].raw, x->send[rank].raw_bytes);
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

uint64_t exchange_check(exchange_t *x, uint32_t rank, problem_t *problem)
{
    const collective_t *c = x->collective;
    const size_t bytes = c->count * x->type.bytes;

    if (x->steps && (x->steps[rank].wrong || x->steps[rank].elements != c->count))
        problem_report(problem, "rank %u: %zu of %zu elements in steps, %s", rank, x->steps[rank].elements,
                       c->count, x->steps[rank].wrong ? "wrong" : "right");
    if (has_result(c, rank)) {
        char *result = sim_alloc(1, bytes);
        elements_pack(result, x->recv[rank].address, c->count, &x->type);
        if (c->inexact && rank == (c->algorithm->collective == HP_REDUCE ? c->root : 0))
            memcpy(x->expected, result, bytes);
        const uint64_t bits = hash(result, bytes);
        if (memcmp(result, x->expected, bytes) != 0) {
            size_t at = 0;
            while (result[at] == x->expected[at])
                at++;
            problem_report(problem, "rank %u: wrong result from element %zu on", rank, at / x->type.bytes);
        }
        free(result);
        exchange_check_frame(x, rank, problem);
        return bits;
    }
    exchange_check_frame(x, rank, problem);
    return 0;
}
