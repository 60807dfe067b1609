#include "pmpi_wrappers/backend/start/job_schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "hier/call/inter_node_files.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "schedule/file.h"

enum { NAMES_MAX = HP_INTER_NODE_FILES_MAX, TEXT_BYTES_MAX = 16 << 20 };

/* What rank 0 sends ahead of the texts, which follow each other in the order of the slots. */
typedef struct {
    uint32_t count;             /* of slots */
    uint64_t length[NAMES_MAX]; /* 0: an empty slot */
    char name[NAMES_MAX][HP_INTER_NODE_NAME_BYTES];
} header_t;

static hp_catalog_t catalog; /* on rank 0 what it read, elsewhere what was sent */

static void print_line(void *context, const char *line)
{
    (void)context;
    hp_warn("HANPMPI_SCHEDULES: %s", line);
}

/* ---- rank 0 ---- */

/* The schedules as a text, of *length bytes; NULL: no memory. */
static char *write_text(const hp_generator_t *generator, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);

    if (!out)
        return NULL;
    bool written = hp_schedule_file_write(out, generator->schedules, generator->problem, generator) == HP_OK;
    written = fclose(out) == 0 && written;
    if (!written) {
        free(text);
        text = NULL;
    }
    return text;
}

/* Appends the text of a slot to those there are. What does not go in is an empty slot. */
static void pack(header_t *header, hp_inter_node_t slot, char **texts, size_t *bytes)
{
    const uint32_t i = header->count++;
    const hp_generator_t *generator = hp_inter_node_generator(slot);
    size_t length = 0;

    snprintf(header->name[i], HP_INTER_NODE_NAME_BYTES, "%s", hp_inter_node_name(slot));
    if (!generator)
        return;
    char *text = write_text(generator, &length);
    const bool fits = text && length <= HP_SCHEDULE_FILE_BYTES_MAX && *bytes + length <= TEXT_BYTES_MAX;
    char *more = fits ? realloc(*texts, *bytes + length) : NULL;
    if (more) {
        memcpy(more + *bytes, text, length);
        *texts = more;
        *bytes += length;
        header->length[i] = length;
    } else {
        hp_warn("HANPMPI_SCHEDULES: %s/%s.json: %s", hp_job.knobs.schedules, header->name[i],
                !text || fits
                    ? hp_status_text(HP_ERR_NO_MEM)
                    : "too large to be sent to all ranks: 4 MiB, all together 16 MiB, are the limit");
        hp_inter_node_fill(slot, NULL);
    }
    free(text);
}

static char *read_directory(header_t *header)
{
    char *texts = NULL;
    size_t bytes = 0;

    hp_catalog_read(&catalog, hp_job.knobs.schedules, print_line, NULL);
    hp_inter_node_take(&catalog, hp_job.knobs.schedules, print_line, NULL);
    for (unsigned i = HP_INTER_NODE_FILES; hp_inter_node_is_word((hp_inter_node_t)i); i++)
        pack(header, (hp_inter_node_t)i, &texts, &bytes);
    hp_info("HANPMPI_SCHEDULES=%s: %u files, %u words for HANPMPI_BETWEEN_NODES", hp_job.knobs.schedules,
            catalog.file_count, header->count);
    return texts;
}

/* ---- all ranks ---- */

/* The same words as on rank 0, in the same order, empty. */
static void take_names(const header_t *header)
{
    hp_inter_node_no_files();
    for (uint32_t i = 0; i < header->count; i++)
        hp_inter_node_add(header->name[i]);
}

/* False: no memory. */
static bool take_texts(const header_t *header, const char *texts)
{
    char why[HP_SCHEDULE_FILE_WHY_BYTES];
    hp_status_t status = HP_OK;

    for (uint32_t i = 0; i < header->count && status == HP_OK; texts += header->length[i++]) {
        hp_generator_t *generator;
        if (header->length[i] == 0)
            continue;
        status = hp_schedule_file_parse_verified(header->name[i], texts, (size_t)header->length[i],
                                                 &generator, why, sizeof why);
        if (status != HP_OK)
            continue;
        catalog.files[catalog.file_count++] = generator;
        hp_inter_node_fill((hp_inter_node_t)(HP_INTER_NODE_FILES + i), generator);
    }
    return status == HP_OK;
}

/* All have rank 0's texts, or nobody has any. */
static void share(const header_t *header, char *texts)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < header->count; i++)
        bytes += header->length[i];
    if (bytes == 0)
        return;
    char *room = hp_job.rank == 0 ? texts : malloc((size_t)bytes);
    const bool shared = hp_job_all(room != NULL) && hp_job_share(room, (size_t)bytes);
    const bool taken = shared && (hp_job.rank == 0 || take_texts(header, room));
    if (!hp_job_all(taken)) {
        take_names(header);
        if (hp_job.rank == 0)
            hp_warn("HANPMPI_SCHEDULES=%s is not used for inter-node algorithms: a rank has no memory for it",
                    hp_job.knobs.schedules);
    }
    if (hp_job.rank != 0)
        free(room);
}

void hp_job_schedules_start(void)
{
    static header_t header; /* zero: padding, too */
    char *texts = NULL;

    hp_catalog_init(&catalog);
    if (!hp_job.knobs.schedules[0]) {
        hp_inter_node_no_files(); /* this rank had settings of its own */
        return;
    }
    if (hp_job.rank == 0)
        texts = read_directory(&header);
    if (hp_job_share(&header, sizeof header)) {
        if (hp_job.rank != 0)
            take_names(&header);
        share(&header, texts);
    }
    free(texts);
}

void hp_job_schedules_finish(void)
{
    hp_inter_node_no_files();
    hp_catalog_fini(&catalog);
}
