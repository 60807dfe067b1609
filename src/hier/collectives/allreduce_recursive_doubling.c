/* allreduce_recursive_doubling: MPI_Allreduce of small messages by pairwise exchange (R. Thakur, R.
 * Rabenseifner, W. Gropp, Optimization of Collective Communication Operations in MPICH, 2005, section 4.5).
 *
 * p' = largest power of two <= p. The first 2 (p - p') ranks pair up: the even one hands its data to the odd
 * one and waits for the result. The others do log2 p' rounds; in round k partners differ in bit k of their
 * position:
 *
 *      send -> partner, recv <- partner, fold (lower position on the left)
 *
 * Positions keep rank order and every group is a contiguous range, so non-commutative operations are right,
 * and all ranks compute the same expression: the result is bitwise the same everywhere.
 * Rounds: log2 p' (+ 2).  Bytes: each rank sends the whole message log2 p' times.
 * Constraints: none; one segment, so scratch is log2 p' times the message. */
#include "hier/collectives/trees.h"
#include "hier/call/cut.h"
#include "hier/modules/tree_steps.h"

enum { ROUNDS_MAX = 32 };

typedef struct {
    size_t count;
    char *own, *recv;
    int32_t before_send, before_recv; /* lanes of the pairing, -1 where not needed */
    int32_t after_send, after_recv;
    uint32_t round_count;
    struct {
        int32_t send, recv;
        bool partner_is_lower;
    } rounds[ROUNDS_MAX];
} plan_t;

static void emit(const void *plan, hp_segment_t *segment, uint64_t i)
{
    const plan_t *p = plan;
    const bool in_place = p->own == p->recv;
    (void)i; /* one segment */

    if (p->before_send >= 0) { /* out of the exchange: hand over, then get the result */
        hp_task_t *hand_over = hp_emit_send(segment, p->before_send, hp_at(p->own), p->count);
        hp_task_t *result = hp_emit_recv(segment, p->after_recv, p->recv, p->count);
        if (in_place)
            hp_emit_after(result, hand_over);
        return;
    }
    /* The running value starts in recv, where it may be overwritten, and moves to the partner's buffer when
     * the partner is on the right (value (op) theirs is made in theirs). `made` is the task that made it. */
    hp_task_t *made = in_place ? NULL : hp_emit_copy(segment, p->recv, hp_at(p->own), p->count);
    hp_operand_t value = hp_at(p->recv);
    hp_task_t *last_from_recv = NULL; /* the send that was reading recv when the value moved away */
    bool in_recv = true;

    if (p->before_recv >= 0) { /* the pairing partner is the even rank: on the left */
        hp_task_t *theirs = hp_emit_recv_scratch(segment, p->before_recv, p->count);
        hp_task_t *fold = hp_emit_reduce(segment, hp_of(theirs), value, p->count);
        hp_emit_after(fold, theirs);
        hp_emit_after(fold, made);
        made = fold;
    }
    for (uint32_t k = 0; k < p->round_count; k++) {
        hp_task_t *mine = hp_emit_send(segment, p->rounds[k].send, value, p->count);
        hp_task_t *theirs = hp_emit_recv_scratch(segment, p->rounds[k].recv, p->count);
        hp_task_t *fold;
        hp_emit_after(mine, made);
        if (p->rounds[k].partner_is_lower) {
            fold = hp_emit_reduce(segment, hp_of(theirs), value, p->count);
            hp_emit_after(fold, mine); /* the fold overwrites what is being sent */
        } else {
            fold = hp_emit_reduce(segment, value, hp_of(theirs), p->count);
            if (in_recv)
                last_from_recv = mine;
            in_recv = false;
        }
        hp_emit_after(fold, theirs);
        hp_emit_after(fold, made);
        value = hp_of(fold);
        made = fold;
    }
    if (!in_recv) {
        hp_task_t *copy = hp_emit_copy(segment, p->recv, value, p->count);
        hp_emit_after(copy, made);
        hp_emit_after(copy, last_from_recv);
        made = copy;
        value = hp_at(p->recv);
    }
    if (p->after_send >= 0)
        hp_emit_after(hp_emit_send(segment, p->after_send, value, p->count), made);
}

hp_status_t hp_allreduce_recursive_doubling_start(const hp_start_t *start, const hp_call_t *call,
                                                  const hp_setting_t *setting)
{
    hp_comm_t *comm = start->comm;
    uint32_t power = 1;

    while (power <= comm->size / 2)
        power *= 2;
    const uint32_t paired = 2 * (comm->size - power);
    const uint32_t tag = hp_start_tag(start, HP_CHANNEL_UP), after_tag = hp_start_tag(start, HP_CHANNEL_DOWN);
    plan_t *plan = hp_request_plan(start->request, sizeof *plan);
    if (!plan)
        return HP_ERR_NO_MEM;
    *plan = (plan_t){.count = call->count,
                     .own = (char *)call->send,
                     .recv = call->recv,
                     .before_send = -1,
                     .before_recv = -1,
                     .after_send = -1,
                     .after_recv = -1};
    bool lanes_made = true;
    if (comm->rank < paired && comm->rank % 2 == 0) {
        plan->before_send = hp_request_new_lane(start->request, HP_LANE_SEND, comm->rank + 1, tag, 1);
        plan->after_recv = hp_request_new_lane(start->request, HP_LANE_RECV, comm->rank + 1, after_tag, 1);
        lanes_made = plan->before_send >= 0 && plan->after_recv >= 0;
    } else {
        if (comm->rank < paired) {
            plan->before_recv = hp_request_new_lane(start->request, HP_LANE_RECV, comm->rank - 1, tag, 1);
            plan->after_send =
                hp_request_new_lane(start->request, HP_LANE_SEND, comm->rank - 1, after_tag, 1);
            lanes_made = plan->before_recv >= 0 && plan->after_send >= 0;
        }
        const uint32_t position = comm->rank < paired ? comm->rank / 2 : comm->rank - paired / 2;
        for (uint32_t bit = 1; bit < power && lanes_made; bit *= 2) {
            const uint32_t other = position ^ bit;
            const uint32_t peer = other < paired / 2 ? 2 * other + 1 : other + paired / 2;
            const uint32_t k = plan->round_count++;
            plan->rounds[k].send = hp_request_new_lane(start->request, HP_LANE_SEND, peer, tag, 1);
            plan->rounds[k].recv = hp_request_new_lane(start->request, HP_LANE_RECV, peer, tag, 1);
            plan->rounds[k].partner_is_lower = other < position;
            lanes_made = plan->rounds[k].send >= 0 && plan->rounds[k].recv >= 0;
        }
    }
    if (!lanes_made)
        return HP_ERR_NO_MEM;
    const hp_cut_t whole = {
        .count = call->count, .segment_elements = call->count, .extent = call->type.extent};
    hp_pipeline_t pipeline = hp_cut_pipeline(&whole, call, setting);
    pipeline.tasks_per_segment = 3 * plan->round_count + 5;
    pipeline.edges_per_segment = 4 * plan->round_count + 6;
    pipeline.scratch_per_segment = plan->round_count + 1;
    pipeline.emit = emit;
    return hp_request_start(start->request, &pipeline);
}
