"""Signs of a collapse in the history of an Emma-X training: how encoder and classifier vote on the ranks of pairs.

Ranks run from 1 (paraphrase) to N (unrelated). Nearly all pairs should have rank N. Signs of a collapse are that nearly
all have another rank, that the two votes disagree, that a nearer rank has a lower cosine, and that all vectors are
nearly equal. Phase 1 has no votes. Source: docs/papers.md#emma-x-phase-2.

A further sign is that fewer translations are found: by more than two standard errors of the difference of two shares,
each with the error in the history. Both are measured on the same pairs, so chance alone makes smaller differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

# Thresholds: share of one rank, spread of all vectors, agreement of the votes.
NEARLY_ALL, NEARLY_ONE, HALF = 0.99, 0.02, 0.5
# Standard errors of a fall of retrieval that is not reported.
ERRORS = 2.0
Rows = Sequence[Mapping[str, float]]


class Sign(NamedTuple):
    """What one quantity did."""

    title: str  # the quantity, with its scale
    lines: dict[str, np.ndarray]  # {name: (epochs,)}, NaN where there is none
    alarming: np.ndarray  # (epochs,) bool
    alarm: str  # what an alarming epoch means; of a fall, empty where there is none


def has_votes(rows: Rows) -> bool:
    """Whether a history has votes."""
    return any(not np.isnan(row.get("valid.agreement", np.nan)) for row in rows)


def signs(rows: Rows) -> list[Sign]:
    """What an Emma-X history shows, in the order of its epochs."""
    ranks = max(sum(key.startswith("valid.classifier_rank_") for key in row) for row in rows)
    numbers = range(1, ranks + 1)
    shown = []
    for who in ("classifier", "encoder"):
        shares = {f"rank {number}": 100 * _values(rows, f"{who}_rank_{number}") for number in numbers}
        below = np.array(list(shares.values()))[:-1]
        over = np.asarray((below > 100 * NEARLY_ALL).any(axis=0))
        alarm = f"the {who} gives one rank below {ranks} to over {NEARLY_ALL:.0%} of all pairs"
        shown.append(Sign(f"Votes of the {who}, % of pairs", shares, over, alarm))
    agreement = 100 * _values(rows, "agreement")
    alarm = f"encoder and classifier agree on under {HALF:.0%} of all pairs"
    shown.append(Sign("Agreement, % of pairs ↑", {"agreement": agreement}, agreement < 100 * HALF, alarm))
    scores = {f"rank {number}": _values(rows, f"score_{number}") for number in numbers}
    rising = np.asarray((np.diff(np.array(list(scores.values())), axis=0) > 0).any(axis=0))
    shown.append(Sign("Cosine of each rank", scores, rising, "the ranks' cosines are out of order"))
    spread = _values(rows, "spread")
    alarm = f"all vectors are nearly one: spread under {NEARLY_ONE}"
    shown.append(Sign("Spread, 1 − |mean|² ↑", {"spread": spread}, spread < NEARLY_ONE, alarm))
    fallen, alarm = _fallen(rows)
    lines = {
        "found first": _values(rows, "retrieval"),
        "found first, few pairs": _values(rows, "retrieval_of_few"),
    }
    lines |= {f"rank 1 by {who}": 100 * _values(rows, f"{who}_finds") for who in ("classifier", "encoder")}
    known = {name: values for name, values in lines.items() if not np.isnan(values).all()}
    return [*shown, Sign("Translations, % ↑", known, fallen, alarm)]


def alarming(rows: Rows) -> list[str]:
    """A sentence for each sign that alarms in the last epoch; none in Phase 1."""
    return [sign.alarm for sign in signs(rows) if sign.alarming[-1]] if has_votes(rows[-1:]) else []


def alarms(rows: Rows) -> Iterator[str]:
    """A sentence for each sign that alarms in some epoch."""
    for sign in signs(rows):
        if sign.alarming.any():
            epochs = [int(row["epoch"]) for row, bad in zip(rows, sign.alarming, strict=True) if bad]
            yield f"{sign.alarm} (epoch {', '.join(map(str, epochs))})"


def _fallen(rows: Rows) -> tuple[np.ndarray, str]:
    """Epochs of Phase 2 in which too few translations are found (epochs,), and a sentence about the last of these.

    Each is compared with the best earlier epoch of Phase 2 and the epoch that Phase 1 kept.
    """
    shares, errors = _values(rows, "retrieval"), _values(rows, "retrieval_error")
    before = [place for place, row in enumerate(rows) if row.get("phase") == 1 and row.get("best")][-1:]
    fallen, alarm = np.zeros(len(rows), dtype=bool), ""
    for place in (place for place, row in enumerate(rows) if row.get("phase") == 2):
        best = max(before, key=lambda epoch: shares[epoch], default=place)
        # False where a history has no error.
        fallen[place] = shares[best] - shares[place] > ERRORS * np.hypot(errors[best], errors[place])
        if fallen[place]:
            values = [f"{shares[epoch]:.1f} % in epoch {rows[epoch]['epoch']:.0f}" for epoch in (best, place)]
            alarm = f"translations found first fell from {' to '.join(values)}, more than two standard errors"
        before.append(place)
    return fallen, alarm


def _values(rows: Rows, name: str) -> np.ndarray:
    return np.array([row.get(f"valid.{name}", np.nan) for row in rows], dtype=np.float64)
