/* arguments: parameter lists of wrapped functions that are handled without knowing their types.
 *
 * Arguments travel as uintptr_t: on the 64-bit Linux ABIs int handles, pointer handles, counts and pointers
 * all pass through unchanged, so nothing here depends on an mpi.h. */
#ifndef HP_PMPI_WRAPPERS_ARGUMENTS_H
#define HP_PMPI_WRAPPERS_ARGUMENTS_H

#include <stdint.h>

/* Parameter and argument lists of 0 to 12. */
#define PARAMETERS_0  void
#define PARAMETERS_1  uintptr_t a
#define PARAMETERS_2  uintptr_t a, uintptr_t b
#define PARAMETERS_3  PARAMETERS_2, uintptr_t c
#define PARAMETERS_4  PARAMETERS_3, uintptr_t d
#define PARAMETERS_5  PARAMETERS_4, uintptr_t e
#define PARAMETERS_6  PARAMETERS_5, uintptr_t f
#define PARAMETERS_7  PARAMETERS_6, uintptr_t g
#define PARAMETERS_8  PARAMETERS_7, uintptr_t h
#define PARAMETERS_9  PARAMETERS_8, uintptr_t i
#define PARAMETERS_10 PARAMETERS_9, uintptr_t j
#define PARAMETERS_11 PARAMETERS_10, uintptr_t k
#define PARAMETERS_12 PARAMETERS_11, uintptr_t l
#define ARGUMENTS_0
#define ARGUMENTS_1  a
#define ARGUMENTS_2  a, b
#define ARGUMENTS_3  ARGUMENTS_2, c
#define ARGUMENTS_4  ARGUMENTS_3, d
#define ARGUMENTS_5  ARGUMENTS_4, e
#define ARGUMENTS_6  ARGUMENTS_5, f
#define ARGUMENTS_7  ARGUMENTS_6, g
#define ARGUMENTS_8  ARGUMENTS_7, h
#define ARGUMENTS_9  ARGUMENTS_8, i
#define ARGUMENTS_10 ARGUMENTS_9, j
#define ARGUMENTS_11 ARGUMENTS_10, k
#define ARGUMENTS_12 ARGUMENTS_11, l

#endif
