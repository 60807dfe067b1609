#include "pmpi_wrappers/backend/progress/deferred.h"

#include "pmpi_wrappers/backend/comms/comm_state.h"

hp_deferred_t *_Atomic hp_deferred_list; /* the latest first */

void hp_defer(hp_deferred_t *deferred, void (*run)(hp_deferred_t *deferred))
{
    deferred->run = run;
    deferred->next = atomic_load_explicit(&hp_deferred_list, memory_order_relaxed);
    /* Pairs with the exchange below: who takes it sees all of it. */
    while (!atomic_compare_exchange_weak_explicit(&hp_deferred_list, &deferred->next, deferred,
                                                  memory_order_release, memory_order_relaxed))
        ;
}

void hp_deferred_run_all(void)
{
    hp_deferred_t *in_order = NULL;

    if (hp_comm_states_locked)
        return;
    hp_deferred_t *latest = atomic_exchange_explicit(&hp_deferred_list, NULL, memory_order_acquire);
    while (latest) {
        hp_deferred_t *next = latest->next;
        latest->next = in_order;
        in_order = latest;
        latest = next;
    }
    while (in_order) {
        hp_deferred_t *next = in_order->next;
        in_order->run(in_order);
        in_order = next;
    }
}
