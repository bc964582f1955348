"""How good confidences are, and other figures of the benchmark. Pure; standard library only."""

import random
import statistics


def brier(pairs):
    """Mean squared distance of confidence and outcome. `pairs`: (confidence, right), right 0 or 1."""
    return sum((c - r) ** 2 for c, r in pairs) / len(pairs)


def brier_skill(pairs):
    """1: perfect, 0: no better than always saying the base rate; None where everything is right or everything wrong."""
    base = sum(r for _, r in pairs) / len(pairs)
    reference = base * (1 - base)
    return 1 - brier(pairs) / reference if reference > 0 else None


def equal_mass_bins(pairs, count):
    """[(size, mean confidence, share right)]: pairs in order of confidence, cut into bins of equal size (± 1).

    Among equal confidences every pair counts with their common share, so that the order of the input says nothing.
    """
    ordered = sorted(pairs)
    rights = [0.0] * len(ordered)
    i = 0
    while i < len(ordered):
        j = i
        while j < len(ordered) and ordered[j][0] == ordered[i][0]:
            j += 1
        share = sum(r for _, r in ordered[i:j]) / (j - i)
        rights[i:j] = [share] * (j - i)
        i = j
    count = min(count, len(ordered))
    bins = []
    for k in range(count):
        low, high = k * len(ordered) // count, (k + 1) * len(ordered) // count
        size = high - low
        bins.append((size, sum(c for c, _ in ordered[low:high]) / size, sum(rights[low:high]) / size))
    return bins


def expected_calibration_error(pairs, count=10):
    """Mean distance of confidence and share right over the bins, weighted by their sizes."""
    return sum(size * abs(c - r) for size, c, r in equal_mass_bins(pairs, count)) / len(pairs)


def bootstrap(clusters, figures, rounds=1000, seed=1, level=0.95):
    """An interval for each of `figures` (of pairs) when whole clusters, all pairs of a window, are drawn again."""
    generator = random.Random(seed)
    values = [[] for _ in figures]
    for _ in range(rounds):
        drawn = [pair for cluster in generator.choices(clusters, k=len(clusters)) for pair in cluster]
        for found, figure in zip(values, figures, strict=True):
            if (value := figure(drawn)) is not None:
                found.append(value)
    tail = (1 - level) / 2
    return [(quantile(found, tail), quantile(found, 1 - tail)) if found else None for found in values]


def quantile(values, q):
    """Linear between order statistics."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def wilson(right, count, z=1.96):
    """95 % interval of a share."""
    if count == 0:
        return 0.0, 1.0
    p = right / count
    middle = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * (p * (1 - p) / count + z * z / (4 * count * count)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def relative_error(said, true):
    return abs(said - true) / true


def summary(values):
    """Median and 90th percentile, or None."""
    if not values:
        return None
    return {"count": len(values), "median": statistics.median(values), "p90": quantile(values, 0.9)}


def calibration(clusters, count=10, rounds=1000):
    """Everything about confidences. `clusters`: a list of pairs for each window, empty ones left out."""
    clusters = [c for c in clusters if c]
    pairs = [pair for cluster in clusters for pair in cluster]
    if not pairs:
        return None
    figures = [brier, brier_skill, lambda p: expected_calibration_error(p, count)]
    intervals = bootstrap(clusters, figures, rounds)
    return {
        "windows": len(clusters),
        "statements": len(pairs),
        "base_rate": sum(r for _, r in pairs) / len(pairs),
        "mean_confidence": sum(c for c, _ in pairs) / len(pairs),
        "brier": brier(pairs),
        "brier_interval": intervals[0],
        "brier_skill": brier_skill(pairs),
        "brier_skill_interval": intervals[1],
        "ece": expected_calibration_error(pairs, count),
        "ece_interval": intervals[2],
        "bins": equal_mass_bins(pairs, count),
    }
