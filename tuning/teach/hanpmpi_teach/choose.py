"""From times to choices, and from choices to ranges of sizes. Pure arithmetic.

A candidate is compared with the default round by round, so that a disturbance, which hits all candidates of a round, cancels. It
takes the default's place only where it is clearly faster: by a margin in the median round, and faster at all in three rounds of
four. Between two sizes the choice changes at their geometric mean. Below the smallest and above the largest size the choice goes
on for half a step: what was not measured is left to the MPI."""
import dataclasses
import math
import statistics

from .model import DEFAULT, Candidate

MARGIN = 0.10
# A neighbour's choice is kept if it comes so close to the best: fewer ranges, and no change back and forth by noise.
KEEP = 0.95
# One choice for all sizes may be slower than the default at none of them by more than this.
NOWHERE_SLOWER = 0.97
ROUNDS_MIN = 3
FINALISTS = 3
# Sizes from here down behave alike.
SHORT_BYTES = 64


@dataclasses.dataclass
class Choice:
    collective: str
    bytes: int
    candidate: Candidate  # None: the default
    default_us: float = 0
    us: float = 0
    gain: float = 1  # default's time by this one's, in the median round


def gains(default, rounds):
    return [without / us for without, us in zip(default, rounds)]


def is_clear(ratios, margin):
    return statistics.median(ratios) >= 1 + margin and sum(ratio > 1 for ratio in ratios) >= 0.75 * len(ratios)


def _candidates(table, collective, size, by_name):
    """{name: ratios} of those that were measured as often as the default."""
    cell = table.times.get((collective, size), {})
    default = cell.get(DEFAULT, [])
    enough = min(ROUNDS_MIN, len(default))
    return {name: gains(default, rounds) for name, rounds in cell.items()
            if name != DEFAULT and name in by_name and len(rounds) >= max(enough, 1) and len(rounds) >= len(default)}


def _clear(ratios, margin):
    """{name: median gain} of those that are clearly faster than the default."""
    return {name: statistics.median(of) for name, of in ratios.items() if is_clear(of, margin)}


def _choice(table, collective, size, candidate, ratios):
    cell = table.times[collective, size]
    default_us = statistics.median(cell[DEFAULT])
    if candidate is None:
        return Choice(collective, size, None, default_us, default_us)
    return Choice(collective, size, candidate, default_us, statistics.median(cell[candidate.name]), statistics.median(ratios))


def choose(table, collective, candidates, margin=MARGIN):
    """A Choice for each size that was measured, by size."""
    by_name = {candidate.name: candidate for candidate in candidates}
    choices, before = [], None
    for size in _sizes(table, collective):
        ratios = _candidates(table, collective, size, by_name)
        clear = _clear(ratios, margin)
        name = max(clear, key=clear.get, default=None)
        if before in clear and clear[before] >= KEEP * clear[name]:
            name = before
        choices.append(_choice(table, collective, size, by_name.get(name), ratios.get(name)))
        before = name
    return choices


def finalists(table, collective, candidates, margin=MARGIN, most=FINALISTS):
    """{bytes: names} of the candidates that may be the choice, the best first."""
    names = {candidate.name for candidate in candidates}
    found = {}
    for size in _sizes(table, collective):
        clear = _clear(_candidates(table, collective, size, names), margin)
        if clear:
            found[size] = sorted(clear, key=clear.get, reverse=True)[:most]
    return found


def _sizes(table, collective):
    return sorted(size for which, size in table.times if which == collective and DEFAULT in table.times[which, size])


def choose_uniform(table, collective, candidates, margin=MARGIN):
    """The same where one choice has to do for all sizes: the best in the geometric mean, of those that are slower nowhere."""
    by_name = {candidate.name: candidate for candidate in candidates}
    sizes = _sizes(table, collective)
    of_size = {size: _candidates(table, collective, size, by_name) for size in sizes}
    best, best_gain = None, 1 + margin
    for name in by_name:
        medians = [statistics.median(of_size[size][name]) for size in sizes if name in of_size[size]]
        if len(medians) < len(sizes) or not medians or min(medians) < NOWHERE_SLOWER:
            continue
        if geometric_mean(medians) >= best_gain:
            best, best_gain = name, geometric_mean(medians)
    return [_choice(table, collective, size, by_name.get(best), of_size[size].get(best)) for size in sizes]


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


@dataclasses.dataclass
class Range:
    least: int  # bytes, inclusive
    most: int  # inclusive; None: no end
    candidate: Candidate  # None: the default


def ranges(choices):
    """The whole of [0, no end): ranges with equal choices are one."""
    sizes = [choice.bytes for choice in choices]
    if not any(choice.candidate for choice in choices):
        return [Range(0, None, None)]
    if sizes == [0]:
        return [Range(0, None, choices[0].candidate)]
    between = [math.isqrt(one * other) for one, other in zip(sizes, sizes[1:])]
    first = 0 if sizes[0] <= SHORT_BYTES else _beyond(sizes[0], sizes[1] if len(sizes) > 1 else None, False)
    last = _beyond(sizes[-1], sizes[-2] if len(sizes) > 1 else None, True)
    found = [Range(0, first - 1, None)] if first else []
    for number, choice in enumerate(choices):
        least = between[number - 1] + 1 if number else first
        most = between[number] if number < len(between) else last
        if found and _same(found[-1].candidate, choice.candidate):
            found[-1].most = most
        else:
            found.append(Range(least, most, choice.candidate))
    if found[-1].candidate is None:
        found[-1].most = None
    else:
        found.append(Range(last + 1, None, None))
    return found


def _same(one, other):
    return one is other or (one is not None and other is not None and one.name == other.name)


def _beyond(size, neighbour, upwards):
    factor = math.sqrt(max(size, neighbour) / max(min(size, neighbour), 1)) if neighbour else math.sqrt(2)
    return int(size * factor) if upwards else int(size / factor)
