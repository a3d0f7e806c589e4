"""What margins mean for one model and two languages: the content of `calibrate`'s file, its picture, and its words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from orthoglot.drawing.svg import svg
from orthoglot.errors import DataError
from orthoglot.search.margins import Margin, Strategy


class Calibration(NamedTuple):
    """What margins of one model and language pair mean.

    "The texts" are those that it was among; without them, what is said of them is None, and nothing is promised.
    """

    model: str  # identity of the model
    part: str  # which part of its vectors
    margin: Margin
    retrieval: Strategy  # how pairs were chosen
    neighborhood: int  # neighbours of a margin
    share: float  # of the sentences of either list that have a translation in the other, given or estimated
    sources: int  # sentences of the first list, those of the text that it was among included
    targets: int  # of the second
    gold: int  # translations that both lists have at a time
    draws: int  # times that the lists were made; each pair was in both lists at least once
    target_precision: float  # that was asked for
    # the lowest margin with that precision on all pairs at or above it, and on average in the texts that it was among
    threshold: float
    precision: list[float]  # at the threshold, in [0, 1], with a Wilson interval
    recall: float  # at the threshold, in [0, 1]
    # precision on one half of the pairs of thresholds learnt on the other half, with a Wilson interval
    held_out_precision: list[float]
    held_out_recall: list[float]  # the same of recall
    curve: dict[str, list[float]]  # threshold, precision and recall, from the highest threshold on
    # margins and the probability of a translation at each; between them it is interpolated
    probabilities: dict[str, list[float]]
    # `share` as estimated from the texts, see `orthoglot.apply.translated_share`
    estimated_share: float | None = None
    own_mean: bool = False  # whether each text had its own mean (`orthoglot.decomposers.own_mean`)
    # what is expected in the texts at the threshold, see `orthoglot.apply.expected.Expected`
    expected_pairs: int | None = None
    expected_precision: list[float] | None = None
    expected_recall: list[float] | None = None
    promised: bool = False  # whether the texts show a threshold with the precision that was asked for

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
            calibration = cls(**json.loads(path.read_text(encoding="utf-8")))
            margins, shares = (
                np.array(calibration.probabilities[name], dtype=float) for name in ("margin", "probability")
            )
            numbers = np.array([calibration.threshold, *margins, *shares], dtype=float)
            if not np.isfinite(numbers).all():
                raise ValueError("a number is not finite")
            if margins.shape != shares.shape or not len(margins) or (np.diff(margins) < 0).any():
                raise ValueError("its margins do not rise")
            if shares.min() < 0 or shares.max() > 1:
                raise ValueError("a probability is outside 0 to 1")
            if not isinstance(calibration.threshold, float | int) or isinstance(calibration.threshold, bool):
                raise TypeError(f"its threshold is {calibration.threshold!r}")
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise DataError(f"{path}: not a calibration ({error})") from error
        return calibration


def outlook(calibration: Calibration) -> list[str]:
    """What to expect of the threshold, and what to do where it is not what was asked for, in lines."""
    target = f"{100 * calibration.target_precision:g} %"
    if calibration.expected_precision is None and calibration.estimated_share is not None:
        return [
            f"of the known pairs, cross-validated: precision {percent(calibration.held_out_precision)}, recall "
            f"{percent(calibration.held_out_recall)}",
            f"{target} cannot be promised: these texts show nothing of it, with fewer than 10 pairs, one neighbour, or "
            "another retrieval than max",
        ]
    if calibration.expected_precision is None:
        lines = [
            f"of these pairs, cross-validated: precision {percent(calibration.held_out_precision)}, recall "
            f"{percent(calibration.held_out_recall)}; of other text nothing is known: --among says what to expect there"
        ]
        if calibration.held_out_precision[2] < calibration.target_precision:
            lines.append(f"{target} was not reached: give more pairs, or a higher --precision")
        return lines
    recall = f", recall {percent(calibration.expected_recall)}" if calibration.expected_recall else ""
    precision = percent(calibration.expected_precision)
    lines = [f"expected in these texts: {calibration.expected_pairs} pairs, precision {precision}{recall}"]
    if not calibration.promised:
        lines.append(
            f"{target} cannot be promised: these texts show no threshold with it, so this one is the most precise; "
            "--review 50 draws pairs for a person to judge, longer texts and a lower --precision help"
        )
    return lines


def percent(interval: Sequence[float]) -> str:
    """A share and its interval in percent; unknown if it may be anything."""
    if [*interval[1:]] == [0, 1]:
        return "unknown"
    return "{:.1f} % [{:.1f}, {:.1f}]".format(*(100 * value for value in interval))


def picture(calibration: Calibration) -> str:
    """Precision, recall and the probability of a translation by margin, as SVG."""
    values = [
        {"margin": margin, "share": share, "of": name}
        for name in ("precision", "recall")
        for margin, share in zip(calibration.curve["threshold"], calibration.curve[name], strict=True)
    ]
    values += [
        {"margin": margin, "share": share, "of": "probability of a pair with this margin"}
        for margin, share in zip(*calibration.probabilities.values(), strict=True)
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
                            "x": {"field": "margin", **axis, "title": f"margin ({calibration.margin})"},
                            "y": {"field": "share", "type": "quantitative", "title": None},
                            "color": {"field": "of", "type": "nominal", "title": None},
                        },
                    },
                    {
                        "data": {"values": [{"margin": calibration.threshold}]},
                        "mark": {"type": "rule", "strokeDash": [4, 4], "color": "#888888"},
                        "encoding": {"x": {"field": "margin", **axis}},
                    },
                ],
            }
        )
    )
