"""hanpmpi_profile overlap: which blocking calls are worth making non-blocking, and what that would give.

A call waits for others (w seconds) and transfers (x seconds); behind it lies the slack, s seconds of computing
that does not need its result. Posted instead, with the wait at the end of the slack, the slack covers what it can
of the wait, and of the transfer what the progress of the MPI can hide:
    hidden = min(efficiency x, s - covered) + covered, covered = min(w, s), less what post and wait cost
The bound has an efficiency of 1 and costs nothing. For the program the ranks run through the recorded sequence
(sequence.py), if there is one."""
import dataclasses
import re
from typing import Optional

from . import scaling
from .efficiency import CALLS, THREAD, collective_of
from .recording import NEXT_CALL, TOUCH, UNTOUCHED
from .slack import MEASURED, of_ranks, touched_slack
from .sequence import Conversion, Sequence
from .totals import by_site
from .views import waits
from .words import percent_text, seconds_text, size_text

WORTH = 0.01 # of the run time; less is not worth anybody's time
MOST_SITES = 10
LITTLE = 0.1 # of the call's time: slack below that is none
THREAD_WINS = 1.25 # the thread is advised when it gains so much more than progress in MPI calls
SEQUENCE, UNKNOWN = "sequence", "unknown" # how a slack is known, beside what a recording says of it
CONVERT, WITH_THREAD, BALANCE, ALGORITHM, NO_SLACK = ("convert", "convert with progress thread", "balance the load", "another algorithm", "no slack")
NOT_KNOWN = "not known"
SLACK_TEXTS = {TOUCH: "first touch {} after return (measured)", UNTOUCHED: "not touched before the next MPI call {} after return (measured)",
               NEXT_CALL: "next MPI call {} after return (an upper bound of the slack)",
               SEQUENCE: "next collective {} after return (an upper bound of the slack)", UNKNOWN: "slack unknown"}
WAIT_TEXTS = {TOUCH: "before the first use of the result", UNTOUCHED: "before the next MPI call or later"}
BLOCKING_KINDS = ("collective", "send", "receive")


@dataclasses.dataclass
class Advice:
    """One call site; seconds are those of a mean call, shares those of the run."""
    call: str
    kind: str
    label: str
    key: tuple
    share: float
    count: int
    bytes: Optional[float]
    waited_s: Optional[float] # None: waited and transferred are not told apart; transfer_s is then the whole
    transfer_s: float
    slack_s: Optional[float]
    before_s: Optional[float]
    how: str
    accelerated: Optional[float]
    gains: dict = dataclasses.field(default_factory=dict) # {"bound", CALLS, THREAD: share of the run, of the mean rank}
    program: dict = dataclasses.field(default_factory=dict) # the same of the program, from the sequence
    verdict: str = ""
    reason: str = ""
    loss: Optional[tuple] = None # (ranks, ranks, X) from another recording

    @property
    def best(self):
        """(gain of the run, by the sequence where there is one) of the verdict's way."""
        way = THREAD if self.verdict == WITH_THREAD else CALLS
        return self.program.get(way, self.gains.get(way))


def is_blocking(call, kind):
    return kind in BLOCKING_KINDS and not re.match(r"MPI_(I[a-z]|Start)", call) and not call.endswith(("_init", "_init_c"))


def hidden_s(waited_s, transfer_s, slack_s, share, cost_s):
    covered = min(waited_s, slack_s)
    return max(0.0, min(share * transfer_s, slack_s - covered) + covered - cost_s)


def slack_after(its, key, totals, touched, gaps):
    """(seconds behind a mean call, seconds before it or None, how that is known)"""
    if key in touched:
        slack = touched[key].value()
        if slack:
            return slack
    if totals.after_s is not None and totals.count:
        return totals.after_s / totals.count, None if totals.before_s is None else totals.before_s / totals.count, NEXT_CALL
    if key in gaps:
        return gaps[key], None, SEQUENCE
    return None, None, UNKNOWN


def gaps_of(its, sequence):
    """{key: mean seconds from a call's end to the next collective}"""
    sums = {}
    for events in sequence.ranks.values() if sequence else []:
        for event, following in zip(events, events[1:]):
            kind = sequence.kinds[event[0]]
            key = kind.call, its.places[kind.site].key
            total, number = sums.get(key, (0.0, 0))
            sums[key] = total + following[1], number + 1
    return {key: total / number for key, (total, number) in sums.items()}


def study(its, efficiency):
    """The blocking call sites that take WORTH of the run or more, the most time first, and the sequence or None."""
    sequence = Sequence(its) if its.document.get("sequence") else None
    touched, gaps, found = touched_slack(its), gaps_of(its, sequence), []
    for key, (place, kind, totals) in by_site(its).items():
        share = its.share(totals.time_s)
        if not is_blocking(key[0], kind) or not totals.count or not share or share < WORTH:
            continue
        waited = None if totals.waited_share is None else totals.waited_share * totals.mean_s
        slack, before, how = slack_after(its, key, totals, touched, gaps)
        advice = Advice(key[0], kind, place.label, key, share, totals.count, totals.mean_bytes, waited, totals.mean_s - (waited or 0.0), slack, before, how,
                        totals.accelerated_share)
        if slack is not None:
            fill_gains(its, advice, efficiency)
            if sequence:
                fill_program(its, advice, efficiency, sequence)
        judge(advice)
        found.append(advice)
    return found[:MOST_SITES], sequence


def usable_slack(advice):
    """What was measured says what lies before, too; to another MPI call only what lies behind is free."""
    return advice.slack_s + ((advice.before_s or 0.0) if advice.how in MEASURED else 0.0)


def fill_gains(its, advice, efficiency):
    slack, waited = usable_slack(advice), advice.waited_s or 0.0
    advice.gains["bound"] = hidden_s(waited, advice.transfer_s, slack, 1.0, 0.0) * advice.count / its.run_s
    for progress in (CALLS, THREAD):
        share, cost, _ = efficiency.of(progress, advice.call, advice.bytes, advice.transfer_s)
        advice.gains[progress] = hidden_s(waited, advice.transfer_s, slack, share, cost) * advice.count / its.run_s


def fill_program(its, advice, efficiency, sequence):
    before = sequence.run()
    mean = (advice.slack_s, advice.before_s or 0.0) if advice.how in MEASURED else (None, 0.0)
    ranks = of_ranks(its, sequence.slack, advice.key) if advice.how in MEASURED else {}
    for progress in ("bound", CALLS, THREAD):
        def convert(kind, rank, progress=progress):
            if (kind.call, its.places[kind.site].key) != advice.key:
                return None
            share, cost, _ = (1.0, 0.0, True) if progress == "bound" else efficiency.of(progress, kind.call, kind.bytes, advice.transfer_s)
            after_s, before_s = ranks.get(rank, mean)
            return Conversion(share, cost, after_s, before_s)
        advice.program[progress] = 1 - sequence.run(convert) / before if before else 0.0


def judge(advice):
    """The verdict, and why."""
    whole = (advice.waited_s or 0.0) + advice.transfer_s
    waits_mostly = advice.waited_s is not None and advice.waited_s >= scaling.MOSTLY * whole
    gain = {way: advice.program.get(way, advice.gains.get(way, 0.0)) for way in (CALLS, THREAD)}
    collective = f"MPI_I{collective_of(advice.call)}"
    if max(gain.values()) >= WORTH:
        with_thread = gain[CALLS] < WORTH or gain[THREAD] > THREAD_WINS * gain[CALLS]
        advice.verdict = WITH_THREAD if with_thread else CONVERT
        advice.reason = f"{collective} here, MPI_Wait " + WAIT_TEXTS.get(advice.how, "as late as the program can")
    elif waits_mostly:
        advice.verdict, advice.reason = BALANCE, (f"{percent_text(advice.waited_s / whole)} of it is waiting for ranks that come late, and "
                                                   + ("the slack is unknown" if advice.slack_s is None else "no slack covers that"))
    elif advice.slack_s is not None and usable_slack(advice) < LITTLE * whole and not beyond_library(advice):
        advice.verdict, advice.reason = NO_SLACK, "the result is needed, or the next call comes, at once"
    elif advice.slack_s is None and advice.kind != "collective":
        advice.verdict, advice.reason = NOT_KNOWN, "nothing says what the program does behind it"
    else:
        advice.verdict, advice.reason = ALGORITHM, algorithm_reason(advice)


def beyond_library(advice):
    return advice.accelerated is not None and advice.accelerated < 0.5


def algorithm_reason(advice):
    whole = (advice.waited_s or 0.0) + advice.transfer_s
    why = ("slack unknown" if advice.slack_s is None else "no slack" if usable_slack(advice) < LITTLE * whole else "the slack hides too little")
    why += ", waiting and transfer unknown" if advice.waited_s is None else f", {percent_text(advice.transfer_s / whole)} of it is transfer"
    if not beyond_library(advice):
        return why
    return why + ("; the host MPI ran it: try the library, or hanpmpi_tune" if not advice.accelerated else
                  f"; the library ran {percent_text(advice.accelerated)} of the calls: HANPMPI_EXPLAIN=1 says why not more")


def rows(found):
    """For JSON."""
    return [{**{field.name: getattr(advice, field.name) for field in dataclasses.fields(advice) if field.name != "key"}, "site": advice.label}
            for advice in found]


def line(advice):
    words = [f"{advice.call[4:] if advice.call.startswith('MPI_') else advice.call} {advice.label}"]
    if advice.bytes is not None:
        words.append(size_text(advice.bytes))
    if advice.loss:
        words.append(f"X({advice.loss[0]}->{advice.loss[1]}) {percent_text(advice.loss[2])}")
    words.append(f"{percent_text(advice.share)} of run")
    whole = (advice.waited_s or 0.0) + advice.transfer_s
    words.append("waiting and transfer not told apart" if advice.waited_s is None else
                 f"wait {100 * advice.waited_s / whole:.0f}% transfer {100 * advice.transfer_s / whole:.0f}%" if whole else "takes no time")
    words.append(SLACK_TEXTS[advice.how].format(seconds_text(advice.slack_s)))
    return "  ".join(words) + ": " + verdict_text(advice)


def verdict_text(advice):
    if advice.verdict not in (CONVERT, WITH_THREAD):
        return f"{advice.verdict}: {advice.reason}"
    where = "program" if advice.program else "mean rank"
    gains = advice.program or advice.gains
    text = f"{advice.reason}: -{percent_text(advice.best)} (bound -{percent_text(gains['bound'])}, {where})"
    return text + (", needs HANPMPI_PROGRESS=thread" if advice.verdict == WITH_THREAD else "")


def waiting_rows(its):
    """Non-blocking operations whose waits take WORTH of the run or more, with what to do."""
    result = []
    for row in waits.collect(its):
        if not row["share"] or row["share"] < WORTH:
            continue
        little = row["between_s"] < LITTLE * row["wait_s"]
        result.append({**{key: row[key] for key in ("post_call", "post_site", "wait_call", "wait_site", "count", "share", "between_mean_s", "wait_mean_s")},
                       "verdict": NO_SLACK if little else WITH_THREAD,
                       "reason": "the wait follows the post at once: nothing can overlap; post earlier or wait later" if little else
                       "what is posted is not moved on while the program computes, or its partner comes late"})
    return result


def waiting_line(row):
    return (f"{row['post_call'][4:]} {row['post_site']} ... {row['wait_call'][4:]} {row['wait_site']}  {percent_text(row['share'])} of run in the wait  "
            f"between {seconds_text(row['between_mean_s'])} wait {seconds_text(row['wait_mean_s'])}: "
            + (f"{row['verdict']}: " if row["verdict"] == NO_SLACK else "try HANPMPI_PROGRESS=thread: ") + row["reason"])


def add_losses(found, its, smaller):
    """X of each site from a smaller run."""
    both = scaling.Study([smaller, its], weak=False)
    for advice in found:
        if advice.key in both.sites:
            advice.loss = smaller.ranks, its.ranks, both.loss(both.sites[advice.key].costs, smaller.ranks, its.ranks).value


def lines(its, found, sequence, efficiency):
    yield from (f"CAUTION: {text}" for text in its.cautions())
    yield f"Efficiency: {efficiency.text()}"
    if sequence:
        yield ("The program's gain is by the recorded sequence" + (f" ({sequence.unmatched} calls without a partner in it)" if sequence.unmatched else "")
               + (": the last calls of the run only" if sequence.skipped else "") + ".")
    else:
        yield "No sequence was recorded (HANPMPI_PROFILE_SEQUENCE): gains are those of the mean rank, and of the program at most so."
    yield ""
    yield from map(line, found)
    waiting = waiting_rows(its)
    if waiting:
        yield from ["", "Non-blocking operations that are waited for:", *map(waiting_line, waiting)]
    if not found and not waiting:
        yield f"No call site takes {percent_text(WORTH)} of the run time or more: nothing to gain from overlap."
