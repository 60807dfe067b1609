"""Slack as a recording has it (HANPMPI_PROFILE_WATCH): how long a rank does not touch a call's buffers, after it and
before it, and how that is known."""
from .recording import NEXT_CALL, TOUCH, UNTOUCHED
from .totals import site_key

MEASURED = TOUCH, UNTOUCHED


class Touched:
    """The samples of a call site: {how: [samples after, seconds, samples before, seconds]}. What was watched to its end
    is taken, if that is half of the samples or more; else all of them, as a bound."""

    def __init__(self):
        self.sums = {how: [0, 0.0, 0, 0.0] for how in (*MEASURED, NEXT_CALL)}

    def add(self, how, *more):
        self.sums[how] = [a + b for a, b in zip(self.sums[how], more)]

    def mean(self, which, hows):
        number = sum(self.sums[how][which] for how in hows)
        return sum(self.sums[how][which + 1] for how in hows) / number if number else None

    def is_measured(self, which):
        return sum(self.sums[how][which] for how in MEASURED) >= max(1, self.sums[NEXT_CALL][which])

    def value(self):
        """(seconds after, seconds before or None, how the former is known), or None: nothing was sampled"""
        before = self.mean(2, MEASURED) if self.is_measured(2) else None
        if self.is_measured(0):
            return self.mean(0, MEASURED), before, max(MEASURED, key=lambda how: self.sums[how][0])
        after = self.mean(0, self.sums)
        return None if after is None else (after, before, NEXT_CALL)


def touched_slack(its):
    """{key of a call site: Touched}"""
    found = {}
    for row in its.slack:
        found.setdefault(site_key(its, row["call"], row["site"]), Touched()).add(
            row["how"], row["samples"], row["after_s"], row["before_samples"], row["before_s"])
    return found


def of_ranks(its, by_rank, key):
    """{rank: (seconds after, seconds before)} of one call site, as measured: ranks differ. by_rank: what the sequence has."""
    found = {}
    for rank, rows in by_rank.items():
        mine = Touched()
        for call, site, *more in rows:
            if site_key(its, call, site) == key:
                mine.add(*more)
        slack = mine.value()
        if slack and slack[2] in MEASURED:
            found[rank] = slack[0], slack[1] or 0.0
    return found
