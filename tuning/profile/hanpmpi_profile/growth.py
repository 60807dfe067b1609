"""How a cost grows with the number of ranks: the function c p^a log2(p)^b that fits best, of a few exponents, so that
it can be trusted beyond the largest run (the normal form of Calotoiu et al., Using Automated Performance Modeling,
SC 2013). With free exponents five scales would not tell p^0.2 from log p."""
import dataclasses
import itertools
import math

FEWEST_SCALES = 5
POWERS = (-2, -1.5, -1, -0.75, -0.5, -1 / 3, -0.25, 0, 0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1, 1.25, 1.5, 2, 3)
LOG_POWERS = (0, 1, 2)
SIMPLER = 1.05 # a function with a logarithm must predict so much better than the best without


@dataclasses.dataclass(frozen=True)
class Growth:
    factor: float
    power: float
    log_power: int
    error: float # mean relative error when each scale is predicted from the others

    def at(self, ranks):
        return self.factor * shape(ranks, self.power, self.log_power)

    @property
    def text(self):
        words = [f"p^{self.power:.3g}" if self.power not in (0, 1) else "p"] if self.power else []
        words += [f"log^{self.log_power} p" if self.log_power > 1 else "log p"] if self.log_power else []
        return " ".join(words) or "constant"


def shape(ranks, power, log_power):
    return ranks**power * math.log2(ranks)**log_power


def factor(points, power, log_power):
    """Least squares of the relative errors: costs range over decades."""
    ratios = [shape(ranks, power, log_power) / cost for ranks, cost in points]
    return sum(ratios) / sum(ratio * ratio for ratio in ratios)


def error(points, power, log_power):
    """Each scale is predicted from the others."""
    found = []
    for i, (ranks, cost) in enumerate(points):
        others = points[:i] + points[i + 1:]
        found.append(abs(factor(others, power, log_power) * shape(ranks, power, log_power) / cost - 1))
    return sum(found) / len(found)


def fit(costs):
    """{ranks: cost} -> Growth, or None: fewer scales than it takes, or no cost."""
    points = sorted((ranks, cost) for ranks, cost in costs.items() if cost > 0 and ranks > 1)
    if len(points) < FEWEST_SCALES:
        return None
    best = {}
    for power, log_power in itertools.product(POWERS, LOG_POWERS):
        its = Growth(factor(points, power, log_power), power, log_power, error(points, power, log_power))
        kind = log_power > 0
        if kind not in best or its.error < best[kind].error:
            best[kind] = its
    return best[True] if best[True].error * SIMPLER < best[False].error else best[False]
