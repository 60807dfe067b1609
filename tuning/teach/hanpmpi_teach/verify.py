"""With the files against without, in jobs of their own, in turns: A B B A, so that a drift of the machine cancels. Of each side the
least disturbed job counts: a sequence of barriers and calls cannot be faster by luck, only slower by what else runs."""
import dataclasses
import statistics

from .campaign import BATCH_US
from .choose import geometric_mean
from .jobs import JobFailed
from .model import bytes_text, us_text
from .trouble import Trouble

ROUNDS = 2
AS_STARTED = "as started"


class TaughtFailed(Exception):
    """A job with the files did not come to its end."""


@dataclasses.dataclass
class Row:
    choice: object
    default_us: float
    taught_us: float

    @property
    def ratio(self):
        return self.default_us / self.taught_us


def measure(launcher, environments, choices, turns, cell_seconds):
    """environments: {"default": ..., "taught": ...}; a Row for each choice, those that keep the default included."""
    sizes = {}
    for choice in choices:
        sizes.setdefault(choice.collective, []).append(choice.bytes)
    plan = {"rounds": ROUNDS, "batch_us": BATCH_US, "cell_seconds": cell_seconds, "seconds": 1e6,
            "collectives": [{"collective": collective, "bytes": of, "candidates": [{"name": AS_STARTED, "set": {}}]}
                            for collective, of in sizes.items()]}
    times = {side: {} for side in environments}  # {(collective, bytes): a median of each job}
    for turn in range(turns):
        for side in ("default", "taught") if turn % 2 == 0 else ("taught", "default"):
            try:
                for line in launcher.run(["measure"], environments[side], plan):
                    if line["teach"] == "cell" and line["us"].get(AS_STARTED):
                        times[side].setdefault((line["collective"], line["bytes"]), []).append(statistics.median(line["us"][AS_STARTED]))
            except JobFailed as problem:
                if side == "taught":
                    raise TaughtFailed(f"{problem}\n{launcher.said}") from None
                raise Trouble(f"a job without the files failed: {problem}\n{launcher.said}") from None
    return [Row(choice, min(times["default"][cell]), min(times["taught"][cell])) for choice in choices
            for cell in [(choice.collective, choice.bytes)] if all(len(of.get(cell, [])) == turns for of in times.values())]


def text(rows):
    """A table of the cells that were taught, in Markdown."""
    lines = ["| collective | bytes | taught | default, us | taught, us | ratio | expected, us | expected ratio |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        choice = row.choice
        if choice.candidate:
            lines.append(f"| {choice.collective} | {bytes_text(choice.bytes)} | {choice.candidate.name} | {us_text(row.default_us)} | {us_text(row.taught_us)} "
                         f"| {row.ratio:.2f} | {us_text(choice.us)} | {choice.gain:.2f} |")
    return "\n".join(lines)


def summary(rows):
    taught = [row for row in rows if row.choice.candidate]
    if not taught:
        return "no cell is taught"
    return (f"{len(taught)} of {len(rows)} cells are taught; in these the taught MPI is {geometric_mean([row.ratio for row in taught]):.2f} times as fast "
            f"(geometric mean; expected {geometric_mean([row.choice.gain for row in taught]):.2f})")
