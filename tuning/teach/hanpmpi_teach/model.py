"""The nouns: candidates, variants, cells, and what was measured."""
import dataclasses
import statistics

DEFAULT = "default"

# The size of the others is that of a message, and of these that of a block.
OF_BLOCKS = ("allgather", "alltoall", "reduce_scatter_block", "gather", "scatter")
COLLECTIVES = ("bcast", "reduce", "allreduce", "barrier") + OF_BLOCKS


@dataclasses.dataclass
class Candidate:
    """A way in which the MPI can run a collective."""
    name: str
    settings: dict = dataclasses.field(default_factory=dict)  # control variables that can be changed in a running job
    rule: dict = dataclasses.field(default_factory=dict)  # what the host's writer has to know


@dataclasses.dataclass
class Variant:
    """What a job is started with, and the candidates of each collective that it can measure."""
    name: str
    environment: dict
    candidates: dict  # collective: [Candidate], DEFAULT's among those of one variant


@dataclasses.dataclass
class About:
    """The job, as the MPI says it is."""
    version: str
    ranks: int
    nodes: int
    ranks_per_node: int
    libraries: list  # the MPI's, as they are loaded
    cvars: dict  # name: {"help", "changes", "value", "words"}


class Table:
    """Times in microseconds of a collective, size and candidate, round by round; what was refused, and why."""

    def __init__(self):
        self.times = {}  # (collective, bytes): {candidate's name: [us of each round]}
        self.refused = {}  # (collective, candidate's name): (bytes or None for all, why)

    def add(self, collective, size, times):
        cell = self.times.setdefault((collective, size), {})
        for name, rounds in times.items():
            cell.setdefault(name, []).extend(rounds)

    def refuse(self, collective, size, name, why):
        self.refused.setdefault((collective, name), (size, why))

    def median(self, collective, size, name):
        return statistics.median(self.times[collective, size][name])


def keep_default(choices):
    for choice in choices:
        choice.candidate = None


def keep_default_everywhere(choices):
    """choices: of each collective. What that was, for people."""
    for of in choices.values():
        keep_default(of)
    return "everything"


def bytes_text(size):
    for unit, factor in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)


def us_text(us):
    return f"{us:.3g}" if us < 100 else f"{us:,.0f}"
