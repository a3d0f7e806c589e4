"""What one method adds to another on the same sentences, as records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from orthoglot.errors import DataError
from orthoglot.random_streams import derive
from orthoglot.statistics.intervals import Interval, bootstrap_p, holm, not_empty, percentile, sign_test
from orthoglot.statistics.records import ALL, PROPORTIONS, Comparison, Record, stated
from orthoglot.statistics.resampling import (
    Resampled,
    Scores,
    SharedColumns,
    left_out,
    mean_of,
    pool,
    resample,
)
from orthoglot.statistics.settings import ResamplingSettings
from orthoglot.statistics.summary import Scored
from orthoglot.statistics.weighted import MEASURES, Metric
from orthoglot.study.report.frame import paired

ORIGINAL = "original"
# What stands before the name of a metric whose absolute values are compared.
SIZE = "abs-"
# The scale of the records of every metric that methods are compared by.
POINTS = 100
# Scores of one method and view: {language pair: {seed: scores}}.
Pairs = dict[str, dict[int, Scores]]


class Question(NamedTuple):
    """Does `method`'s view differ from `baseline`'s?"""

    encoder: str
    method: str
    view: str
    baseline: str
    baseline_view: str


class Side(NamedTuple):
    """One side of a comparison by one metric."""

    scores: Pairs
    columns: dict[str, list[int]]  # numbers of its columns, by language pair


class Difference(NamedTuple):
    """A paired difference, ours minus theirs, in the unit of the scores."""

    interval: Interval  # the mean over language pairs and seeds
    p: float  # two-sided, of the paired bootstrap
    sign_p: float | None  # p of the sign test over pivot sentences; None for statistics of no single item
    by_seed: dict[int, float]  # the difference of each seed


def questions(evaluated: Collection[tuple[str, str]], hosts: Mapping[str, str | None]) -> Iterator[Question]:
    """Ask of each method: its views against its host's, and its meaning against the original vector."""
    for encoder, method in evaluated:
        host = hosts.get(method)
        if host is not None and (encoder, host) in evaluated:
            yield Question(encoder, method, "meaning", host, "meaning")
            yield Question(encoder, method, "language", host, "language")
        if method != ORIGINAL and (encoder, ORIGINAL) in evaluated:
            yield Question(encoder, method, "meaning", ORIGINAL, "sentence")


def compare_methods(
    scored: Mapping[tuple[str, str], Scored],
    settings: ResamplingSettings,
    made: Mapping[str, object],
    *,
    hosts: Mapping[str, str | None],
    measures: Mapping[str, tuple[Metric, ...]] = MEASURES,
) -> list[Record]:
    """Records of each question: difference with interval, and by seed; p of the bootstrap and of the sign test.

    Intervals and p take the trained models as fixed; the differences by seed show how much that leaves out. Both p
    are corrected by Holm over all questions of one task, data set and metric, i.e. of one table of the report.

    Args:
        scored: {(encoder, method): per-item scores}.
        settings: Resampling.
        made: Facts that all records state.
        hosts: {method: the method that it extends}; None or no entry for a method without one.
        measures: The metrics of each measure.
    Source: docs/papers.md#protocol-significance.
    """
    asked: dict[tuple[str, str, str], list[Question]] = defaultdict(list)
    for question in questions(scored.keys(), hosts):
        scores = scored[question.encoder, question.method]
        for about in dict.fromkeys((key.task, key.dataset, key.measure) for key in scores):
            asked[about].append(question)
    facts = {
        "test": "paired-bootstrap",
        "resamples": settings.resamples,
        "confidence": settings.confidence,
        "resampling_seed": settings.seed,
        **made,
    }
    records: list[Record] = []
    for (task, dataset, measure), same in asked.items():
        contests = [
            (
                chosen(scored[question.encoder, question.method], task, dataset, question.view),
                chosen(scored[question.encoder, question.baseline], task, dataset, question.baseline_view),
            )
            for question in same
        ]
        for metric, compared in differences(contests, task, dataset, measure, settings, measures).items():
            answers = [
                (question, answer)
                for question, answer in zip(same, compared, strict=True)
                if answer and (question.view == "language" or not metric.startswith(SIZE))
            ]
            records += _records(task, dataset, metric, answers, facts)
    return records


def chosen(scored: Scored, task: str, dataset: str, view: str) -> Scored:
    """The scores of one task, data set and view."""
    return {
        key: scores
        for key, scores in scored.items()
        if (key.task, key.dataset, key.view) == (task, dataset, view)
    }


def differences(
    contests: Sequence[tuple[Scored, Scored]],
    task: str,
    dataset: str,
    measure: str,
    settings: ResamplingSettings,
    measures: Mapping[str, tuple[Metric, ...]] = MEASURES,
) -> dict[str, list[Difference | None]]:
    """Paired differences of (ours, theirs), by metric; None where a side has no statistic in any language pair.

    Both sides are taken on the items that both scored in all seeds. Hits are pooled to means over seeds and
    directions of each sentence pair; a correlation is taken of each seed and language pair. Unweighted means over
    language pairs are then compared draw by draw, and all contests share their draws. Correlations may be better the
    nearer they are to 0, so "abs-METRIC" has the differences |ours| - |theirs| of these means.

    Raises:
        DataError: two sides were not scored on the same items, or have no item in common.
    """
    columns = SharedColumns()
    common = [_on_common_items(*contest) for contest in contests]
    sides = {
        metric: [[Side(pairs, _columns(columns, task, metric, pairs)) for pairs in both] for both in common]
        for metric in measures[measure]
    }
    generator = np.random.default_rng(derive(settings.seed, "compare", task, dataset, measure))
    resampled = resample(columns.columns, resamples=settings.resamples, generator=generator)
    signs = ("",) if measure in PROPORTIONS else ("", SIZE)
    return {
        f"{sign}{metric.name}": [
            _difference(columns, resampled, metric, mine, other, settings.confidence, size=sign == SIZE)
            for mine, other in sides[metric]
        ]
        for sign in signs
        for metric in measures[measure]
    }


def _columns(columns: SharedColumns, task: str, metric: Metric, pairs: Pairs) -> dict[str, list[int]]:
    """The columns of one side: one for the hits of all seeds, but one per seed for other statistics."""
    numbers = {}
    for pair, by_seed in pairs.items():
        scores = list(by_seed.values())
        scores = [pool(scores)] if metric.name in PROPORTIONS else scores
        numbers[pair] = [columns.add(f"{task} {pair}", seed_scores, metric) for seed_scores in scores]
    return numbers


def _difference(
    columns: SharedColumns,
    resampled: Resampled,
    metric: Metric,
    mine: Side,
    other: Side,
    confidence: float,
    *,
    size: bool,
) -> Difference | None:
    """The difference of two sides, or with `size` of their absolute values."""
    defined = [
        pair
        for pair in mine.columns
        if not np.isnan(resampled.values[[*mine.columns[pair], *other.columns[pair]]]).any()
    ]
    if not defined:
        return None
    (our_value, ours, _), (their_value, theirs, _) = (
        mean_of(resampled, {pair: side.columns[pair] for pair in defined}) for side in (mine, other)
    )
    assert ours is not None
    assert theirs is not None
    by_pair = [
        paired(*(_by_seed(side, pair, resampled, metric) for side in (mine, other))) for pair in defined
    ]
    by_seed = {
        seed: np.mean([of_pair[seed] for of_pair in by_pair], axis=0)
        for seed in sorted(set.intersection(*map(set, by_pair)))
    }
    if size:
        our_value, their_value, ours, theirs = abs(our_value), abs(their_value), abs(ours), abs(theirs)
        by_seed = {seed: abs(both) for seed, both in by_seed.items()}
    value, draws = our_value - their_value, ours - theirs
    keys = [columns.keys(mine.columns[pair]) for pair in defined]
    interval, sign_p = percentile(value, draws, confidence=confidence, keys=keys), None
    if metric.name in PROPORTIONS:
        interval = not_empty(interval, confidence)
        hits = [[columns.columns[side.columns[pair][0]].scores for side in (mine, other)] for pair in defined]
        sign_p = sign_test([Scores(our.values - their.values, our.keys) for our, their in hits])
    apart = {seed: float(our - their) for seed, (our, their) in by_seed.items()}
    return Difference(interval, bootstrap_p(value, draws), sign_p, apart)


def _by_seed(side: Side, pair: str, resampled: Resampled, metric: Metric) -> dict[int, float]:
    if metric.name in PROPORTIONS:
        return {seed: float(np.nanmean(scores.values)) for seed, scores in side.scores[pair].items()}
    numbers = zip(side.scores[pair], side.columns[pair], strict=True)
    return {seed: float(resampled.values[number]) for seed, number in numbers}


def _on_common_items(mine: Scored, other: Scored) -> tuple[Pairs, Pairs]:
    """Both sides as floats, directions pooled; NaN for items that either side left out with any seed."""
    grouped: dict[str, tuple[dict[int, list[Scores]], dict[int, list[Scores]]]] = {}
    for number, scored in enumerate((mine, other)):
        for key, scores in scored.items():
            grouped.setdefault(key.pair, ({}, {}))[number].setdefault(key.seed, []).append(scores)
    sides: tuple[Pairs, Pairs] = {}, {}
    for pair, both in grouped.items():
        all_scores = [scores for by_seed in both for parts in by_seed.values() for scores in parts]
        if not all(both) or any(not np.array_equal(scores.keys, all_scores[0].keys) for scores in all_scores):
            raise DataError(f"{pair}: the evaluations to compare were made on different sentences")
        missing = np.any([left_out(scores.values) for scores in all_scores], axis=0)
        for side, by_seed in zip(sides, both, strict=True):
            side[pair] = {}
            for seed, parts in by_seed.items():
                values = np.mean([scores.values.astype(np.float64) for scores in parts], axis=0)
                values[missing] = np.nan
                side[pair][seed] = Scores(values, all_scores[0].keys)
    return sides


def _records(
    task: str,
    dataset: str,
    metric: str,
    answers: Sequence[tuple[Question, Difference]],
    common: Mapping[str, object],
) -> Iterator[Record]:
    ps = holm([answer.p for _, answer in answers])
    sign_ps = holm([answer.sign_p for _, answer in answers if answer.sign_p is not None])
    for (question, answer), p, sign_p in zip_longest(answers, ps, sign_ps):
        about: dict[str, object] = {"baseline": question.baseline, "baseline_view": question.baseline_view}
        about |= {"resampled": "pivot-sentences", "units": answer.interval.units, "models": "fixed"}
        corrected = {**about, "correction": f"holm-of-{len(answers)}"}
        value, low, high = (round(POINTS * number, 6) for number in answer.interval[:3])
        record = Record(
            task=task,
            dataset=dataset,
            subset=ALL,
            view=question.view,
            encoder=question.encoder,
            method=question.method,
            seed=None,
            metric=str(Comparison("difference", metric, question.baseline)),
            value=value,
            low=low,
            high=high,
            n=answer.interval.n,
            facts=stated(about, common),
        )
        yield record
        plain = replace(record, low=None, high=None)
        for seed, difference in answer.by_seed.items():
            yield replace(plain, seed=seed, value=round(POINTS * difference, 6))
        for kind, number, test in (("p", p, common["test"]), ("sign", sign_p, "sign-exact")):
            if number is not None:
                name = str(Comparison(kind, metric, question.baseline))
                facts = stated(corrected, common, {"test": test})
                yield replace(plain, metric=name, value=number, facts=facts)
