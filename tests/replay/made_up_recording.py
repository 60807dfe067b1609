#!/usr/bin/env python3
"""made_up_recording: recordings of programs that never ran, in the format of HANPMPI_PROFILE (docs/hanpmpi-profile.5).

    made_up_recording.py --ranks 4 all out.json

A program is a function that makes calls on a Recording, in an order that a real one could have made them in. What they
take is made up, too: TOOK seconds each, with GAP seconds between them.
"""
import argparse
import json

GAP, TOOK = 20e-6, 50e-6
SIZES = {"MPI_BYTE": 1, "MPI_INT": 4, "MPI_DOUBLE": 8, "MPI_DOUBLE_PRECISION": 8, "MPI_2INT": 8, "particle": 24, "MPI_CHAR": 1}


class Recording:
    def __init__(self, ranks):
        self.ranks = ranks
        self.calls, self.kinds, self.comms = [], [], [list(range(ranks))]
        self.events = [[] for _ in range(ranks)]
        self.skipped = [0] * ranks
        self.run_s = 0.1

    def comm(self, world_ranks):
        self.comms.append(list(world_ranks))
        return len(self.comms) - 1

    def kind(self, name, **members):
        if name not in self.calls:
            self.calls.append(name)
        members["call"] = self.calls.index(name)
        if members not in self.kinds:
            self.kinds.append(members)
        return self.kinds.index(members)

    def event(self, rank, kind, gap=GAP, took=TOOK, started=None, faults=0):
        self.events[rank].append([kind, gap, took] + ([-1, faults] if faults else [] if started is None else [started]))
        return len(self.events[rank]) - 1

    def call(self, name, comm=0, count=0, datatype="MPI_DOUBLE", gaps=None, own=None, faults=0, **members):
        """On all members. own: function of the communicator's rank to what it has different. faults: of pages, in the call. Returns the events."""
        made = []
        for position, rank in enumerate(self.comms[comm]):
            mine = {"comm": comm, "root": -1, "type": datatype, "type_bytes": SIZES[datatype], "count": count, "op": "",
                    **members, **(own(position) if own else {})}
            made.append(self.event(rank, self.kind("MPI_" + name, **mine), gaps[position] if gaps else GAP, faults=faults))
        return made

    def wait(self, comm, events):
        for rank, started in zip(self.comms[comm], events):
            self.event(rank, self.kind("MPI_Wait", comm=-1), started=started)

    def document(self):
        """Records only what the replay reads: the sum of each rank's collectives."""
        seconds = sum(event[2] for events in self.events for event in events)
        return {"format": "hanpmpi-profile", "version": 1, "library": "0.1.0", "mpi": "made up", "command": ["./made_up"],
                "started": "2026-01-01T00:00:00Z", "ranks": self.ranks,
                "per_rank": [{"rank": rank, "run_s": self.run_s} for rank in range(self.ranks)],
                "calls": [{"name": name, "kind": "wait" if name == "MPI_Wait" else "collective"} for name in self.calls],
                "records": [{"call": 0, "time_s": seconds}] if self.calls else [],
                "incomplete": None,
                "sequence": {"kinds": self.kinds, "communicators": [{"world_ranks": ranks} for ranks in self.comms],
                             "ranks": [{"rank": rank, "skipped": self.skipped[rank], "events": events}
                                       for rank, events in enumerate(self.events)]}}


def every_call(recording, comm, nonblocking=""):
    """Each collective once, on one communicator; the blocks of the v forms differ."""
    size = len(recording.comms[comm])
    last = size - 1

    def call(name, *arguments, **members):
        if nonblocking:
            name = "I" + name.lower()
        return recording.call(name, comm, *arguments, **members)

    def lengths(s):
        return [(3 * s + d) % 5 for d in range(size)]

    def at_root(position):
        return {"counts": lengths(0)} if position == last else {"count": lengths(0)[position]}

    started = [
        call("Barrier"),
        call("Bcast", 100, root=last),
        call("Reduce", 100, root=last, op="MPI_SUM"),
        call("Allreduce", 1000, op="MPI_MAX"),
        call("Allgather", 10, "MPI_INT"),
        call("Allgatherv", own=lambda r: {"count": lengths(0)[r], "counts": lengths(0)}),
        call("Alltoall", 10),
        call("Alltoallv", own=lambda r: {"counts": lengths(r), "receive_counts": [lengths(s)[r] for s in range(size)]}),
        call("Alltoallw", datatype="MPI_BYTE",
             own=lambda r: {"counts": lengths(r), "receive_counts": [lengths(s)[r] for s in range(size)]}),
        call("Reduce_scatter", op="MPI_SUM", counts=lengths(1)),
        call("Reduce_scatter_block", 7, op="MPI_SUM"),
        call("Gather", 10, root=last),
        call("Gatherv", root=last, own=at_root),
        call("Scatter", 10, root=last),
        call("Scatterv", root=last, own=at_root),
        call("Scan", 10, op="MPI_SUM"),
        call("Exscan", 10, op="MPI_SUM")]
    if nonblocking:
        for events in reversed(started):
            recording.wait(comm, events)


def everything(recording):
    """All collectives in both forms on all ranks, the odd ones in reverse order, and pairs; types and operations of all kinds."""
    ranks = recording.ranks
    for comm in [0, recording.comm([r for r in range(ranks - 1, -1, -1) if r % 2]), recording.comm(range(ranks // 2 + 1))]:
        every_call(recording, comm)
        every_call(recording, comm, "I")
    recording.call("Allreduce", 0, 10, "MPI_DOUBLE_PRECISION", op="MPI_MIN")
    recording.call("Allreduce", 0, 10, "MPI_2INT", op="MPI_MINLOC")
    recording.call("Allreduce", 0, 10, "particle", op="user")
    recording.call("Bcast", 0, 10, "particle", root=0)
    recording.call("Neighbor_alltoall", 0, 10)


def solver(recording):
    """Two short allreduces and an exchange in each of ten steps; rank 0 always comes last."""
    late = [1e-3 if rank == 0 else 0.2e-3 for rank in range(recording.ranks)]
    for _ in range(10):
        recording.call("Allreduce", 0, 1, op="MPI_SUM", gaps=late)
        recording.call("Allreduce", 0, 1, op="MPI_SUM")
        recording.call("Alltoallv", 0, own=lambda r: {"counts": [100 * (1 + (r + d) % 2) for d in range(recording.ranks)]})


def truncated(recording):
    """Each rank kept the last calls only, and not the same number of them."""
    solver(recording)
    for rank, events in enumerate(recording.events):
        recording.skipped[rank] = rank + 1
        del events[:rank + 1]


FRESH_CALLS, FRESH_PAGES, PAGE = 10, 256, 4096


def fresh(recording, faults=FRESH_PAGES):
    """Calls that receive into memory that nobody has used before."""
    for _ in range(FRESH_CALLS):
        recording.call("Allgather", 0, FRESH_PAGES * PAGE // 8 // recording.ranks, faults=faults)


def used(recording):
    """The same into memory that is in use."""
    fresh(recording, 0)


PROGRAMS = {"everything": everything, "fresh": fresh, "used": used, "solver": solver, "truncated": truncated}


def write(program, ranks, name):
    recording = Recording(ranks)
    PROGRAMS[program](recording)
    with open(name, "w", encoding="utf-8") as file:
        json.dump(recording.document(), file)
    return recording


def main():
    parser = argparse.ArgumentParser(description="Writes the recording of a made-up program.")
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("file")
    parser.add_argument("--ranks", type=int, default=4)
    options = parser.parse_args()
    write(options.program, options.ranks, options.file)


if __name__ == "__main__":
    main()
