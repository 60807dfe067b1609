#include "pmpi_wrappers/backend/start/probe.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/log.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/start/probe_link.h"

/* 1 MiB over 1 Gbit/s takes 9 ms; within a node it takes 0.1 ms. */
static const double between_limit_us = 10000, inside_limit_us = 500, memory_us = 300;

/* So far apart a link's rate, or its latency, is another link's, or was measured under load. */
static const double other_rate = 1.4, other_latency = 2.5;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards those below */
static hp_probes_t known;
static bool news, fresh;

void hp_probe_known(hp_probes_t *out, bool *is_fresh)
{
    pthread_mutex_lock(&lock);
    *out = known;
    *is_fresh = fresh;
    pthread_mutex_unlock(&lock);
}

void hp_probe_learn(const hp_probes_t *found, bool kept)
{
    pthread_mutex_lock(&lock);
    const bool learned = hp_probes_learn(&known, found);
    news |= learned && !kept;
    pthread_mutex_unlock(&lock);
}

static void is_fresh_now(void)
{
    pthread_mutex_lock(&lock);
    fresh = true;
    pthread_mutex_unlock(&lock);
}

bool hp_probe_is_news(void)
{
    pthread_mutex_lock(&lock);
    const bool is_news = news;
    pthread_mutex_unlock(&lock);
    return is_news;
}

/* ---- who does what ---- */

typedef struct {
    uint32_t node;      /* one with most ranks */
    int leader;         /* its first rank */
    int *peers;         /* the others of the node; made on the leader alone */
    int peer_count;     /* on all ranks */
    int remote;         /* on another node; -1: there is none */
    bool leads, serves; /* this rank */
} roles_t;

/* within: what is measured is within a node. */
static roles_t roles_of(const hp_comm_t *comm, const hp_layout_t *layout, bool within)
{
    const hp_hierarchy_t *h = comm->hierarchy;
    roles_t roles = {.remote = -1};

    roles.node = hp_hierarchy_fullest_node(h);
    roles.leader = (int)hp_hierarchy_node_leader(h, roles.node);
    roles.peer_count = (int)layout->most_ranks - 1;
    if (layout->nodes > 1 && !within)
        roles.remote = (int)hp_hierarchy_node_leader(h, (roles.node + 1) % layout->nodes);
    roles.leads = roles.leader == (int)comm->rank;
    roles.serves = !roles.leads &&
                   (hp_hierarchy_node_of(h, comm->rank) == roles.node || roles.remote == (int)comm->rank);
    return roles;
}

/* On the rank that leads: the other ranks of its node, the nearest one first. */
static bool find_peers(roles_t *roles, const hp_comm_t *comm)
{
    int found = 0;

    roles->peers = malloc(((size_t)roles->peer_count + 1) * sizeof *roles->peers);
    for (uint32_t rank = 0; rank < comm->size && roles->peers; rank++)
        if ((int)rank != roles->leader && hp_hierarchy_node_of(comm->hierarchy, rank) == roles->node)
            roles->peers[found++] = (int)rank;
    return roles->peers != NULL;
}

/* ---- what is measured ---- */

/* The best repetition. */
static double reduce_rate(const hp_probe_site_t *site)
{
    const hp_kernel_set_t *set = hp_job.kernels ? hp_job.kernels : hp_kernels();
    const uint64_t start = hp_clock_ns();
    uint64_t end = start, best_ns = UINT64_MAX, repetitions = 0;

    do {
        const uint64_t before = end;
        set->kernels[HP_NUMBER_DOUBLE][HP_OP_SUM](site->a, site->b, site->b,
                                                  HP_PROBE_BYTES / sizeof *site->a);
        end = hp_clock_ns();
        best_ns = end - before < best_ns ? end - before : best_ns;
    } while (++repetitions < 3 || (double)(end - start) / 1000 < memory_us);
    return best_ns > 0 ? HP_PROBE_BYTES / ((double)best_ns / 1000) : 0;
}

/* The best of a few repetitions where one takes so little time that anything disturbs it. */
static int best_stream(const hp_probe_site_t *site, int peer, bool copies, double limit_us,
                       hp_probe_stream_t *best)
{
    enum { REPEAT = 3 };
    const uint64_t start = hp_clock_ns();
    int code = MPI_SUCCESS;

    *best = (hp_probe_stream_t){0};
    for (int i = 0; i < REPEAT && code == MPI_SUCCESS; i++) {
        hp_probe_stream_t stream;
        code = hp_probe_stream(site, peer, copies, limit_us, &stream);
        if (stream.rate > best->rate)
            *best = stream;
        if ((double)(hp_clock_ns() - start) / 1000 * (i + 2) / (i + 1) > limit_us)
            break;
    }
    return code;
}

static int probe_stores(const hp_probe_site_t *site, const roles_t *roles, hp_probes_t *probes)
{
    int code = hp_probe_hand_over(site, roles->peers[0], false, &probes->cached_us);

    if (code == MPI_SUCCESS)
        code = hp_probe_hand_over(site, roles->peers[0], true, &probes->streamed_us);
    /* Else the two share a core: it does not matter, and is not asked again. */
    if (!(probes->cached_us > 0 && probes->streamed_us > 0))
        probes->cached_us = probes->streamed_us = probes->flag_us > 0 ? probes->flag_us : 1;
    return code;
}

static int probe_inside(const hp_probe_site_t *site, const roles_t *roles, const hp_layout_t *layout,
                        hp_probes_t *probes)
{
    hp_probe_stream_t stream;

    int code = hp_probe_latency(site, roles->peers[0], &probes->inside_us);
    if (code == MPI_SUCCESS)
        code = best_stream(site, roles->peers[0], false, inside_limit_us, &stream);
    if (code != MPI_SUCCESS)
        return code;
    probes->inside_rate = stream.rate;
    if (layout->shares_memory)
        code = hp_probe_flag(site, roles->peers[0], &probes->flag_us);
    /* Longer than a message, which is behind a flag itself, it takes only where the two shared a core. */
    if (layout->shares_memory && (probes->flag_us == 0 || probes->flag_us > probes->inside_us))
        probes->flag_us = probes->inside_us;
    if (code == MPI_SUCCESS)
        code = hp_probe_copies(site, roles->peers, roles->peer_count, &probes->node_copy_rate);
    return code;
}

/* HAN's overlap rate (X. Luo 2020, equation 5.3), of a stream and the copies that went on meanwhile. Where
 * other programs left no time to copy in, it is what hanpmpi_overlap finds for shm
 * (docs/results/overlap_rate.txt). */
static double overlap_of(const hp_probe_stream_t *alone, const hp_probe_stream_t *both, double copy_rate)
{
    const double stream_us = both->bytes / alone->rate, copy_us = both->copied_bytes / copy_rate;
    const double usual = 0.8, shorter_us = stream_us < copy_us ? stream_us : copy_us;

    if (copy_us < stream_us / 4)
        return usual;
    const double overlap = (stream_us + copy_us - both->us) / shorter_us;
    return overlap < 0 ? 0 : overlap > 1 ? 1 : overlap;
}

static int probe_between(const hp_probe_site_t *site, int remote, hp_probes_t *probes)
{
    hp_probe_stream_t alone, both;

    int code = hp_probe_latency(site, remote, &probes->between_us);
    if (code == MPI_SUCCESS)
        code = hp_probe_cpu(site, remote, &probes->between_cpu_us);
    if (code == MPI_SUCCESS)
        code = best_stream(site, remote, false, between_limit_us, &alone);
    if (code == MPI_SUCCESS)
        code = best_stream(site, remote, true, between_limit_us, &both);
    if (code != MPI_SUCCESS)
        return code;
    probes->between_rate = alone.rate;
    if (alone.rate > 0)
        probes->overlap = overlap_of(&alone, &both, probes->copy_rate);
    return code;
}

static bool is_far(double a, double b, double factor)
{
    return a > factor * b || b > factor * a;
}

/* Forgets what is not so any more. */
static int check_between(const hp_probe_site_t *site, int remote, hp_probes_t *probes)
{
    hp_probe_stream_t stream = {0};
    double us;

    int code = hp_probe_latency(site, remote, &us);
    if (code == MPI_SUCCESS)
        code = hp_probe_stream(site, remote, false, between_limit_us, &stream);
    if (code != MPI_SUCCESS)
        return code;
    if (is_far(us, probes->between_us, other_latency) ||
        is_far(stream.rate, probes->between_rate, other_rate)) {
        hp_info("an inter-node message takes %.3g us and a stream has %.4g MB/s, not %.3g and %.4g as in an "
                "earlier run: measured anew",
                us, stream.rate, probes->between_us, probes->between_rate);
        probes->between_us = probes->between_rate = 0;
    }
    return code;
}

/* The others need not wait any longer. */
static int dismiss(const hp_probe_site_t *site, const roles_t *roles, const hp_probes_t *found, int code,
                   hp_probes_t *out)
{
    for (int i = 0; i < roles->peer_count && code == MPI_SUCCESS; i++)
        code = hp_probe_dismiss(site, roles->peers[i]);
    if (code == MPI_SUCCESS && roles->remote >= 0)
        code = hp_probe_dismiss(site, roles->remote);
    if (hp_probes_are_sane(found))
        *out = *found;
    return code;
}

/* What is known already is not measured again. */
static int lead(const hp_probe_site_t *site, roles_t *roles, const hp_layout_t *layout, bool checks,
                hp_probes_t *inout)
{
    hp_layout_t node = *layout;
    hp_probes_t found = *inout;
    int code = MPI_SUCCESS;
    double mean;

    node.nodes = 1;
    if (!(found.copy_rate > 0 && found.reduce_rate > 0 && found.cores > 0)) {
        found.copy_rate = hp_probe_copy_rate(site, memory_us, &mean);
        found.reduce_rate = reduce_rate(site);
        found.cores = site->state->cores;
    }
    if (roles->peer_count > 0 && !hp_probes_cover(&found, &node))
        code = probe_inside(site, roles, layout, &found);
    if (code == MPI_SUCCESS && roles->remote >= 0 && checks && found.between_rate > 0)
        code = check_between(site, roles->remote, &found);
    if (code == MPI_SUCCESS && roles->remote >= 0 && !hp_probes_cover(&found, layout))
        code = probe_between(site, roles->remote, &found);
    return dismiss(site, roles, &found, code, inout);
}

static int lead_stores(const hp_probe_site_t *site, roles_t *roles, hp_probes_t *inout)
{
    hp_probes_t found = *inout;
    const int code = probe_stores(site, roles, &found);

    return dismiss(site, roles, &found, code, inout);
}

/* ---- together ---- */

/* The ranks that have nothing to measure must not take the cores of those that have: on a node of more ranks than cores, one that wakes
 * up gets its core before one that yields, and a dozen that look every 100 us leave the latter none. */
static int hand_out(MPI_Comm comm, int leader, hp_probes_t *probes)
{
    enum { NAP_CROWDED_US = 1000 };
    const unsigned nap_us = hp_cores_are_crowded(&hp_job.cores) ? NAP_CROWDED_US : HP_PROBE_NAP_US;
    MPI_Request request;
    const int code = P(Ibcast)(probes, sizeof *probes, MPI_BYTE, leader, comm, &request);
    return code == MPI_SUCCESS ? hp_probe_wait(&request, nap_us) : code;
}

static bool site_init(hp_probe_site_t *site, size_t bytes)
{
    site->a = malloc(bytes);
    site->b = malloc(bytes);
    if (!site->a || !site->b)
        return false;
    memset(site->a, 0x3f, bytes); /* pages of its own, and numbers like 5e-4 */
    memset(site->b, 0x3f, bytes);
    return true;
}

static void site_fini(hp_probe_site_t *site)
{
    free(site->a);
    free(site->b);
}

/* stores: how a rank writes what others of its node read, and nothing else. */
static int measure(MPI_Comm users, const hp_route_t *route, hp_comm_t *comm, bool stores, bool checks,
                   hp_probes_t *inout)
{
    const hp_layout_t layout = hp_comm_layout(comm);
    hp_probe_site_t site = {.route = route, .state = comm};
    roles_t roles = roles_of(comm, &layout, stores);
    int ready = 1, all_ready = 0;

    const uint64_t start = hp_clock_ns();
    if (roles.leads || roles.serves)
        ready = site_init(&site, stores ? HP_PROBE_HAND_OVER_BYTES : HP_PROBE_BYTES) &&
                (!roles.leads || find_peers(&roles, comm));
    hp_node_hold_slots(&comm->node_memory, true);
    int code = P(Allreduce)(&ready, &all_ready, 1, MPI_INT, MPI_MIN, users);
    if (code == MPI_SUCCESS && all_ready && roles.leads)
        code = stores ? lead_stores(&site, &roles, inout) : lead(&site, &roles, &layout, checks, inout);
    else if (code == MPI_SUCCESS && all_ready && roles.serves)
        code = hp_probe_serve(&site, roles.leader);
    hp_node_hold_slots(&comm->node_memory, false);
    free(roles.peers);
    site_fini(&site);
    if (code == MPI_SUCCESS)
        code = hand_out(users, roles.leader, inout);
    if (code == MPI_SUCCESS && roles.remote >= 0)
        is_fresh_now();
    if (code == MPI_SUCCESS && comm->rank == 0)
        hp_debug("probes of %s took %.1f ms%s", stores ? "stores" : "the machine",
                 (double)(hp_clock_ns() - start) / 1e6, all_ready ? "" : ": no memory for them on some rank");
    return code;
}

int hp_probe(MPI_Comm users, const hp_route_t *route, hp_comm_t *comm, bool checks, hp_probes_t *inout)
{
    return hp_ranks_take_turns ? MPI_SUCCESS : measure(users, route, comm, false, checks, inout);
}

int hp_probe_stores(MPI_Comm users, const hp_route_t *route, hp_comm_t *comm, hp_probes_t *inout)
{
    const hp_layout_t layout = hp_comm_layout(comm);

    if (hp_ranks_take_turns || layout.most_ranks < 2 || !layout.shares_memory || inout->cached_us > 0 ||
        hp_comm_slots_shape(&comm->knobs).slot_bytes < HP_PROBE_HAND_OVER_BYTES + HP_NODE_LINE)
        return MPI_SUCCESS;
    return measure(users, route, comm, true, false, inout);
}
