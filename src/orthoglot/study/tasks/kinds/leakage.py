"""How much the two parts of a vector share, measured independently of their scale.

Retrieval by the language view ranks cosines and does not see magnitude: a small part that holds all of the meaning
scores as a large one does. The task "leakage" has records of held-out sentence pairs, per language pair and as their
mean. Only the norms change when a view is multiplied by a positive number:

- `cosine`: 100 mean cos(meaning, language), ideal 0, and `cosine:spread`, 100 times its standard deviation;
- `norm:meaning`, `norm:language`: mean |part| / mean |sentence|, from 0 up;
- `language_share`: 100 (between-language sum of squares / total sum of squares) of a view, 0 to 100; chance for
  K languages and N unrelated sentences is 100 (K - 1) / (N - 1). Ideal is 100 for the language view and chance for the
  meaning view;
- `r2:meaning`, `r2:sentence`: 100 times the held-out R^2 of a linear prediction of the meaning view, or of the
  sentence vector, from the language view; at most 100, negative if worse than the mean. The ideal is 0 for
  meaning; a language view that holds only the language predicts the language share of the sentence.

R^2 does not depend on scale: a linear language view of full rank keeps the whole sentence vector and scores near 100,
though nearest neighbours may find nothing in it.

The view of a record is the one that is judged: "language" for the cosine and both R^2.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orthoglot.random_streams import derive
from orthoglot.search.pair_cosines import cosines
from orthoglot.statistics.records import View
from orthoglot.statistics.resampling import Scores
from orthoglot.statistics.weighted import Metric, explained, mean, ratio, spread
from orthoglot.study.tasks.base import Finding, PairTask, TaskData, Vectors
from orthoglot.study.tasks.registry import Direction
from orthoglot.text.keys import keys_of

TITLE = "Leakage"
QUESTION = "What do the two parts share that each should have to itself?"
BETTER: dict[str, Direction] = {}
MEASURES = {
    "cosine": (Metric("cosine", mean()), Metric("cosine:spread", spread())),
    "norm:meaning": (Metric("norm:meaning", ratio(), scale=1),),
    "norm:language": (Metric("norm:language", ratio(), scale=1),),
    "language_share": (Metric("language_share", explained()),),
    "r2:meaning": (Metric("r2:meaning", explained()),),
    "r2:sentence": (Metric("r2:sentence", explained()),),
}
COMPARED = ()
# The penalties to choose from, relative to the mean variance of a predictor's dimension.
PENALTIES = tuple(10.0**power for power in range(-6, 4))
logger = logging.getLogger(__name__)


class Leak(NamedTuple):
    """One measure of a pair."""

    measure: str
    view: View  # that is judged
    scores: Scores
    facts: dict[str, object]  # for the record


@dataclass(frozen=True)
class Leakage(PairTask):
    """One language pair's distinct held-out sentences, of which all views are scored together.

    `seed` decides the halves that R^2 is fitted and tested on; they depend on it and on the pivot sentence alone.
    """

    seed: int

    def findings(self, vectors: Vectors) -> Iterator[Finding]:
        """Every measure; without a decomposer the sentence view's language share only."""
        keys = np.tile(keys_of(self.pairs.source_sentences), 2)
        for seed in vectors.seeds:
            views = {view: np.concatenate([*vectors.seen(view, seed).values()]) for view in vectors.views}
            for leak in leaks(views, keys, self.seed):
                yield Finding(self.pairs.pair, leak.view, seed, leak.measure, leak.scores, leak.facts)


def make(name: str, data: TaskData) -> list[Leakage]:
    """Held-out pairs of every language pair."""
    sets = data.held_out_sets(data.settings.heldout_pairs)
    return [Leakage(name, pairs, data.settings.seed) for pairs, _ in sets if pairs.source_sentences]


class Ridge(NamedTuple):
    """A linear map y = y_mean + (x - x_mean) weights, weights (D, E), and the penalty it was fitted with."""

    x_mean: np.ndarray
    y_mean: np.ndarray
    weights: np.ndarray
    penalty: float

    def predict(self, x: np.ndarray) -> np.ndarray:
        """(N, D) -> (N, E)."""
        return self.y_mean + (x - self.x_mean) @ self.weights


def leaks(views: Mapping[View, np.ndarray], keys: np.ndarray, seed: int) -> Iterator[Leak]:
    """Every measure of one language pair.

    Args:
        views: {view: (2N, D)}, all source sentences, then their translations; without a decomposer the sentence
            view only.
        keys: (2N,) of the pivot sentences; a sentence and its translation have the same.
    Source: docs/papers.md#protocol-leakage.
    """
    parts = {view: _finite(vectors) for view, vectors in views.items()}
    sentence = parts["sentence"]
    yield _share("sentence", sentence, keys)
    if len(parts) == 1:
        return
    meaning, language = parts["meaning"], parts["language"]
    facts: dict[str, object] = {"sentences": len(keys)}
    yield Leak("cosine", "language", Scores(cosines(meaning, language)[:, None], keys), facts)
    length = {view: np.linalg.norm(part, axis=1) for view, part in parts.items()}
    del parts["sentence"]
    for view in parts:
        scores = Scores(np.column_stack([length[view], length["sentence"]]), keys)
        yield Leak(f"norm:{view}", view, scores, facts)
    for view, part in parts.items():
        yield _share(view, part, keys)
    quarters = np.array([derive(seed, "leakage", key) % 4 for key in keys.tolist()])
    for measure, target in (("r2:meaning", meaning), ("r2:sentence", sentence)):
        if leak := predicted(measure, language, target, keys, quarters):
            yield leak


def _share(view: View, vectors: np.ndarray, keys: np.ndarray) -> Leak:
    """(2N, 2) squared distances from the mean of the own language and from the mean of both.

    Their sums are the within-language and the total sum of squares, so 1 - within / total is the share. The
    bootstrap keeps the means fixed, which is exact to first order.
    """
    sides = np.split(vectors, 2)
    centre = np.nanmean(vectors, axis=0) if len(vectors) else 0.0
    within = np.concatenate([((side - np.nanmean(side, axis=0)) ** 2).sum(axis=1) for side in sides])
    total = ((vectors - centre) ** 2).sum(axis=1)
    complete = int((~np.isnan(total)).sum())
    facts: dict[str, object] = {
        "languages": 2,
        "sentences": complete,
        "means": "fixed",
        "chance": round(100 / (complete - 1), 6) if complete > 1 else 100,
    }
    return Leak("language_share", view, Scores(np.column_stack([within, total]), keys), facts)


def predicted(
    measure: str, x: np.ndarray, y: np.ndarray, keys: np.ndarray, quarters: np.ndarray
) -> Leak | None:
    """Squared residuals and deviations of y (n, E) predicted from x (n, D), on the half that was not fitted.

    Args:
        quarters: (n,) 0 and 1 are the test half, 2 is fitted to choose the penalty on 3, then 2 and 3 are fitted.
    Returns:
        Scores (m, 2) of the test half: |y - predicted|^2 and |y - mean of the fitted half|^2, without rows of NaN;
            None if a part of the split is empty.
    """
    complete = ~(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1))
    tested, chosen = complete & (quarters < 2), quarters[complete & (quarters >= 2)] == 3
    if not (tested.any() and chosen.any() and (~chosen).any()):
        logger.warning("leakage: too few sentences for %s, which is left out", measure)
        return None
    fitted = complete & (quarters >= 2)
    model = fit(x[fitted], y[fitted], chosen)
    residuals = ((y[tested] - model.predict(x[tested])) ** 2).sum(axis=1)
    deviations = ((y[tested] - model.y_mean) ** 2).sum(axis=1)
    facts: dict[str, object] = {
        "predictor": "ridge-on-the-language-view",
        "penalty": model.penalty,
        "split": "pivot-sentences",
        "fitted": int(fitted.sum()),
        "tested": int(tested.sum()),
    }
    return Leak(measure, "language", Scores(np.column_stack([residuals, deviations]), keys[tested]), facts)


def fit(x: np.ndarray, y: np.ndarray, chosen: np.ndarray) -> Ridge:
    """Ridge regression of (n, D) and (n, E), min |Y - X W|^2 + c n v |W|^2, v the mean variance of a column of X.

    The penalty c is the one of `PENALTIES` whose map, fitted to the rows that are not `chosen` (n,), predicts the
    chosen ones best; all rows are then fitted with it. As v scales with X, the predictions do not depend on the
    scale of x or on a rotation.
    """
    from scipy.linalg import solve

    ours, theirs = x[~chosen], y[~chosen]
    x_mean, y_mean = ours.mean(axis=0), theirs.mean(axis=0)
    centred, targets = ours - x_mean, theirs - y_mean
    variance = (centred**2).mean()
    if variance == 0:
        return Ridge(x.mean(axis=0), y.mean(axis=0), np.zeros((x.shape[1], y.shape[1])), PENALTIES[-1])
    values, axes = np.linalg.eigh(centred.T @ centred)
    # On the axes, W = s_j c_j, and the chosen rows' squared error is const - 2 s.b + s (A * cc') s.
    c = axes.T @ (centred.T @ targets)
    inputs = (x[chosen] - x_mean) @ axes
    b = (c * (inputs.T @ (y[chosen] - y_mean))).sum(axis=1)
    quadratic = (inputs.T @ inputs) * (c @ c.T)

    def error(penalty: float) -> float:
        shrunk = 1 / (np.maximum(values, 0) + penalty * len(ours) * variance)
        return float(shrunk @ quadratic @ shrunk - 2 * shrunk @ b)

    best = min(reversed(PENALTIES), key=error)
    x_mean, y_mean = x.mean(axis=0), y.mean(axis=0)
    centred = x - x_mean
    gram = centred.T @ centred
    gram[np.diag_indices_from(gram)] += best * len(x) * (centred**2).mean()
    return Ridge(x_mean, y_mean, solve(gram, centred.T @ (y - y_mean), assume_a="pos"), best)


def _finite(vectors: np.ndarray) -> np.ndarray:
    """float64 with rows that are not finite as NaN."""
    rows = vectors.astype(np.float64)
    rows[~np.isfinite(rows).all(axis=1)] = np.nan
    return rows
