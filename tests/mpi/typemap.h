/* typemap: datatypes together with what they mean: the place of every basic element, in the type map's order.
 *
 * A type map is built beside its MPI datatype and checked against the extents that MPI reports, so buffers
 * can be filled, compared and searched for stray writes without asking the MPI under test. A registry maps
 * handles back to type maps, for user-defined operations.
 *
 * Threads: create and free from one thread at a time; everything else from any, also while another creates
 * and frees: a reduction in flight may be at work on a thread of the library's. Ownership: a type map owns
 * its offsets and, unless it is a bare basic, its datatype. */
#ifndef HP_TESTS_MPI_TYPEMAP_H
#define HP_TESTS_MPI_TYPEMAP_H

#include "basics.h"
#include "operations.h"

typedef struct {
    char name[160];
    MPI_Datatype type;
    bool owned;
    hp_basic_t basic;
    int basics;       /* in one element */
    MPI_Aint *offset; /* of each basic */
    MPI_Aint lb, extent;
    MPI_Aint true_lb, true_ub;
    int max_count; /* elements before a resized type overlaps itself */
    bool is_row;   /* the basics of all elements are one behind the other */
} hp_typemap_t;

/* The bare basic. */
hp_typemap_t *hp_typemap_create_basic(hp_basic_t basic);

/* The i-th of a fixed set of datatypes over a basic, NULL past the last: contiguous, vector, indexed with
 * blocks in reverse order, hindexed that starts behind its origin, subarray, struct with gaps, negative lower
 * bound, a column resized to one basic, vector with a negative stride, nested. */
hp_typemap_t *hp_typemap_create_nth(hp_basic_t basic, int i);

/* A random datatype, up to two constructors deep, at most 64 basics; the same on every rank for the same
 * state. */
hp_typemap_t *hp_typemap_create_random(hp_basic_t basic, hp_random_t *random);

/* The same map with a datatype of its own (MPI_Type_dup). */
hp_typemap_t *hp_typemap_dup(const hp_typemap_t *map);
/* Frees the datatype of a map that owns it, as a program may while a call that was given it is in flight. The
 * map goes on standing for the handle: operations in flight are still called with it. */
void hp_typemap_free_type(hp_typemap_t *map);

void hp_typemap_free(hp_typemap_t *map);

/* The type map of a datatype handle that this file made; fails the program for any other. */
const hp_typemap_t *hp_typemap_find(MPI_Datatype type);

/* Of the data of so many elements, by MPI_Type_size. */
uint64_t hp_typemap_bytes(const hp_typemap_t *map, int64_t count);

/* into = left op into, for every basic of count elements. */
void hp_typemap_combine(const hp_typemap_t *map, hp_operation_t operation, const void *left, void *into,
                        int count);

/* The places of the basics of elements, in their order. */
typedef struct {
    const hp_typemap_t *map;
    char *element; /* its origin */
    int basic;     /* of the element: which is next */
} hp_places_t;

static inline char *hp_places_next(hp_places_t *places)
{
    char *place = places->element + places->map->offset[places->basic];
    if (++places->basic == places->map->basics) {
        places->basic = 0;
        places->element += places->map->extent;
    }
    return place;
}
/* Fills so many basics, the first ones at origin, the k-th with the value of hp_hash(salt, comm_rank, first + k). */
void hp_typemap_fill(const hp_typemap_t *map, hp_operation_t operation, hp_values_t values, uint64_t salt,
                     int comm_rank, int64_t first, int64_t basics, void *origin);

/* What is in buffers where no basic is. Of every salt (its lowest 8 bits) another one. */
void hp_pattern_fill(unsigned char *bytes, size_t count, uint64_t salt);

/* A buffer for count elements between two guards; what no basic covers holds a pattern. */
typedef struct {
    const hp_typemap_t *map;
    int64_t count;
    unsigned char *arena;
    size_t arena_bytes;
    char *base; /* what MPI gets; may lie outside of the arena when lb is large or negative */
} hp_buffer_t;

void hp_buffer_init(hp_buffer_t *buffer, const hp_typemap_t *map, int64_t count);
void hp_buffer_fini(hp_buffer_t *buffer);
static inline int64_t hp_buffer_basics(const hp_buffer_t *buffer)
{
    return buffer->count * buffer->map->basics;
}
/* The place of the i-th basic of the buffer. */
static inline char *hp_buffer_at(const hp_buffer_t *buffer, int64_t i)
{
    int64_t element = i / buffer->map->basics;
    return buffer->base + element * buffer->map->extent + buffer->map->offset[i % buffer->map->basics];
}
static inline hp_places_t hp_buffer_places(const hp_buffer_t *buffer)
{
    return (hp_places_t){.map = buffer->map, .element = buffer->base};
}
/* Fills every basic with the value of hp_hash(salt, comm_rank, i). */
void hp_buffer_fill(hp_buffer_t *buffer, hp_operation_t operation, hp_values_t values, uint64_t salt,
                    int comm_rank);
/* The pattern everywhere, as after hp_buffer_init. */
void hp_buffer_reset(hp_buffer_t *buffer);
/* Copies arena to arena; both were made for the same map and count. */
void hp_buffer_copy(hp_buffer_t *to, const hp_buffer_t *from);
/* The index of the first byte outside every basic that does not hold the pattern any more, -1 when there is
 * none. The holes of a bare predefined pair count as part of it. */
int64_t hp_buffer_find_stray(const hp_buffer_t *buffer);

#endif
