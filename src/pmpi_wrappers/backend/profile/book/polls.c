#include "pmpi_wrappers/backend/profile/book/polls.h"

#include "pmpi_wrappers/backend/profile/book/requests.h"

/* MANY: timed at a place before any are not. SHORT_NS: after a longer one the next is timed: there the clock costs little. LEAST: of
 * those that are not timed one after the other; up to SPREAD more, so as not to fall into step with the program. */
enum { MANY = 64, SHORT_NS = 10000, LEAST = 8, SPREAD = 16, PLACES = 1 << HP_POLLS_BITS };

hp_poll_t hp_polls[PLACES];

/* ns: each. */
static hp_polls_sum_t enter(hp_book_t *book, hp_poll_t *poll, uint64_t ns)
{
    const hp_polls_sum_t sum = {.calls = poll->untimed, .ns = poll->untimed * ns};

    if (sum.calls > 0) {
        hp_book_record_add(hp_table_row(&book->records, poll->number - 1), sum.calls, 0, ns);
        hp_book_count_simultaneous(book, hp_requests_active, sum.calls);
    }
    poll->untimed = 0;
    return sum;
}

hp_polls_sum_t hp_polls_leave(hp_book_t *book, hp_poll_t *poll)
{
    const hp_book_record_t *record = poll->untimed ? hp_table_row(&book->records, poll->number - 1) : NULL;
    const hp_polls_sum_t sum = enter(book, poll, record && record->count ? record->ns / record->count : 0);

    *poll = (hp_poll_t){.number = 0};
    return sum;
}

hp_polls_sum_t hp_polls_timed(hp_book_t *book, hp_poll_t *poll, uint64_t ticks, uint64_t ns, uint64_t random)
{
    const hp_polls_sum_t sum = enter(book, poll, ns);

    poll->ticks = ticks;
    if (++poll->timed >= MANY && ns < SHORT_NS)
        poll->left = LEAST + (uint32_t)(random % SPREAD);
    return sum;
}

hp_polls_sum_t hp_polls_leave_all(hp_book_t *book)
{
    hp_polls_sum_t all = {.calls = 0};

    for (unsigned i = 0; i < PLACES; i++) {
        const hp_polls_sum_t sum = hp_polls_leave(book, &hp_polls[i]);
        all.calls += sum.calls;
        all.ns += sum.ns;
    }
    return all;
}

void hp_polls_stop(void)
{
    for (unsigned i = 0; i < PLACES; i++)
        hp_polls[i].left = 0;
}
