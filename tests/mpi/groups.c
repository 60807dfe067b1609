#include "groups.h"

static const char *skipped;

void hp_group_skip(const char *why)
{
    skipped = why;
}

static void run_one(const hp_group_t *group, int *ran)
{
    double start = MPI_Wtime();
    skipped = NULL;
    group->run();
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
