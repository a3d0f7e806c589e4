"""Closed forms: the weights from sums over the training vectors, and the settings that they choose for themselves."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from orthoglot.decomposers.base import Candidate, ClosedForm, Languages, unit
from orthoglot.decomposers.cross_validation import PAIRS, Block, choose, sample, undivided
from orthoglot.decomposers.moments import Moments, PairMoments, finite
from orthoglot.errors import DataError

if TYPE_CHECKING:
    from orthoglot.decomposers.architectures.plda import Prior

# Nats by which the loss of held-out pairs may exceed that of the undivided vector without a warning.
WORSE = 0.01
logger = logging.getLogger(__name__)


def compute(
    form: ClosedForm,
    blocks: Iterable[Block],
    languages: Sequence[str],
    dim: int,
    settings: Mapping[str, Any],
    prior: Prior | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The weights of a closed form, float32, and its settings.

    Args:
        form: Its `fit` gives formula and shapes.
        blocks: All training translations, each once, in any order. Settings are chosen with the first pairs of the
            first block of each pair of languages (`sample`).
        languages: K names, those of the blocks.
        dim: D.
        settings: Those of the form that are given, by name; the prior has those that are missing, or the form chooses.
        prior: What the form has learnt from other text, for a form that can start from it; None for nothing.
    Returns:
        Weights by name; settings, and `validation`: the loss of pairs that nothing was fitted to, which chose the
            settings if some were missing. It is absent with a prior, or with fewer than 10 pairs of two languages.
    Raises:
        DataError: A vector is not finite, a language has no sentence, the formula has no solution, the prior has
            another dimension, or there are too few pairs to choose settings with.
    """
    moments, pairs, compared = gather(form, blocks, languages, dim)
    facts: dict[str, Any] = {}
    if prior is not None:
        if len(prior.scatter.mean) != dim:
            raise DataError(f"a prior of {len(prior.scatter.mean)} dimensions for vectors of {dim}")
        settings = {**prior.settings, **settings}
        facts["prior_pairs"] = prior.scatter.pairs
    elif (candidates := form.candidates) and (missing := form.settings.model_fields.keys() - settings.keys()):

        def chosen_without(held: Sequence[Block]) -> Iterator[Candidate]:
            return candidates(moments.without(held), pairs.without(held), compared)

        settings, facts["validation"] = choose(chosen_without, compared, ", ".join(sorted(missing)))
    elif compared:

        def given_without(held: Sequence[Block]) -> Iterator[Candidate]:
            weights = _fitted(form, moments.without(held), pairs.without(held), settings)
            yield Candidate({}, lambda: [_meanings(form, weights, block, languages) for block in compared])

        # Where there are too few pairs to hold some out, nothing is known.
        with suppress(DataError):
            facts["validation"] = choose(given_without, compared)[1]
    if "validation" in facts and facts["validation"] > (loss := undivided(compared)) + WORSE:
        logger.warning(
            "pairs that nothing was fitted to are found less well than by the undivided vector (loss %.4f, %.4f): take "
            "another method, or more pairs",
            facts["validation"],
            loss,
        )
    weights = _fitted(form, moments, pairs, settings if prior is None else {**settings, "prior": prior})
    moments.means()  # refuses a language without sentences, whatever the form looks at
    return {name: array.astype(np.float32) for name, array in weights.items()}, {**settings, **facts}


def _fitted(
    form: ClosedForm, moments: Moments, pairs: PairMoments, settings: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    return form.fit(moments, pairs, **settings) if form.pairs else form.fit(moments, **settings)


def _meanings(
    form: ClosedForm, weights: dict[str, np.ndarray], block: Block, languages: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    source, target, (first, second) = block
    return (
        form.apply(weights, source, Languages([first] * len(source), second, languages))[0],
        form.apply(weights, target, Languages([second] * len(target), first, languages))[0],
    )


def gather(
    form: ClosedForm, blocks: Iterable[Block], languages: Sequence[str], dim: int
) -> tuple[Moments, PairMoments, list[Block]]:
    """The sums that `compute` computes a closed form of, and the translations that its settings are chosen with.

    Translations from one language to another and back are of one pair, in the order that came first. A vector that is
    not finite is a DataError.
    """
    moments = Moments(dim, languages, products=form.products)
    pairs = PairMoments(dim, products=form.pair_products)
    samples: dict[tuple[str, str], Block] = {}
    for source, target, pair in blocks:
        if (turned := (pair[1], pair[0])) in pairs.counts:
            source, target, pair = target, source, turned
        if form.unit:
            source, target = unit(finite(source, pair[0])), unit(finite(target, pair[1]))
        moments.update(source, pair[0])
        moments.update(target, pair[1])
        if form.pairs:
            pairs.update(source, target, pair)
        samples.setdefault(pair, (source[:PAIRS], target[:PAIRS], pair))
    return moments, pairs, sample([*samples.values()])
