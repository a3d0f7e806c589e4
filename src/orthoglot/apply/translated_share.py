"""How many sentences of two texts have a translation in the other one, estimated with known translations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from orthoglot.errors import DataError

# Bins of equal numbers of margins, and what is added to the count of each.
BINS, ADDED = 11, 0.5
# Nats by which the likelihood of some share has to exceed that of another one.
LEAST_GAIN = 2.0


class Margins(NamedTuple):
    """The margin of the pair that each sentence of a list is mined in, -inf if it is in none; (n,) float64 each."""

    translated: np.ndarray  # of known sentences whose translation is in the other list
    alone: np.ndarray  # of known sentences whose translation is not
    unknown: np.ndarray  # of the sentences of a text


def translated_share(margins: Margins) -> float:
    """The share s of the sentences of a text whose translation is in the other list, in [0, 1].

    The margins of the text are a mixture of two distributions that the known sentences show: those of sentences with a
    translation, f1, and without one, f0. Over bins b with the share h(b) of the text's sentences, s maximises

        sum_b h(b) log(s f1(b) + (1 - s) f0(b)),

    which is concave in s. Bins have equal numbers of all margins; a sentence in no pair is in the lowest one. Each bin
    of f1 and f0 counts half a sentence more. The estimate assumes that sentences of the text are as easy to tell from
    their neighbours as the known ones.

    Raises:
        DataError: no margin is finite, or the likelihood is flat: it varies by less than two nats.

    Source: a mixture with known components, as in Saerens, Latinne and Decaestecker, "Adjusting the outputs of a
    classifier to new a priori probabilities", 2002. Errors on real text are in measurements/mining/README.md.
    """
    all_margins = np.concatenate(margins)
    if not np.isfinite(all_margins).any():
        raise DataError(
            "no sentence is in a pair, so the share of translations cannot be estimated: give --share"
        )
    edges = np.quantile(all_margins[np.isfinite(all_margins)], np.linspace(0, 1, BINS + 1)[1:-1])

    def counts(values: np.ndarray) -> np.ndarray:
        return np.bincount(np.searchsorted(edges, values), minlength=BINS)

    with_translation, without = (
        (counts(values) + ADDED) / (len(values) + ADDED * BINS) for values in margins[:2]
    )
    observed = counts(margins.unknown)

    def loss(share: float) -> float:
        return -float(observed @ np.log(share * with_translation + (1 - share) * without))

    tried = [loss(share) for share in (0, 0.25, 0.5, 0.75, 1)]
    if max(tried) - min(tried) < LEAST_GAIN:
        raise DataError("the margins do not tell how many sentences have a translation: give --share")
    return float(minimize_scalar(loss, bounds=(0, 1), method="bounded").x)


def joint_share(sides: Sequence[Margins]) -> float:
    """The share over the sentences of both texts: (s_x n_x + s_y n_y) / (n_x + n_y), in [0, 1]."""
    sizes = [len(side.unknown) for side in sides]
    return float(np.average([translated_share(side) for side in sides], weights=sizes))
