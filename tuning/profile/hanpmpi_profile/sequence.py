"""Runs the ranks through the recorded sequence of collectives, as it was and with some call sites made non-blocking:
what the program would gain, which is not the sum of what the ranks would. A rank computes for its gap, enters the
next collective of its communicator, and leaves when those whose data it needs have come, a transfer later.

What of a call was transfer follows from when the others came: the ranks' times count from the same moment, the end
of MPI_Init, or the end of the run where the first calls were overwritten. Messages between two ranks are part of
the gaps, so that a rank waits for as long as it did."""
import dataclasses
from typing import Optional

from hanpmpi_report.inputs import COUNT, NOT_NEGATIVE, BadInput, check_members, checked_list, is_count, is_number

from .efficiency import ALL_BLOCKS, call_bytes, collective_of
from .recording import HOWS

# Whom a rank waits for; all wait for all in the others.
FROM_ROOT = {"bcast", "scatter", "scatterv"}
TO_ROOT = {"reduce", "gather", "gatherv"}
FROM_LOWER = {"scan", "exscan"}


def are_counts(value):
    return isinstance(value, list) and all(map(is_count, value))


COUNTS, LIST_OF_RANKS = (are_counts, "a list of counts"), (are_counts, "a list of ranks")


class Kind:
    """Calls that are alike: the same call, site, communicator, root and sizes."""

    def __init__(self, call, row, ranks):
        self.call, self.site, self.comm, self.root = call, row.get("site", 0), row.get("comm", -1), row.get("root", -1)
        name = collective_of(call).replace("_init", "")
        self.collective = name[1:] if name.startswith("i") else name
        self.nonblocking = name.startswith("i") or call.endswith(("_init", "_init_c"))
        self.waits = name.startswith(("wait", "test"))
        self.bytes = self.bytes_of(row, ranks)

    def bytes_of(self, row, ranks):
        """As the records count them; of blocks that differ, as many as all lists of the row have at most."""
        most = max((sum(row[name]) for name in ("counts", "receive_counts") if name in row), default=None)
        if most is None:
            return call_bytes(self.collective, row.get("count", 0) * row.get("type_bytes", 1), ranks)
        of_one = 1 if self.collective == "alltoallw" else row.get("type_bytes", 1)
        return most * of_one / (1 if self.collective in ALL_BLOCKS else max(ranks, 1))


class Meeting:
    """One collective. recorded: {rank: (when it came, from when on it waited, how long)}, the latter of its wait
    where it is non-blocking; entered: who has come when in this run."""

    def __init__(self, kind, members):
        self.kind, self.members = kind, members
        self.recorded, self.entered = {}, {}
        self.complete = False
        self.transfers = {}

    def reset(self):
        self.entered, self.complete = {}, False

    def needed(self, rank):
        """Whose data a rank waits for."""
        collective = self.kind.collective
        root = self.members[self.kind.root:self.kind.root + 1] if self.kind.root >= 0 else []
        if collective in FROM_ROOT and root:
            return root
        if collective in TO_ROOT and root:
            return self.members if rank in root else [rank]
        if collective in FROM_LOWER:
            return self.members[:self.members.index(rank) + (collective == "scan")] or [rank]
        return self.members

    def last(self, rank):
        """When the last of those came whom it waits for."""
        return max((self.entered[other] for other in self.needed(rank) if other in self.entered), default=self.entered[rank])

    def ready(self, rank):
        return self.complete or all(other in self.entered for other in self.needed(rank))

    def settle(self):
        """What of each rank's time was transfer. Where all wait for all it is no longer than the shortest time of any
        rank."""
        shortest = min(took for _, _, took in self.recorded.values())
        for rank, (_, waits_from, took) in self.recorded.items():
            last = max((self.recorded[other][0] for other in self.needed(rank) if other in self.recorded), default=waits_from)
            transfer = took - max(0.0, min(last, waits_from + took) - waits_from)
            self.transfers[rank] = min(transfer, shortest) if self.needed(rank) is self.members and self.kind.collective not in TO_ROOT else transfer


class Sequence:
    """The recorded sequence of all ranks. convert(kind) says what a call site would be as a non-blocking one."""

    def __init__(self, its):
        where, document = f"{its.path}: sequence", its.document["sequence"]
        check_members(where, document, {}, {"kinds": ((lambda value: isinstance(value, list)), "a list")})
        rows = checked_list(where, document, "kinds", {"call": COUNT}, {"site": COUNT, "count": COUNT, "type_bytes": NOT_NEGATIVE, "counts": COUNTS, "receive_counts": COUNTS})
        comms = checked_list(where, document, "communicators", {"world_ranks": LIST_OF_RANKS}, {})
        for i, row in enumerate(rows):
            for member, of in (("call", its.calls), ("site", its.sites)):
                if row.get(member, 0) >= len(of):
                    raise BadInput(f"{where}: kinds[{i}]: {member} must be below {len(of)}, not {row.get(member, 0)}")
        self.members = [row["world_ranks"] for row in comms]
        self.kinds = [Kind(its.call_name(row["call"]), row, self.ranks_of(row)) for row in rows]
        self.ranks, self.slack = {}, {} # by rank: events; rows [call, site, how, samples, seconds after, samples, seconds before]
        ranks = checked_list(where, document, "ranks", {"rank": COUNT}, {"skipped": COUNT})
        for i, row in enumerate(ranks):
            events = row.get("events", [])
            for j, event in enumerate(events if isinstance(events, list) else [events]):
                if not (isinstance(event, list) and len(event) in (3, 4, 5) and is_count(event[0]) and event[0] < len(self.kinds)
                        and all(is_number(value) and value >= 0 for value in event[1:3])):
                    raise BadInput(f"{where}: ranks[{i}]: events[{j}]: must be [kind, gap, took], [kind, gap, took, started] or [kind, gap, took, -1, faults], kind below "
                                   f"{len(self.kinds)}, not {event!r}")
            self.ranks[row["rank"]] = events
            self.slack[row["rank"]] = row.get("slack", [])
            self.check_slack(its, f"{where}: ranks[{i}]", self.slack[row["rank"]])
        self.skipped = sum(row.get("skipped", 0) for row in ranks)
        self.unmatched = 0 # calls without a partner, in the last run
        self.meetings, self.of_event = self.match()

    def ranks_of(self, row):
        comm = row.get("comm", -1)
        return len(self.members[comm]) if 0 <= comm < len(self.members) else 0

    def check_slack(self, its, where, rows):
        for j, row in enumerate(rows if isinstance(rows, list) else [rows]):
            if not (isinstance(row, list) and len(row) == 7 and is_count(row[0]) and row[0] < len(its.calls) and is_count(row[1])
                    and row[1] < len(its.sites) and row[2] in HOWS and all(is_number(value) and value >= 0 for value in row[3:])):
                raise BadInput(f"{where}: slack[{j}]: must be [call, site, how, samples, seconds, samples, seconds], how one of "
                               f"{', '.join(HOWS)}, not {row!r}")

    def times(self, events):
        """When each event began."""
        now, result = 0.0, []
        for event in events:
            now += event[1]
            result.append(now)
            now += event[2]
        return result, now

    def match(self):
        """The n-th collective of a communicator on one rank is the n-th on all; from the end where a rank's first
        calls were overwritten."""
        found, of_event = {}, {}
        times = {rank: self.times(events) for rank, events in self.ranks.items()}
        end = max((last for _, last in times.values()), default=0.0)
        for rank, events in self.ranks.items():
            began, last = times[rank]
            shift = end - last if self.skipped else 0.0
            mine = {}
            for i, event in enumerate(events):
                kind = self.kinds[event[0]]
                if not kind.waits and 0 <= kind.comm < len(self.members) and rank in self.members[kind.comm]:
                    mine.setdefault(kind.comm, []).append(i)
            for comm, places in mine.items():
                for number, i in enumerate(places):
                    key = comm, number - len(places) if self.skipped else number
                    if key not in found:
                        found[key] = Meeting(self.kinds[events[i][0]], self.members[comm])
                    found[key].recorded[rank] = began[i] + shift, began[i] + shift, events[i][2]
                    of_event[rank, i] = found[key]
            for i, event in enumerate(events): # of a non-blocking one the wait says how long it took
                if len(event) == 4 and (rank, event[3]) in of_event:
                    recorded = of_event[rank, event[3]].recorded
                    recorded[rank] = recorded[rank][0], began[i] + shift, event[2]
        for meeting in found.values():
            meeting.settle()
        return list(found.values()), of_event

    def run(self, convert=lambda kind, rank: None):
        """Seconds until the last rank has ended. convert(kind, rank): None, or a Conversion."""
        for meeting in self.meetings:
            meeting.reset()
        states = {rank: State(rank, events) for rank, events in self.ranks.items()}
        self.unmatched = 0
        waiting = list(states.values())
        while waiting:
            moved = [state for state in waiting if self.advance(state, convert)]
            waiting = [state for state in waiting if state.place < len(state.events)]
            if waiting and not moved: # a member's call is not in the recording: go on without it
                waiting[0].blocked.complete = True
                self.unmatched += 1
        return max((state.now for state in states.values()), default=0.0)

    def advance(self, state, convert):
        """As far as a rank comes; did it come anywhere?"""
        moved = False
        while state.place < len(state.events):
            if not self.step(state, convert):
                return moved
            moved = True
        return moved

    def step(self, state, convert):
        event = state.events[state.place]
        kind, meeting = self.kinds[event[0]], self.of_event.get((state.rank, state.place))
        if state.blocked is None:
            state.now += max(0.0, event[1] - state.computed)
            state.computed = 0.0
        if kind.waits:
            meeting = self.of_event.get((state.rank, event[3])) if len(event) == 4 else None
            return self.leave(state, meeting, event[2])
        if meeting is None:
            state.now += event[2]
            state.place += 1
            return True
        if kind.nonblocking:
            meeting.entered[state.rank] = state.now
            state.place += 1
            return True
        plan = convert(kind, state.rank)
        if state.rank not in meeting.entered:
            meeting.entered[state.rank] = state.now
            if plan: # posted before the computing that does not touch what is sent, done by now
                meeting.entered[state.rank] -= min(plan.before_s, event[1])
                following = state.events[state.place + 1][1] if state.place + 1 < len(state.events) else 0.0
                state.computed = following if plan.after_s is None else min(following, plan.after_s)
                state.now += state.computed
        return self.leave(state, meeting, event[2], *((plan.share, plan.cost_s) if plan else ()))

    def leave(self, state, meeting, took, hidden_share=0.0, cost=0.0):
        """The end of a collective, or of the wait for it, if those have come whom it waits for."""
        if meeting is None or state.rank not in meeting.entered:
            state.now += took
        elif not meeting.ready(state.rank):
            state.blocked = meeting
            return False
        else:
            transfer, last = meeting.transfers[state.rank], meeting.last(state.rank)
            hidden = min(hidden_share * transfer, max(0.0, state.now - last))
            state.now = max(state.now, last) + transfer - hidden + cost
        state.blocked = None
        state.place += 1
        return True


@dataclasses.dataclass(frozen=True)
class Conversion:
    """What becomes of a call that is made non-blocking. share: of the transfer, can be hidden; cost_s: of post and wait;
    after_s: of computing after it, at most, that do not need its result, None: all; before_s: before it, that do not
    touch what it sends."""
    share: float
    cost_s: float = 0.0
    after_s: Optional[float] = None
    before_s: float = 0.0


class State:
    """One rank on its way. computed: what of the next gap it has done already, inside a call that was made
    non-blocking."""

    def __init__(self, rank, events):
        self.rank, self.events = rank, events
        self.place, self.now, self.computed, self.blocked = 0, 0.0, 0.0, None
