"""What share of a transfer a computation hides, by collective, size and who makes progress: as `hanpmpi_bench
--overlap --json` measured it, else assumed."""
import math
import statistics

from hanpmpi_report.inputs import BenchRun, BadInput, check_members, is_number, read

CALLS, THREAD = "calls", "thread" # who moves a collective on: the program's MPI calls, or HANPMPI_PROGRESS=thread
# About the least of docs/results/overlap.md for the library's collectives of 1 and 4 MiB without calls of MPI_Test.
ASSUMED = {CALLS: 0.5, THREAD: 0.85}
ASSUMED_COST_S = 2e-6 # post and wait of a non-blocking collective that finds all ranks there
# A recording counts all blocks of such a call, hanpmpi_bench one of them. Of a Gather or Scatter most ranks have one.
ALL_BLOCKS = {"allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce_scatter", "reduce_scatter_block"}
PERCENT = (lambda value: is_number(value) and 0 <= value <= 100), "a number, 0 to 100"


def collective_of(call):
    """MPI_Allreduce_c is allreduce."""
    name = call[4:] if call.startswith("MPI_") else call
    return (name[:-2] if name.endswith("_c") else name).lower()


def call_bytes(collective, block_bytes, ranks):
    """Bytes of a call, as a recording's records have them."""
    return block_bytes * ranks if collective in ALL_BLOCKS else block_bytes


class Efficiency:
    """measured: {progress: {collective: {log2(bytes): (share hidden, what non-blocking costs more, as a share)}}}"""

    def __init__(self, paths=()):
        self.measured = {}
        for path in paths:
            self.add(path)

    def add(self, path):
        its = read(path)
        rows = [row for row in its.rows if "overlap" in row] if isinstance(its, BenchRun) else []
        if not rows:
            raise BadInput(f"{path}: has no figures of overlap; accepted is the output of hanpmpi_bench --overlap --json FILE")
        knobs = its.document.get("knobs") or {}
        ranks = sum(its.ranks)
        progress = THREAD if knobs.get("HANPMPI_PROGRESS") == "thread" else CALLS
        for i, row in enumerate(rows):
            side = "library" if "library" in row["overlap"] else "host"
            figures = row["overlap"].get(side)
            where = f"{path}: overlap of {row['collective']} of {row['bytes']} bytes, {side}"
            check_members(where, figures, {"with_tests": ((lambda value: isinstance(value, list) and value), "a list")}, {})
            fewest = min(figures["with_tests"], key=lambda its: its.get("tests", 0) if isinstance(its, dict) else 0)
            check_members(where, fewest, {"overlap_imb": PERCENT}, {})
            extra = figures.get("pure_by_blocking", 1.0)
            of = self.measured.setdefault(progress, {}).setdefault(row["collective"], {})
            of[math.log2(max(call_bytes(row["collective"], row["bytes"], ranks), 1))] = fewest["overlap_imb"] / 100, max(0.0, extra - 1) if is_number(extra) else 0.0

    def of(self, progress, call, size, transfer_s):
        """(share of the transfer that can be hidden, seconds that post and wait cost, measured?)"""
        collectives = self.measured.get(progress, {})
        mine = collectives.get(collective_of(call))
        if mine is None and collectives: # what the others reach is nearer to the truth than a constant
            every = [pair for of in collectives.values() for pair in of.values()]
            return statistics.median(pair[0] for pair in every), statistics.median(pair[1] for pair in every) * transfer_s, False
        if mine is None:
            return ASSUMED[progress], ASSUMED_COST_S, False
        nearest = min(mine, key=lambda its: abs(its - math.log2(max(size or 0, 1))))
        return mine[nearest][0], mine[nearest][1] * transfer_s, True

    def text(self):
        """Where the figures are from."""
        names = {CALLS: "progress in MPI calls", THREAD: "progress thread"}
        words = [f"{names[progress]}: measured for {', '.join(sorted(self.measured[progress]))}" if progress in self.measured else
                 f"{names[progress]}: ASSUMED {100 * ASSUMED[progress]:.0f}%" for progress in names]
        hint = "" if len(self.measured) == len(names) else " (measure it: hanpmpi_bench --overlap --json FILE, and give that with --efficiency)"
        return "; ".join(words) + hint
