/* generators: the table of all generators.
 *
 * Threads: pure. Ownership: the table is static. */
#ifndef HP_SCHEDULE_GENERATORS_GENERATORS_H
#define HP_SCHEDULE_GENERATORS_GENERATORS_H

#include "schedule/generator.h"

#define HP_GENERATOR(name) extern const hp_generator_t hp_generator_##name;
#include "schedule/generators/generators.def"
#undef HP_GENERATOR

/* The i-th generator of the table, NULL past the last; the one of that name, or NULL. */
const hp_generator_t *hp_generator(unsigned i);
const hp_generator_t *hp_generator_find(const char *name);

#endif
