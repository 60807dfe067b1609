"""What is measured in which job. Each pass runs a job for each variant, every second pass in the opposite order. A candidate under
which a job hangs or ends is left out, and the job's other cells are measured by another job."""
import time

from .jobs import JobFailed
from .model import DEFAULT, Table, bytes_text, us_text
from .trouble import Trouble

BATCH_US = 15000
FAILURES_MAX = 40
# Of jobs with one variant, which interleaves all candidates by itself; with several a pass is too short for all of them.
ROUNDS, PASSES_OF_SEVERAL, ROUNDS_OF_SEVERAL = 5, 2, 3
# Of the finalists.
FINAL_ROUNDS, FINAL_PASSES_OF_SEVERAL = 11, 4


class Campaign:
    def __init__(self, launcher, print_line, only=None):
        """only: {(collective, bytes): names}: the candidates of each size besides the default; None: all."""
        self.launcher, self.print_line, self.only = launcher, print_line, only
        self.table = Table()
        self.failures = 0

    def measure(self, variants, sizes, seconds, final=False):
        """sizes: {collective: [bytes]}. Fills the table."""
        if len(variants) == 1:
            passes, rounds = 1, FINAL_ROUNDS if final else ROUNDS
        else:
            passes, rounds = FINAL_PASSES_OF_SEVERAL if final else PASSES_OF_SEVERAL, ROUNDS_OF_SEVERAL
        cells = sum(len(sizes[collective]) for variant in variants for collective in variant.candidates if collective in sizes)
        ends = time.monotonic() + seconds
        for number in range(passes):
            for variant in variants if number % 2 == 0 else reversed(variants):
                self._measure_variant(variant, sizes, rounds, seconds / max(1, passes * cells), ends, f"pass {number + 1} of {passes}, "
                                      if passes > 1 else "")
        return self.table

    def _plan(self, variant, sizes, done, rounds, cell_seconds, seconds):
        parts = []
        for collective, candidates in variant.candidates.items():
            left = [size for size in sizes.get(collective, []) if (collective, size) not in done]
            kept = [candidate for candidate in candidates if not self._is_out(collective, candidate.name)]
            for some, of in self._parts(collective, left, kept):
                parts.append({"collective": collective, "bytes": some,
                              "candidates": [{"name": candidate.name, "set": candidate.settings} for candidate in of]})
        return {"rounds": rounds, "batch_us": BATCH_US, "cell_seconds": cell_seconds, "seconds": seconds, "collectives": parts}

    def _parts(self, collective, sizes, candidates):
        """(sizes, candidates): together, where all sizes have the same."""
        if self.only is None:
            return [(sizes, candidates)] if sizes and candidates else []
        found = [([size], [candidate for candidate in candidates if candidate.name in {DEFAULT, *self.only.get((collective, size), ())}]) for size in sizes]
        return [(some, of) for some, of in found if of]

    def _is_out(self, collective, name):
        """For all sizes: under it a job did not come to its end."""
        return self.table.refused.get((collective, name), (0, ""))[0] is None

    def _measure_variant(self, variant, sizes, rounds, cell_seconds, ends, prefix):
        done = set()
        while True:
            plan = self._plan(variant, sizes, done, rounds, cell_seconds, max(0.0, ends - time.monotonic()))
            if not plan["collectives"]:
                return
            trying = None
            try:
                for line in self.launcher.run(["measure"], variant.environment, plan):
                    if line["teach"] == "try":
                        trying = line
                    else:
                        done.add((line["collective"], line["bytes"]))
                        self._record(line, f"{prefix}{variant.name}{': ' if variant.name else ''}")
                return
            except JobFailed as problem:
                self._leave_out(trying, problem)

    def _record(self, line, prefix):
        collective, size = line["collective"], line["bytes"]
        self.table.add(collective, size, line["us"])
        for name, why in line["refused"].items():
            self.table.refuse(collective, size, name, why)
        cell = self.table.times[collective, size]
        if not cell:
            return
        best = min(cell, key=lambda name: self.table.median(collective, size, name))
        default = f"default {us_text(self.table.median(collective, size, DEFAULT))} us, " if DEFAULT in cell else ""
        self.print_line(f"{prefix}{collective} {bytes_text(size)}: {default}best {best} {us_text(self.table.median(collective, size, best))} us")

    def _leave_out(self, trying, problem):
        self.failures += 1
        if trying is None or trying["candidate"] == DEFAULT or self.failures > FAILURES_MAX:
            what = f" during {trying['collective']} of {trying['bytes']} bytes" if trying else ""
            raise Trouble(f"a job of {' '.join(self.launcher.words)} failed{what}: {problem}\n{self.launcher.said}") from None
        self.table.refused[trying["collective"], trying["candidate"]] = (None, f"{problem} at {bytes_text(trying['bytes'])}")
        self.print_line(f"{trying['collective']}: {trying['candidate']} is left out: {problem} at {bytes_text(trying['bytes'])}")
