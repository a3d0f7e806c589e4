"""Intervals and tests of means and of bootstrap draws.

Items come in strata (one per language pair), and a mean over strata is unweighted. Strata share pivot sentences, so
the pivot sentence with all its items is what counts as independent: one bootstrap draw, one sign.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from orthoglot.errors import DataError
from orthoglot.statistics.resampling import Scores

# Pivot sentences that `proportion` assumes in addition to those that were scored.
AGREEING = 2
# Smaller differences of a mean or of a sum of shares are rounding errors.
ROUNDING = 1e-12


class Interval(NamedTuple):
    """A statistic with its interval, in the unit of the scores."""

    value: float
    low: float
    high: float
    n: int  # scored items
    units: int  # distinct pivot sentences


def proportion(strata: Mapping[str, Scores], *, confidence: float) -> Interval:
    """Unweighted mean over strata of the share of hits, with a Wilson score interval.

    p is the mean over S strata of p_s = sum(x) / n_s, of N items in all. A pivot sentence u moves it by
    z_u = sum_s sum_(i in u) (x_i - p_s) / (S n_s), so that sum_u z_u^2 is the variance of p over U pivot sentences, and
    d = N sum_u z_u^2 / (p (1 - p)) the design effect. Where few pivot sentences, k, have a hit (or a miss, if these are
    fewer), d is uncertain; two more are therefore assumed, all of whose items agree: d* = (k d + 2 N / U) / (k + 2).
    N / d* replaces n in Wilson's formula. For one stratum of hits and misses of distinct pivot sentences it
    is n. It is finite, so no interval is empty. Coverage: measurements/intervals/README.md.

    Args:
        strata: {name: hits or means of hits in [0, 1], NaN for left out}.
        confidence: Level of the interval, e.g. 0.95.
    Raises:
        DataError: a stratum without a scored item.

    >>> import numpy as np
    >>> from orthoglot.statistics.intervals import proportion
    >>> from orthoglot.statistics.resampling import Scores
    >>> hits = Scores(np.repeat([1.0, 0.0], [90, 10]), keys=np.arange(100))  # of 100 sentences
    >>> interval = proportion({"en-gn": hits}, confidence=0.95)
    >>> [round(float(number), 2) for number in interval[:3]], interval.units
    ([0.9, 0.83, 0.94], 100)

    Source: Wilson 1927; with an effective sample size as in Dean and Pagano 2015 (J. Surv. Stat. Methodol. 3).
    """
    parts = {name: _mean(name, scores.values) for name, scores in strata.items()}
    p = float(np.mean(list(parts.values())))
    moves = contributions(
        [Scores(scores.values - parts[name], scores.keys) for name, scores in strata.items()]
    )
    variance = float((moves**2).sum())
    n, units = int(sum(np.isfinite(scores.values).sum() for scores in strata.values())), len(moves)
    effect = n * variance / (p * (1 - p)) if 0 < p < 1 else 0.0
    hits, misses = (
        contributions([Scores(abs(sign - scores.values), scores.keys) for scores in strata.values()])
        for sign in (0, 1)
    )
    k = min((hits > ROUNDING).sum(), (misses > ROUNDING).sum())
    effect = (k * effect + AGREEING * n / units) / (k + AGREEING)
    return Interval(p, *wilson(p, n / effect, confidence), n, units)


def wilson(p: float, n: float, confidence: float) -> tuple[float, float]:
    """Wilson's score interval of a share p of n items, in [0, 1]; n need not be whole.

    >>> from orthoglot.statistics.intervals import wilson
    >>> [round(end, 2) for end in wilson(0.9, 100, confidence=0.95)]
    [0.83, 0.94]
    """
    z = float(ndtri((1 + confidence) / 2))
    centre = p + z**2 / (2 * n)
    reach = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    low, high = ((centre + sign * reach) / (1 + z**2 / n) for sign in (-1, 1))
    return min(max(low, 0.0), p), max(min(high, 1.0), p)


def percentile(value: float, draws: np.ndarray, *, confidence: float, keys: Sequence[np.ndarray]) -> Interval:
    """A statistic with its bootstrap percentile interval; `keys` are those of the items of each stratum.

    >>> import numpy as np
    >>> from orthoglot.statistics.intervals import percentile
    >>> draws = np.linspace(0.0, 0.2, 1001)  # of a difference, as `orthoglot.statistics.resampling.resample` draws it
    >>> interval = percentile(0.1, draws, confidence=0.95, keys=[np.arange(50)])
    >>> round(interval.low, 3), round(interval.high, 3), interval.n
    (0.005, 0.195, 50)
    """
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    counted = np.concatenate(keys)
    return Interval(value, float(low), float(high), len(counted), len(np.unique(counted)))


def not_empty(interval: Interval, confidence: float) -> Interval:
    """The interval of a difference of shares of hits; one of no width gets the width that its sample size allows.

    All items of a stratum may have one difference. Then every draw is the same, but a rarer difference may have been
    missed: the interval reaches as far as Wilson's for no hit among the pivot sentences.
    """
    if interval.high - interval.low > ROUNDING:
        return interval
    reach = wilson(0.0, interval.units, confidence)[1]
    return interval._replace(low=max(interval.value - reach, -1.0), high=min(interval.value + reach, 1.0))


def bootstrap_p(value: float, draws: np.ndarray) -> float:
    """Two-sided p of a difference: share of draws at least as far from the observed value as that is from 0.

    The observed value counts as a draw. Source: Koehn 2004, in the centred form of sacreBLEU.

    >>> import numpy as np
    >>> from orthoglot.statistics.intervals import bootstrap_p
    >>> draws = np.random.default_rng(1).normal(loc=0.02, scale=0.01, size=9999)
    >>> round(bootstrap_p(0.02, draws), 2)  # two standard errors from 0
    0.04
    """
    # The margin keeps a tie a tie: the same mean summed in another order differs by a rounding error.
    extreme = int((np.abs(draws - value) >= abs(value) - ROUNDING).sum())
    return (extreme + 1) / (len(draws) + 1)


def sign_test(differences: Sequence[Scores]) -> float:
    """Exact two-sided p that a pivot sentence is as likely to win as to lose; ties do not count.

    A pivot sentence wins if what it adds to the mean of the differences, over all strata, is above 0. It has one sign
    however many language pairs it is part of: their items are not independent.

    >>> import numpy as np
    >>> from orthoglot.statistics.intervals import sign_test
    >>> from orthoglot.statistics.resampling import Scores
    >>> better, worse, equal = [1.0] * 15, [-1.0] * 5, [0.0] * 80
    >>> round(sign_test([Scores(np.array(better + worse + equal), keys=np.arange(100))]), 3)
    0.041
    """
    from scipy.stats import binomtest  # imported here: it takes half a second, and only this test needs it

    added = contributions(differences)
    wins, losses = int((added > ROUNDING).sum()), int((added < -ROUNDING).sum())
    return float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def contributions(strata: Sequence[Scores]) -> np.ndarray:
    """(U,) what each distinct pivot sentence adds to the unweighted mean over strata; NaN scores are left out."""
    # Strata of the same items are added up first: n languages have n (n - 1) / 2 of them.
    same: dict[bytes, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
    for scores in strata:
        name = scores.keys.tobytes()
        if name not in same:
            same[name] = scores.keys, np.zeros(len(scores.keys)), np.zeros(len(scores.keys), dtype=bool)
        finite = np.isfinite(scores.values)
        same[name][1][finite] += scores.values[finite] / (len(strata) * finite.sum())
        same[name][2][finite] = True
    keys = np.concatenate([keys[scored] for keys, _, scored in same.values()])
    added = np.concatenate([added[scored] for _, added, scored in same.values()])
    units, unit_of = np.unique(keys, return_inverse=True)
    return np.bincount(unit_of, weights=added, minlength=len(units))


def over_trainings(values: Sequence[float], confidence: float = 0.95) -> float:
    """Half the width of Student's interval of a mean over trainings: how far other seeds would move it.

    t_(S-1) s / sqrt(S), with s the standard deviation of S values, one for each seed. It takes the sentences as fixed,
    as an interval over sentences takes the trainings. Two trainings say little: t is 12.7, with three it is 4.3.

    Returns:
        Half the width in the unit of the values; NaN for one training.

    >>> from orthoglot.statistics.intervals import over_trainings
    >>> round(over_trainings([90.1, 90.5, 89.9]), 2)  # of three seeds
    0.76
    """
    if len(values) < 2:
        return math.nan
    quantile = float(stdtrit(len(values) - 1, (1 + confidence) / 2))
    return quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values))


def holm(probabilities: Sequence[float]) -> list[float]:
    """Holm's step-down correction of p values that are read together, in the order given.

    >>> from orthoglot.statistics.intervals import holm
    >>> [round(p, 2) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(probabilities, dtype=float)
    order = np.argsort(values, kind="stable")
    steps = np.minimum(1, values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty(len(values))
    corrected[order] = np.maximum.accumulate(steps)
    return corrected.tolist()


def jackknife(value: float, without: np.ndarray, confidence: float) -> tuple[float, float]:
    """The delete-a-block jackknife interval of a number x from its values u_b without each of B blocks, (B,).

    x -+ t sqrt((B - 1) / B sum_b (u_b - mean(u))^2), t Student's with B - 1 degrees of freedom.
    Source: Efron and Tibshirani 1993, chapter 11.

    >>> import numpy as np
    >>> from orthoglot.statistics.intervals import jackknife
    >>> items = np.array([1.0, 2.0, 4.0, 5.0, 8.0])
    >>> without = (items.sum() - items) / 4  # the mean without each
    >>> [round(float(end), 2) for end in jackknife(items.mean(), without, confidence=0.95)]
    [0.6, 7.4]
    """
    count = len(without)
    error = math.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum())
    reach = float(stdtrit(count - 1, (1 + confidence) / 2)) * error
    return value - reach, value + reach


def _mean(name: str, values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    if not len(finite):
        raise DataError(f"{name}: n = 0, each of {len(values)} items has a zero or non-finite vector")
    return float(finite.mean())
