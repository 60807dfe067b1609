/* noise_simulated: libhanpmpi-noise.so's counterpart for programs that run in SimGrid's SMPI.
 *
 * The same functions, variables, distributions and streams; preloaded into smpirun. In a simulation there is
 * no core to take away, and computing takes no time: a rank only ever acts when a wait returns. So a rank's
 * interruptions are intervals of simulated time, and a wait that ends inside one of them returns at its end.
 * That holds for the host MPI's algorithms as well, since they wait with the same four functions of SMPI's
 * class Request, which this file stands in front of. Messages that are under way go on, as with a network
 * card that works by itself: a posted receive is filled while its rank is interrupted, and nothing new is
 * posted.
 *
 * (SimGrid's way to stop an actor, sg_actor_suspend, does not do: in 3.32 it also stops the transfer that the
 * actor waits for in MPI_Wait, and makes MPI_Waitany and MPI_Waitsome return too early.)
 *
 * Not HANPMPI_NOISE_HOW, _SIGNAL, _REPORT. Threads: ranks are coroutines of one thread; this library is in
 * the process once, so each rank has its state in a table. Ownership: the table lives as long as the process.
 */
#include <dlfcn.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../tuning/noise/settings.h"
#include "base/log.h"
#include "hanpmpi/noise.h"

#define NOISE_PUBLIC __attribute__((visibility("default")))

typedef struct {
    bool started;
    noise_random_t random;
    double period_start; /* of the period that the interruption below belongs to */
    double phase;        /* from there to its start */
    double duration;
    uint64_t count;
    double seconds;
} rank_noise_t;

static noise_settings_t settings;
static bool has_settings;
static rank_noise_t *ranks; /* [actor] */
static size_t rank_count;

static void give_up(const char *error)
{
    hp_error("noise: %s", error);
    exit(2);
}

static void read_settings(void)
{
    char error[512];
    if (!has_settings && !noise_settings_read(&settings, error, sizeof error))
        give_up(error);
    has_settings = true;
}

static rank_noise_t *mine(void)
{
    const size_t actor = (size_t)sg_actor_self_get_pid();
    if (actor >= rank_count) {
        const size_t wanted = 2 * actor + 64;
        rank_noise_t *longer = realloc(ranks, wanted * sizeof *ranks);
        if (!longer)
            give_up("out of memory");
        memset(longer + rank_count, 0, (wanted - rank_count) * sizeof *ranks);
        ranks = longer;
        rank_count = wanted;
    }
    return &ranks[actor];
}

/* Called when the rank may act again: lets it wait for the end of an interruption that it is in. */
static void interrupt(void)
{
    if (!ranks)
        return;
    const double now = simgrid_get_clock();
    rank_noise_t *noise = mine();
    while (noise->started && noise->period_start + noise->phase <= now) {
        const double end = noise->period_start + noise->phase + noise->duration;
        noise->count++;
        noise->seconds += noise->duration;
        noise->period_start += 1 / settings.hz;
        noise->duration = noise_draw(&settings.amount, settings.hz, &noise->random);
        if (end > now) {
            sg_actor_sleep_until(end);
            return;
        }
    }
}

NOISE_PUBLIC int hanpmpi_noise_set(const char *amount)
{
    char error[512];
    read_settings();
    if (noise_amount_parse(amount, settings.hz, &settings.amount, error, sizeof error))
        return 0;
    hp_error("noise: %s", error);
    return -1;
}

NOISE_PUBLIC int hanpmpi_noise_start(uint64_t stream)
{
    read_settings();
    const uint32_t rank = (uint32_t)strtoul(sg_actor_self_get_name(), NULL, 10); /* smpirun names actors so */
    rank_noise_t *noise = mine();
    noise->started = settings.amount.kind != NOISE_OFF && noise_is_chosen(settings.ranks, rank);
    noise->random = noise_random_start(settings.seed, rank, stream);
    noise->period_start = simgrid_get_clock();
    noise->phase = noise_random_unit(&noise->random) / settings.hz;
    noise->duration = noise_draw(&settings.amount, settings.hz, &noise->random);
    return 0;
}

NOISE_PUBLIC void hanpmpi_noise_stop(void)
{
    mine()->started = false;
}

NOISE_PUBLIC void hanpmpi_noise_totals(uint64_t *count, double *seconds)
{
    *count = mine()->count;
    *seconds = mine()->seconds;
}

/* Stands in front of a function of SMPI's class Request, under its name in the object file. */
#define WAIT(own_name, name, parameters, arguments)                                                          \
    NOISE_PUBLIC int own_name parameters __asm__(name);                                                      \
    int own_name parameters                                                                                  \
    {                                                                                                        \
        static int(*real) parameters;                                                                        \
        if (!real) {                                                                                         \
            void *symbol = dlsym(RTLD_NEXT, name);                                                           \
            if (!symbol)                                                                                     \
                give_up("this SimGrid has no " name "; version 3.32 has");                                   \
            memcpy(&real, &symbol, sizeof real);                                                             \
        }                                                                                                    \
        const int result = real arguments;                                                                   \
        interrupt();                                                                                         \
        return result;                                                                                       \
    }

WAIT(noise_wait, "_ZN7simgrid4smpi7Request4waitEPPS1_P10MPI_Status", (void *request, void *status),
     (request, status))
WAIT(noise_waitall, "_ZN7simgrid4smpi7Request7waitallEiPPS1_P10MPI_Status",
     (int count, void *requests, void *statuses), (count, requests, statuses))
WAIT(noise_waitany, "_ZN7simgrid4smpi7Request7waitanyEiPPS1_P10MPI_Status",
     (int count, void *requests, void *status), (count, requests, status))
WAIT(noise_waitsome, "_ZN7simgrid4smpi7Request8waitsomeEiPPS1_PiP10MPI_Status",
     (int count, void *requests, int *indices, void *statuses), (count, requests, indices, statuses))
