"""From held-out translations to a threshold for mining, and to the probability that a mined pair is a translation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from orthoglot.apply.arguments import check_between_0_and_1
from orthoglot.apply.mine import mine
from orthoglot.apply.model import Model
from orthoglot.corpora.benchmarks import PairSet
from orthoglot.decomposers.base import unit
from orthoglot.errors import DataError
from orthoglot.report.plots import svg
from orthoglot.statistics.intervals import wilson
from orthoglot.tasks.margins import Margin, Mined, Strategy, curve
from orthoglot.tasks.mining import diluted

# Translations that both lists must have for a threshold to mean something.
FEWEST = 20
POINTS = 200
CONFIDENCE = 0.95


class Calibration(NamedTuple):
    """What margins of one model and language pair mean.

    Attributes:
        model: identity of the model.
        part: of its vectors.
        margin: which margin.
        retrieval: how pairs were chosen.
        neighborhood: neighbours of a margin.
        share: of the sentences of either list that have a translation in the other.
        sources: sentences of the first list, those that it was among included.
        targets: of the second.
        gold: translations that both lists have.
        target_precision: that was asked for.
        threshold: the lowest margin with that precision on all pairs at or above it.
        precision: at the threshold, in [0, 1], with a Wilson interval.
        recall: at the threshold, in [0, 1].
        held_out_precision: of thresholds learnt on one half of the sources, on the other half, with a Wilson interval.
        curve: threshold, precision and recall, from the highest threshold on.
        probabilities: margins and the probability of a translation at each; between them it is interpolated.
    """

    model: str
    part: str
    margin: Margin
    retrieval: Strategy
    neighborhood: int
    share: float
    sources: int
    targets: int
    gold: int
    target_precision: float
    threshold: float
    precision: list[float]
    recall: float
    held_out_precision: list[float]
    curve: dict[str, list[float]]
    probabilities: dict[str, list[float]]

    def probability(self, margins: np.ndarray) -> np.ndarray:
        """The probability of a translation at each margin, in [0, 1]; monotone."""
        return np.interp(margins, self.probabilities["margin"], self.probabilities["probability"])

    def as_json(self) -> str:
        """The content of a file for `load`."""
        return json.dumps(self._asdict(), indent=1)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file with what `as_json` gives.

        Raises:
            DataError: absent, or something else.
        """
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise DataError(f"{path}: not a calibration ({error})") from error


def calibrate(
    model: Model,
    pairs: Sequence[tuple[str, str]],
    *,
    languages: tuple[str | None, str | None] = (None, None),
    part: str = "meaning",
    share: float = 0.1,
    among: tuple[np.ndarray, np.ndarray] | None = None,
    target_precision: float = 0.95,
    margin: Margin = "ratio",
    retrieval: Strategy = "max",
    neighborhood: int = 4,
    device: str = "cpu",
    threads: int = 1,
) -> Calibration:
    """Mine two lists made of known translations, most of which are in one list only, and see what was right.

    The probability is an isotonic regression of right and wrong on the margin. Precision and probability hold for text
    with the same `share` of translations; with fewer, they are lower. A margin of a cosine over those of neighbours
    falls as there are more sentences, whose neighbours are nearer: a threshold of small lists keeps too few pairs of
    large ones. `among` makes the lists as large as those to be mined. The sentences that are in one list only are of
    the first half of the pairs in the first list, and of the second half in the second: documents in their order
    repeat what they say, e.g. a headline, and such pairs would count as wrong.

    Args:
        model: as of `Model.load`.
        pairs: translations that the model was not fitted on.
        languages: of the two sides, where the model needs them.
        part: of the vectors.
        share: of the sentences of either list that shall have a translation in the other.
        among: vectors (n, D) and (m, D), rows of length 1, of the texts to be mined, which are added to the lists.
            What is mined for their sentences does not count, as nobody knows what is right.
        target_precision: share of right pairs among those at or above the threshold.
        margin: as of `mine`, as are the further options.
        retrieval: as of `mine`.
        neighborhood: as of `mine`.
        device: of the search.
        threads: of the search.
    Raises:
        ConfigError: a share or precision outside (0, 1).
        DataError: fewer than 20 translations in both lists, or no threshold has the precision.
    """
    from sklearn.isotonic import IsotonicRegression

    check_between_0_and_1(share=share, target_precision=target_precision)
    texts = diluted(PairSet("pairs", "", "", *_distinct(pairs)), share)
    gold = set(texts.gold)
    if len(gold) < FEWEST:
        needed = int(np.ceil(FEWEST * (2 - share) / share))
        raise DataError(
            f"{len(gold)} translations in both lists, {FEWEST} are needed: give {needed} pairs or a larger share"
        )
    x, y = (
        unit(model.encode(side, part=part, language=language, partner=partner))
        for side, language, partner in zip(
            (texts.source_sentences, texts.target_sentences), languages, reversed(languages), strict=True
        )
    )
    known = len(x)
    if among is not None:
        x, y = (np.concatenate(both) for both in zip((x, y), among, strict=True))
    found, _ = mine(
        x, y, margin=margin, retrieval=retrieval, neighborhood=neighborhood, device=device, threads=threads
    )
    found = Mined(*(column[found.sources < known] for column in found))
    right = np.array(
        [pair in gold for pair in zip(found.sources.tolist(), found.targets.tolist(), strict=True)]
    )
    threshold = _threshold(found.margins, right, target_precision)
    if threshold is None:
        raise DataError(
            f"no threshold has a precision of {target_precision:g}; ask for less, or take another model"
        )
    kept = found.margins >= threshold
    first = found.sources % 2 == 0
    tried = np.zeros(2, dtype=int)
    for half in (first, ~first):
        learnt = _threshold(found.margins[half], right[half], target_precision)
        if learnt is not None:
            chosen = ~half & (found.margins >= learnt)
            tried += int(right[chosen].sum()), int(chosen.sum())
    regression = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(found.margins, right)
    drawn = curve(found.margins, right, len(gold))
    rows = np.unique(np.linspace(0, len(drawn.thresholds) - 1, POINTS).round().astype(int))
    return Calibration(
        model=model.identity,
        part=part,
        margin=margin,
        retrieval=retrieval,
        neighborhood=neighborhood,
        share=share,
        sources=len(x),
        targets=len(y),
        gold=len(gold),
        target_precision=target_precision,
        threshold=threshold,
        precision=_with_interval(int(right[kept].sum()), int(kept.sum())),
        recall=float(right[kept].sum() / len(gold)),
        held_out_precision=_with_interval(*tried.tolist()),
        curve={
            "threshold": drawn.thresholds[rows].tolist(),
            "precision": drawn.precision[rows].tolist(),
            "recall": drawn.recall[rows].tolist(),
        },
        probabilities={
            "margin": regression.X_thresholds_.tolist(),
            "probability": regression.y_thresholds_.tolist(),
        },
    )


def picture(found: Calibration) -> str:
    """Precision, recall and the probability of a translation by margin, as SVG."""
    values = [
        {"margin": margin, "share": share, "of": name}
        for name in ("precision", "recall")
        for margin, share in zip(found.curve["threshold"], found.curve[name], strict=True)
    ]
    values += [
        {"margin": margin, "share": share, "of": "probability of a pair with this margin"}
        for margin, share in zip(*found.probabilities.values(), strict=True)
    ]
    axis = {"type": "quantitative", "scale": {"zero": False}}
    return str(
        svg(
            {
                "width": 480,
                "height": 280,
                "layer": [
                    {
                        "data": {"values": values},
                        "mark": "line",
                        "encoding": {
                            "x": {"field": "margin", **axis, "title": f"margin ({found.margin})"},
                            "y": {"field": "share", "type": "quantitative", "title": None},
                            "color": {"field": "of", "type": "nominal", "title": None},
                        },
                    },
                    {
                        "data": {"values": [{"margin": found.threshold}]},
                        "mark": {"type": "rule", "strokeDash": [4, 4], "color": "#888888"},
                        "encoding": {"x": {"field": "margin", **axis}},
                    },
                ],
            }
        )
    )


def _distinct(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """The two sides of the pairs whose sentences are both new and not blank, in turn of their first and second half."""
    sides: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for source, target in ((source.strip(), target.strip()) for source, target in pairs):
        if source and target and source not in sides[0] and target not in sides[1]:
            sides[0][source] = sides[1][target] = None
    # `diluted` gives every second pair's source to the one list, and the targets of the rest to the other.
    halves = np.array_split(np.arange(len(sides[0])), 2)
    order = np.empty(len(sides[0]), dtype=int)
    order[::2], order[1::2] = halves
    first, second = (list(side) for side in sides)
    return [first[row] for row in order], [second[row] for row in order]


def _threshold(margins: np.ndarray, right: np.ndarray, precision: float) -> float | None:
    """The lowest threshold with this precision; None if none has it."""
    if not len(margins):
        return None
    found = curve(margins, right, max(1, int(right.sum())))
    good = np.flatnonzero(found.precision >= precision)
    return float(found.thresholds[good[-1]]) if len(good) else None


def _with_interval(right: int, count: int) -> list[float]:
    """A share with its Wilson interval; [0, 0, 1] of nothing."""
    return [right / count, *wilson(right / count, count, CONFIDENCE)] if count else [0.0, 0.0, 1.0]
