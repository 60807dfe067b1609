"""hanpmpi_profile advice: what to do, each with what speaks for it. A rule is a function and a row in RULES."""
import dataclasses
import statistics

from . import overlap
from .efficiency import collective_of
from .recording import outside_s
from .totals import by_call, by_site, everything
from .views import arrival, peers
from .words import count_text, percent_text, seconds_text, size_text

WORTH = overlap.WORTH # of the run time
POLLS = 0.05 # of the run time in calls that ask whether something has come
BARRIERS = 0.05 # of the run time
SHORT_BYTES, SHORT_CALLS, SHORT_SHARE = 1024, 1000, 0.02 # so many calls a process of so few bytes, with so much of the run
POINT_TO_POINT = 0.05 # of the run time in a blocking send or receive
HOT = 4.0 # times the mean rank's messages
HOT_RANKS = 8 # with fewer ranks some get more by nature
UNEXPECTED = 0.2 # of the receives that were looked at
COMMUNICATORS = 100 # of one name and size
UNEVEN = 0.1 # the busiest rank computes so much longer than the mean


@dataclasses.dataclass
class Item:
    """gain: share of the run at stake, by which the list is ordered."""
    what: str
    evidence: str
    gain: float


def from_overlap(its, found):
    for one in found:
        if one.verdict in (overlap.CONVERT, overlap.WITH_THREAD):
            yield Item(f"Make {one.call} non-blocking at {one.label}", overlap.line(one), one.best)
    for row in overlap.waiting_rows(its):
        yield Item(("Post " if row["verdict"] == overlap.NO_SLACK else "Let a thread make progress (HANPMPI_PROGRESS=thread): ")
                   + (f"{row['post_call']} at {row['post_site']} earlier, or wait later" if row["verdict"] == overlap.NO_SLACK else
                      f"{row['post_call']} at {row['post_site']}"), overlap.waiting_line(row), row["share"])


def from_arrival(its, _):
    shares = {key: (its.share(totals.waited_s), totals.waited_share) for key, (_, _, totals) in by_site(its).items()}
    for row in arrival.collect(its):
        share, waited = shares.get(row["key"], (None, None))
        if share and share >= WORTH and waited >= 0.5:
            yield Item(f"Balance the load before {row['call']} at {row['site']}",
                       f"{percent_text(share)} of the run is waiting there ({percent_text(waited)} of the call); came last: "
                       f"{arrival.late_text(row) or 'not recorded'}{node_text(its, row)}", share)


def node_text(its, row):
    """Where the late ranks share a node, the node is to blame."""
    nodes = its.node_of_rank
    late = [rank for rank, times, _ in row["late"] if times and rank < len(nodes)]
    if len(late) >= 2 and len({nodes[rank] for rank in late}) == 1 and its.nodes and its.nodes > 1:
        return f"; all of them on node {its.document['nodes'][nodes[late[0]]]}"
    return ""


def from_ranks(its, _):
    work = {row["rank"]: outside_s(row) for row in its.per_rank}
    mean = statistics.fmean(work.values()) if work else 0
    if mean > 0:
        busiest = max(work, key=work.get)
        if work[busiest] > (1 + UNEVEN) * mean:
            yield Item("Distribute the program's own work more evenly",
                       f"rank {busiest} is outside MPI for {seconds_text(work[busiest])}, the mean rank for {seconds_text(mean)}",
                       (work[busiest] - mean) / max(its.longest_s, 1e-9))


def from_polling(its, _):
    found = [(call, totals) for call, totals in by_call(its).items() if kind_of(its, call) == "test"]
    share = sum(its.share(totals.time_s) or 0 for _, totals in found)
    if share >= POLLS:
        calls = ", ".join(f"{call} {count_text(totals.count / its.present)} times a process" for call, totals in found[:3])
        yield Item("Ask less often whether a message has come, or wait for it", f"{percent_text(share)} of the run is in tests and probes: {calls}", share)


def kind_of(its, call):
    return next(row["kind"] for row in its.calls if row["name"] == call)


def from_point_to_point(its, _):
    reasons = {"send": ("MPI_Isend, or receives that are posted earlier", "a long message is not sent before its receive is posted"),
               "receive": ("MPI_Irecv, posted before the computing that comes first", "it waits until the message comes")}
    for key, (place, kind, totals) in by_site(its).items():
        share = its.share(totals.time_s) or 0
        if kind in reasons and overlap.is_blocking(key[0], kind) and share >= POINT_TO_POINT:
            what, why = reasons[kind]
            yield Item(f"See whether {key[0]} at {place.label} can be {what}",
                       f"{percent_text(share)} of the run: {count_text(totals.count / its.present)} calls a process of {size_text(totals.mean_bytes)}, "
                       f"{seconds_text(totals.mean_s)} each; {why}", share)


def from_barriers(its, _):
    for key, (place, _, totals) in by_site(its).items():
        share = its.share(totals.time_s) or 0
        if collective_of(key[0]) == "barrier" and share >= BARRIERS:
            yield Item(f"Is the {key[0]} at {place.label} needed?",
                       f"{percent_text(share)} of the run, {count_text(totals.count / its.present)} calls a process; collectives that follow wait by themselves",
                       share)


def from_short_calls(its, _):
    for key, (place, kind, totals) in by_site(its).items():
        share, calls = its.share(totals.time_s) or 0, totals.count / its.present
        if totals.mean_bytes is not None and kind in overlap.BLOCKING_KINDS and totals.mean_bytes <= SHORT_BYTES and calls >= SHORT_CALLS and share >= SHORT_SHARE:
            yield Item(f"Put several calls of {key[0]} at {place.label} together, if their data can wait for each other",
                       f"{count_text(calls)} calls a process of {size_text(totals.mean_bytes)} take {percent_text(share)} of the run, "
                       f"{seconds_text(totals.mean_s)} each: latency, not data", share / 2)


def from_library(its, _):
    """One item for all sites: what is to be done is the same."""
    left = {key: (place, of.time_s - of.accelerated_s) for key, (place, _, of) in by_site(its).items() if of.handled}
    share = its.share(sum(seconds for _, seconds in left.values())) or 0
    if not left or share < WORTH:
        return
    totals = everything(its)
    (call, _), (place, seconds) = max(left.items(), key=lambda row: row[1][1])
    most = f"; most of it, {percent_text(its.share(seconds))}, in {call} at {place.label}"
    if totals.accelerated == 0:
        yield Item("See what hanpmpi gives here: hanpmpi_replay, or the program with LD_PRELOAD=libhanpmpi.so and without, in turns; or tune the MPI "
                   "(hanpmpi_tune --teach)", f"{percent_text(share)} of the run is in collectives that the library handles and the host MPI ran{most}", share / 4)
    elif share * its.run_s > totals.accelerated_s:
        yield Item("Find out why hanpmpi left most of the collectives' time to the host MPI: HANPMPI_STATS=1, HANPMPI_EXPLAIN=1",
                   f"{percent_text(share)} of the run is in calls that it passed through{most}", share / 4)


def from_peers(its, _):
    found = peers.hottest(its)
    messages = sum(count for count, _ in found.values())
    if its.ranks >= HOT_RANKS and messages:
        rank = max(found, key=lambda rank: found[rank][0])
        if found[rank][0] > HOT * messages / its.ranks:
            yield Item(f"Spread what goes to rank {rank}: a tree, or a collective",
                       f"it gets {percent_text(found[rank][0] / messages)} of the messages, {found[rank][0] * its.ranks / messages:.1f} times the mean", 0.0)


def from_unexpected(its, _):
    found = its.document.get("unexpected")
    if isinstance(found, dict) and found["with_any"] > UNEXPECTED * found["samples"]:
        yield Item("Post receives earlier", f"messages had come before {percent_text(found['with_any'] / found['samples'])} of the receives that were looked at, "
                   f"{count_text(found['messages'] / found['samples'])} on average, at most {count_text(found['most'])}: each is copied once more", 0.0)


def from_communicators(its, _):
    for row in its.communicators:
        if row.get("made", 1) >= COMMUNICATORS:
            yield Item(f"Keep the communicator {row['name'] or '(unnamed)'} of {row['size']} ranks instead of making it again",
                       f"{count_text(row['made'])} of them were made; each has to be agreed on by its ranks, and set up anew by the library", 0.0)


def from_threads(its, _):
    if its.document.get("thread_level") == "MPI_THREAD_MULTIPLE" and its.document.get("threads_seen") == 1:
        yield Item("Ask for MPI_THREAD_FUNNELED or SERIALIZED instead of MPI_THREAD_MULTIPLE", "one thread alone calls MPI, and every call takes the locks of several",
                   0.0)


RULES = [from_overlap, from_arrival, from_ranks, from_polling, from_point_to_point, from_barriers, from_short_calls, from_library, from_peers, from_unexpected,
         from_communicators, from_threads]


def items(its, efficiency):
    found, _ = overlap.study(its, efficiency)
    return sorted((item for rule in RULES for item in rule(its, found)), key=lambda item: -item.gain)


def lines(its, found, efficiency, most):
    yield from (f"CAUTION: {text}" for text in its.cautions())
    if not found:
        yield f"Nothing to advise: no rule finds {percent_text(WORTH)} of the run time to gain."
    for number, item in enumerate(found[:most or None], 1):
        yield f"{number}. {item.what}" + (f" (at stake: {percent_text(item.gain)} of the run)" if item.gain >= WORTH else "")
        yield f"   {item.evidence}"
    if most and len(found) > most:
        yield f"... and {len(found) - most} more (--most 0 shows all)"
    if found:
        yield f"Efficiency of overlap: {efficiency.text()}"
