"""Learn a threshold for mining, and the probability that a mined pair is right, from held-out translations."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from orthoglot.apply.calibration import Calibration
from orthoglot.apply.early_checks import check_between_0_and_1, check_share
from orthoglot.apply.expected import Decoys
from orthoglot.apply.model import Model
from orthoglot.apply.translated_share import Margins, joint_share
from orthoglot.decomposers.base import unit
from orthoglot.decomposers.own_mean import adaptable, centred
from orthoglot.errors import DataError
from orthoglot.progress import Done, weighed
from orthoglot.search.exact_or_cells import search
from orthoglot.search.margins import Margin, Mined, Strategy, both_cosines, curve, mine_neighbours
from orthoglot.search.margins import mine as by_margin
from orthoglot.search.neighbours import Nearest, nearest
from orthoglot.statistics.intervals import wilson
from orthoglot.text.held_out import distinct
from orthoglot.text.keys import are_new
from orthoglot.text.shifts import find_runs_of_vectors, outside, parallel, said
from orthoglot.text.string_lists import string_pairs

# Pairs, and of them those that are in both lists at a time, for a threshold to mean something.
FEWEST, FEWEST_IN_BOTH = 20, 5
# Neighbours that are searched for each that a margin needs: nearly half of the known sentences are absent at a time.
SPARE = 4
POINTS = 200
CONFIDENCE = 0.95
# The first guess of an estimated share, the most, how often it is estimated anew with lists of the last estimate, and
# the lists each time. A given share is doubted from this factor on.
FIRST_GUESS, MOST, ROUNDS, LISTS = 0.5, 0.97, 3, 4
DOUBT = 1.5
logger = logging.getLogger(__name__)


def calibrate(
    model: Model,
    pairs: Sequence[tuple[str, str]],
    *,
    languages: tuple[str | None, str | None] = (None, None),
    part: str = "meaning",
    share: float | None = None,
    among: Sequence[tuple[Sequence[str], np.ndarray]] = (),
    target_precision: float = 0.95,
    margin: Margin = "ratio",
    retrieval: Strategy = "max",
    neighborhood: int = 4,
    realign: bool = False,
    own_mean: bool = True,
    device: str = "cpu",
    threads: int = 1,
    done: Done = lambda _: None,
) -> Calibration:
    """Mine lists made of known translations, most of which are in one list only, and see what was right.

    The lists are drawn several times. Each pair is in both lists in one draw, and has one sentence in one list in the
    others: so a few pairs are used many times, and chance decides less. The first list takes its sentences without a
    translation from one half of the pairs, the second from the other half. Neighbours in a document may repeat each
    other, e.g. a headline, and such pairs would count as wrong. The probability is an isotonic regression of right and
    wrong on the margin.

    Precision and probability hold for text with the same `share` of translations; with fewer, they are lower. Margins
    over neighbours fall as there are more sentences, whose neighbours are nearer, so a threshold holds for lists of one
    size. `among` makes the lists as large as the texts to be mined: known sentences take the places of some of theirs.

    Args:
        model: A model, see `Model.load`.
        pairs: Translations that the model was not fitted on.
        languages: The languages of the two sides, where the model needs them.
        part: The part of the vectors.
        share: The share of the sentences of either list that shall have a translation in the other. If not given, it is
            estimated from the texts of `among` three times (`orthoglot.apply.translated_share.joint_share`), each time
            with lists of the last estimate. It is at least the least share that so many pairs can show.
        among: The sentences of both texts to be mined, and their vectors (n, D), rows of length 1. What is mined for
            them does not count, as nobody knows what is right. A sentence with the letters and digits of a known one of
            its side is left out: it may be a known translation.
        target_precision: The share of right pairs among those at or above the threshold.
        margin, retrieval, neighborhood: See `orthoglot.apply.mine.mine`.
        realign: Whether pairs of a shifted run are put together anew (`orthoglot.text.shifts`); all other runs of
            pairs that are not parallel are left out.
        own_mean: Whether the sides of the pairs have their own mean, as the texts of `among` have theirs.
        device, threads: Where the search runs.
        done: A function that gets how many more bytes of the pairs are encoded.
    Raises:
        ConfigError: a share or precision outside (0, 1), or neither a share nor texts to estimate it from.
        TypeError: `pairs` are no pairs of strings.
        DataError: too few pairs, or no threshold has the precision.
    """
    from sklearn.isotonic import IsotonicRegression

    check_share(share, bool(among))
    check_between_0_and_1(target_precision=target_precision)
    sides = _distinct(parallel(string_pairs(pairs, "pairs"), realign=realign))
    n = len(sides[0])
    if n < FEWEST or (share is not None and _gold(share, n) < FEWEST_IN_BOTH):
        fewest = 0 if share is None else math.ceil(FEWEST_IN_BOTH * (2 - share) / share)
        needed = max(FEWEST, fewest)
        raise DataError(
            f"{n} different pairs, too few: give {needed}" + (" or a larger share" if share else "")
        )
    x, y = (
        unit(
            model.encode(
                side,
                part=part,
                language=language,
                partner=partner,
                progress=weighed(done, sum(len(text.encode()) for text in side) / n),
            )
        )
        for side, language, partner in zip(sides, languages, reversed(languages), strict=True)
    )
    if runs := find_runs_of_vectors(x, y):
        rest = outside(runs, n)
        logger.warning("by their vectors, %s", said(runs))
        pairs = [pair for pair, stays in zip(zip(*sides, strict=True), rest, strict=True) if stays]
        sides, x, y, n = _distinct(pairs), x[rest], y[rest], int(rest.sum())
        if n < FEWEST or (share is not None and _gold(share, n) < FEWEST_IN_BOTH):
            raise DataError(
                f"{n} pairs are parallel, too few; the others are shifted against their translations"
            )
    decomposer = adaptable(model.decomposer, part) if own_mean else None
    if decomposer is not None:
        x, y = (centred(side, decomposer) for side in (x, y))
    if among:
        x, y = (
            np.concatenate([known, vectors[are_new(sentences, side)]])
            for known, side, (sentences, vectors) in zip((x, y), sides, among, strict=True)
        )
    near, _ = search(x, y, SPARE * neighborhood, device=device, threads=threads)
    options: dict[str, Any] = {"margin": margin, "retrieval": retrieval, "neighborhood": neighborhood}
    estimated = _estimated(x, y, near, n, **options) if min(len(x), len(y)) > n else None
    share = _chosen(share, estimated, n)
    gold = _gold(share, n)
    # Known sentences take the places of others: lists are as long as the texts, on which margins depend.
    lengths = [len(sentences) for sentences, _ in among] or [0, 0]
    drawn = [
        (_filled(source, n, len(x), lengths[0]), _filled(target, n, len(y), lengths[1]))
        for source, target in _lists(n, gold)
    ]
    sources, margins, right = (
        np.concatenate(column)
        for column in zip(*(_known(_mined(x, y, near, *lists, **options), n) for lists in drawn), strict=True)
    )
    total = gold * len(drawn)
    threshold = _threshold(margins, right, target_precision)
    if threshold is None:
        highest = _highest_precision(margins, right)
        raise DataError(
            f"{100 * target_precision:g} % was not reached: no threshold has this precision, the highest is "
            f"{100 * highest:.1f} %; ask for less with --precision, or take another model"
        )
    decoys = None
    if among and retrieval == "max":
        # If one text alone proposes, each of its sentences is in a pair, and none is left to tell of wrong ones.
        ours, theirs = (vectors for _, vectors in among)
        neighbours = search(ours, theirs, neighborhood, device=device, threads=threads).nearest
        cosine = both_cosines(ours, theirs, neighbours)
        decoys = Decoys.of(neighbours, cosine, mine_neighbours(neighbours, cosine, margin, retrieval), margin)
    shown_by_texts = decoys.threshold(target_precision) if decoys else None
    if decoys is not None:
        threshold = max(threshold, decoys.most_precise() if shown_by_texts is None else shown_by_texts)
    expected = decoys.expected(threshold, estimated) if decoys else None
    tried, halves = _of_the_other_half(sources, margins, right, target_precision)
    kept = margins >= threshold
    regression = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(margins, right)
    shown = curve(margins, right, total)
    rows = np.unique(np.linspace(0, len(shown.thresholds) - 1, POINTS).round().astype(int))
    held_out_recall = float(right[tried].sum() / (total * halves / 2)) if halves else 0.0
    return Calibration(
        model=model.identity,
        part=part,
        margin=margin,
        retrieval=retrieval,
        neighborhood=neighborhood,
        share=share,
        sources=len(drawn[0][0]),
        targets=len(drawn[0][1]),
        gold=gold,
        draws=len(drawn),
        target_precision=target_precision,
        threshold=threshold,
        precision=_with_interval(right[kept], sources[kept]),
        recall=float(right[kept].sum() / total),
        held_out_precision=_with_interval(right[tried], sources[tried]),
        held_out_recall=[held_out_recall, *wilson(held_out_recall, n, CONFIDENCE)],
        curve={
            "threshold": shown.thresholds[rows].tolist(),
            "precision": shown.precision[rows].tolist(),
            "recall": shown.recall[rows].tolist(),
        },
        probabilities={
            "margin": regression.X_thresholds_.tolist(),
            "probability": regression.y_thresholds_.tolist(),
        },
        estimated_share=estimated,
        own_mean=decomposer is not None,
        expected_pairs=expected.pairs if expected else None,
        expected_precision=expected.precision if expected else None,
        expected_recall=expected.recall if expected else None,
        promised=shown_by_texts is not None,
    )


def _gold(share: float, n: int) -> int:
    """Translations in both of two lists made of n pairs: share = gold / ((n + gold) / 2)."""
    return round(share * n / (2 - share))


def _chosen(share: float | None, estimated: float | None, n: int) -> float:
    """The given share, or else the estimated one within what n pairs can show; what is doubtful is logged."""
    if share is None:
        if estimated is None:
            raise DataError("the texts have no sentence but those of the pairs: give --share")
        least = 2 * FEWEST_IN_BOTH / (n + FEWEST_IN_BOTH)
        logger.info("share of sentences with a translation, estimated from the texts: %.2f", estimated)
        if estimated < least:
            logger.warning(
                "%d pairs can show a share of %.3f at least, which is taken: precision will be lower; give more pairs",
                n,
                least,
            )
        return min(max(estimated, least), MOST)
    if estimated is not None and max(share, estimated) > DOUBT * min(share, estimated):
        logger.warning(
            "--share %g, but the texts look like %.2f: without --share, that is taken", share, estimated
        )
    return share


def _estimated(x: np.ndarray, y: np.ndarray, near: Nearest, n: int, **options: Any) -> float:
    """The share of the rows from n on, of x and of y, that translate each other; the first n are known translations.

    Lists have all of the texts, and in turn some of the known sentences in both lists or in one.
    """
    share = FIRST_GUESS
    for _ in range(ROUNDS):
        made = list(_lists(n, max(FEWEST_IN_BOTH, _gold(share, n))))
        turns = np.unique(np.linspace(0, len(made) - 1, min(LISTS, len(made))).round().astype(int))
        sides: tuple[list[Margins], list[Margins]] = ([], [])
        for known in (made[turn] for turn in turns):
            lists = [
                np.append(rows, np.arange(n, len(side))) for rows, side in zip(known, (x, y), strict=True)
            ]
            pairs = _mined(x, y, near, lists[0], lists[1], **options)
            for side, rows, mined, other in zip(sides, lists, pairs[:2], reversed(known), strict=True):
                side.append(_by_kind(rows, mined, pairs.margins, other, n))
        joint = joint_share([Margins(*map(np.concatenate, zip(*side, strict=True))) for side in sides])
        share = min(max(joint, 2 * FEWEST_IN_BOTH / (n + FEWEST_IN_BOTH)), MOST)
    return joint


def _by_kind(rows: np.ndarray, mined: np.ndarray, margins: np.ndarray, other: np.ndarray, n: int) -> Margins:
    """The margins of the rows of a list; those in `other`, of the known ones, have their translation there."""
    highest = np.full(rows.max() + 1, -np.inf)
    np.maximum.at(highest, mined, margins)
    known = rows[rows < n]
    both = np.isin(known, other)
    return Margins(highest[known[both]], highest[known[~both]], highest[rows[rows >= n]])


def _highest_precision(margins: np.ndarray, right: np.ndarray) -> float:
    """The highest precision of a threshold that keeps as many pairs as are in both lists at a time, at the least."""
    hits = np.cumsum(right[np.argsort(-margins, kind="stable")])
    counts = np.arange(1, len(hits) + 1)
    return float((hits / counts)[FEWEST_IN_BOTH - 1 :].max(initial=0))


def _distinct(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """The two sides of the pairs whose sentences are both new and not blank."""
    stripped = ((source.strip(), target.strip()) for source, target in pairs)
    source, target, _ = distinct(pair for pair in stripped if all(pair))
    return source, target


def _lists(n: int, gold: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of the pairs that are in the first and in the second list, until each pair was in both.

    `gold` pairs at a time are in both lists, spread over the n. One half of the others, in their order, is in the first
    list and the other half in the second, in the next draw the other way round: a list has (n + gold) / 2 sentences.
    """
    draws = -(-n // gold)
    order = np.argsort(np.arange(n) % draws, kind="stable")
    for draw in range(draws):
        both = np.zeros(n, dtype=bool)
        both[order[np.arange(draw * gold, (draw + 1) * gold) % n]] = True
        first = (np.arange(n) < n // 2) ^ bool(draw % 2)
        yield np.flatnonzero(both | first), np.flatnonzero(both | ~first)


def _filled(known: np.ndarray, n: int, size: int, length: int) -> np.ndarray:
    """Rows of a list: the known ones, and evenly spread of the others, n to size, until it has the length."""
    others = min(size - n, max(0, length - len(known)))
    return np.append(known, n + np.linspace(0, size - n - 1, others).round().astype(int))


def _mined(
    x: np.ndarray,
    y: np.ndarray,
    near: Nearest,
    source: np.ndarray,
    target: np.ndarray,
    margin: Margin,
    retrieval: Strategy,
    neighborhood: int,
) -> Mined:
    """The pairs that are mined in rows `source` of x and `target` of y, by their rows of x and of y."""
    ours, theirs = x[source], y[target]
    lists = Nearest(
        _present(near.forward[source], target, len(y), ours, theirs, neighborhood),
        _present(near.backward[target], source, len(x), theirs, ours, neighborhood),
    )
    mined = by_margin(ours, theirs, lists, margin, retrieval)
    return Mined(source[mined.sources], target[mined.targets], mined.margins)


def _known(pairs: Mined, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row of x, margin, and whether it is right, for each pair with one of the first n rows of x."""
    known = pairs.sources < n
    return pairs.sources[known], pairs.margins[known], (pairs.sources == pairs.targets)[known]


def _present(
    near: np.ndarray, rows: np.ndarray, size: int, x: np.ndarray, y: np.ndarray, k: int
) -> np.ndarray:
    """The k nearest of those neighbours (N, K) that are among rows of `size`, by their place there.

    They are neighbours of rows of x (N, D) among those of y, which are searched anew for rows with fewer than k such
    neighbours.
    """
    place = np.full(size, -1)
    place[rows] = np.arange(len(rows))
    places = place[near]
    places = np.take_along_axis(places, np.argsort(places < 0, axis=1, kind="stable")[:, :k], axis=1)
    if len(short := np.flatnonzero((places < 0).any(axis=1))):
        places[short] = nearest(x[short], y, k).forward
    return places


def _threshold(margins: np.ndarray, right: np.ndarray, precision: float) -> float | None:
    """The lowest threshold with this precision; None if none has it."""
    if not len(margins):
        return None
    points = curve(margins, right, max(1, int(right.sum())))
    good = np.flatnonzero(points.precision >= precision)
    return float(points.thresholds[good[-1]]) if len(good) else None


def _of_the_other_half(
    sources: np.ndarray, margins: np.ndarray, right: np.ndarray, precision: float
) -> tuple[np.ndarray, int]:
    """Which pairs a threshold keeps that was learnt on the other half, even or odd sources; halves that have one."""
    tried, halves = np.zeros(len(margins), dtype=bool), 0
    for half in (sources % 2 == 0, sources % 2 == 1):
        learnt = _threshold(margins[half], right[half], precision)
        if learnt is not None:
            tried |= ~half & (margins >= learnt)
            halves += 1
    return tried, halves


def _with_interval(right: np.ndarray, sources: np.ndarray) -> list[float]:
    """A share of pairs with its Wilson interval; [0, 0, 1] of none.

    A source may have a pair in several draws. Such pairs are not independent, so (sum m)^2 / sum m^2 of them count, of
    m pairs of a source (Kish, "Survey Sampling", 1965).
    """
    if not len(right):
        return [0.0, 0.0, 1.0]
    times = np.unique(sources, return_counts=True)[1]
    share = float(right.mean())
    return [share, *wilson(share, float(times.sum() ** 2 / (times**2).sum()), CONFIDENCE)]
