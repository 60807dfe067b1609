/* stall_report: tells people, and programs, what has not moved on: on standard error, and a line of JSON for each report
 * in a file (HANPMPI_STALL_JSON).
 *
 * Threads: the library's own. Ownership: everything is borrowed for the call. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_OBSERVE_STALL_REPORT_H
#define HP_PMPI_WRAPPERS_BACKEND_OBSERVE_STALL_REPORT_H

#include <stdio.h>
#include "pmpi_wrappers/backend/observe/survey.h"
#include "pmpi_wrappers/backend/observe/watch_talk.h"

/* What is known of a rank that somebody waits for. */
typedef struct {
    int rank;
    hp_talk_what_t what; /* was asked about */
    uint32_t number;     /* of the question; 0: it cannot be asked */
    bool is_answered;
    hp_talk_answer_t answer; /* stand is right in any case */
} hp_stall_peer_t;

typedef struct {
    const hp_survey_t *survey;
    const bool *is_stalled; /* of each item */
    uint64_t now_ns;
    uint64_t unattended_ns; /* so long nothing has moved the non-blocking ones on here */
    const hp_stall_peer_t *peers;
    uint32_t peer_count;
    bool asks; /* false: ranks cannot be asked */
} hp_stall_report_t;

/* "MPI_Ibcast" */
typedef struct {
    char text[80];
} hp_stall_text_t;
hp_stall_text_t hp_stall_call(hp_collective_t collective, bool blocking);
/* 0 for since_ns = 0: unknown. */
double hp_stall_seconds(uint64_t now_ns, uint64_t since_ns);

void hp_stall_report_print(const hp_stall_report_t *report);
/* Appends to the file. A file that cannot be written is reported once. */
void hp_stall_report_write(const hp_stall_report_t *report);

/* All that is in execution, a line each, for hp_stall_report_print's readers too: after a signal. */
void hp_survey_print(FILE *out, const hp_survey_t *survey, uint64_t now_ns);

#endif
