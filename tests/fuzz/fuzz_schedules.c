/* fuzz_schedules: any bytes as a file of schedules. What comes out is right and can be made; written and read again it
 * is the same.
 *
 * For libFuzzer, and for fuzz_files.c, which runs it once for each beginning of each file. Threads: one. */
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "schedule/file.h"
#include "schedule/verify.h"

/* Not assert: it must hold in every build. */
#define MUST(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "fuzz_schedules: line %d: %s does not hold\n", __LINE__, #condition);            \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

static char *write_schedules(const hp_generator_t *generator, size_t *length)
{
    hp_schedule_t *schedules = hp_schedules_make(generator, generator->problem);
    char *text;
    FILE *out = open_memstream(&text, length);

    MUST(schedules && out);
    MUST(hp_schedule_file_write(out, schedules, generator->problem, generator) == HP_OK);
    MUST(fclose(out) == 0);
    hp_schedules_free(schedules, generator->problem->count);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    char why[HP_SCHEDULE_FILE_WHY_BYTES] = "";
    hp_generator_t *generator, *again;
    size_t first_length, second_length;
    hp_fault_t fault;

    const hp_status_t status =
        hp_schedule_file_parse("fuzz.json", (const char *)data, length, &generator, why, sizeof why);
    MUST(status == HP_OK || status == HP_ERR_ARG);
    MUST((status == HP_OK) == (generator != NULL));
    if (!generator) {
        MUST(strncmp(why, "fuzz.json: ", 11) == 0 && why[11]);
        for (const char *c = why; *c; c++)
            MUST((unsigned char)*c >= ' ');
        return 0;
    }
    MUST(hp_generator_serves(generator, generator->problem, NULL, 0));
    MUST(hp_generator_verify(generator, generator->problem, &fault) == HP_OK);
    char *first = write_schedules(generator, &first_length);
    const hp_status_t read =
        hp_schedule_file_parse("fuzz.json", first, first_length, &again, why, sizeof why);
    /* Written it may be longer than the limit. */
    MUST(read == HP_OK || first_length > HP_SCHEDULE_FILE_BYTES_MAX);
    if (again) {
        char *second = write_schedules(again, &second_length);
        MUST(first_length == second_length && memcmp(first, second, first_length) == 0);
        free(second);
    }
    free(first);
    hp_schedule_file_free(generator);
    hp_schedule_file_free(again);
    return 0;
}
