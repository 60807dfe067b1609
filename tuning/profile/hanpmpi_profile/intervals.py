"""How certain a difference between two sets of runs is."""
import math
import statistics

CONFIDENCE = 0.95
RUNS_FOR_INTERVAL = 3 # of each side
STEPS = 400 # of Simpson's rule: ten digits are right


def t_within(t, freedom):
    """The probability that Student's t lies between -t and t. With x = sqrt(freedom) tan(angle) its density is a
    power of a cosine."""
    end = math.atan2(t, math.sqrt(freedom))
    width = end / STEPS
    heights = [math.cos(i * width) ** (freedom - 1) for i in range(STEPS + 1)]
    part = width / 3 * (heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2]))
    whole = math.sqrt(math.pi) / 2 * math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom + 1) / 2))
    return part / whole


def t_quantile(freedom):
    """Within plus and minus this lies Student's t with the probability CONFIDENCE; freedom: 1 or more."""
    low, high = 0.0, 13.0 # 12.7 with one degree of freedom
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if t_within(middle, freedom) < CONFIDENCE else (low, middle)
    return high


def difference(value, left, right):
    """(low, high) of value, the difference of the means of two lists of runs whose spread differs (Welch); None where
    a list is too short."""
    if min(len(left), len(right)) < RUNS_FOR_INTERVAL:
        return None
    parts = [statistics.variance(runs) / len(runs) for runs in (left, right)]
    if sum(parts) == 0:
        return value, value
    freedom = sum(parts)**2 / sum(part**2 / (len(runs) - 1) for part, runs in zip(parts, (left, right)))
    half = t_quantile(max(freedom, 1.0)) * math.sqrt(sum(parts))
    return value - half, value + half
