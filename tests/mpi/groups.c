#include "groups.h"

#include <signal.h>
#include <unistd.h>

/* On a shared machine with more ranks than cores the slowest group takes a tenth of this. */
enum { GROUP_SECONDS = 120 };

static const char *running, *skipped, *step = "it";
static long step_detail;
static unsigned limit_s;

void hp_group_skip(const char *why)
{
    skipped = why;
}

/* Not async-signal-safe, and it does not matter: the job hangs and ends here. */
static void report_hang(int number)
{
    (void)number;
    fprintf(stderr, "rank %d: group %s: %s (%ld) is not finished after %u s\n", hp_comm_rank(MPI_COMM_WORLD),
            running, step, step_detail, limit_s);
    fflush(NULL);
    _exit(1);
}

static unsigned group_seconds(void)
{
    const char *seconds = getenv("HP_GROUP_SECONDS");
    return seconds ? (unsigned)atoi(seconds) : GROUP_SECONDS;
}

void hp_group_step(unsigned seconds, const char *what, long detail)
{
    step = what;
    step_detail = detail;
    limit_s = group_seconds() ? seconds : 0;
    alarm(limit_s);
}

static void run_one(const hp_group_t *group, int *ran)
{
    double start = MPI_Wtime();
    running = group->name;
    skipped = NULL;
    hp_group_step(group_seconds(), "all of it", 0);
    group->run();
    alarm(0);
    if (!skipped)
        (*ran)++;
    if (hp_comm_rank(MPI_COMM_WORLD) == 0) {
        if (skipped)
            printf("%s: skipped: %s\n", group->name, skipped);
        else
            printf("%s: ok, %.1f s\n", group->name, MPI_Wtime() - start);
        fflush(stdout);
    }
}

int hp_groups_run(int argc, char **argv, const hp_group_t *groups, size_t count)
{
    int ran = 0;

    signal(SIGALRM, report_hang);
    for (int i = 1; i < argc; i++) {
        size_t found = 0;
        while (found < count && strcmp(argv[i], groups[found].name) != 0)
            found++;
        CHECK(found < count, "there is no group named %s", argv[i]);
        run_one(&groups[found], &ran);
    }
    for (size_t i = 0; argc == 1 && i < count; i++)
        run_one(&groups[i], &ran);
    return ran ? 0 : HP_SKIP;
}
