"""What one method adds to another on the same sentences, as records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from orthoglot.errors import DataError
from orthoglot.statistics.records import ALL, Record, sign
from orthoglot.statistics.resampling import (
    Comparison,
    Scores,
    bootstrap_p,
    compare,
    holm,
    interval,
    left_out,
    mean,
    resample,
    subtract,
)
from orthoglot.statistics.settings import EvaluationSettings
from orthoglot.statistics.summary import ACCURACY, Columns, Scored, mean_of, strata
from orthoglot.statistics.weighted import MEASURES, Metric
from orthoglot.streams import derive

ORIGINAL = "original"
ORACLE = "+oracle"
RELEASED = "-released"
Side = TypeVar("Side")


class Question(NamedTuple):
    """Does `method`'s view differ from `baseline`'s?"""

    method: str
    view: str
    baseline: str
    baseline_view: str


def host_of(method: str, methods: Collection[str]) -> str | None:
    """Which of `methods` is `method` without ORACLE; None if it has no ORACLE or its host is not there.

    "dream+oracle" -> "dream"; "dream+oracle-released" -> "dream-released", or "dream" where that is missing.
    """
    host, oracle, reading = method.partition(ORACLE)
    if not oracle or reading not in ("", RELEASED):
        return None
    return next((name for name in (host + reading, host) if name in methods), None)


def questions(methods: Sequence[str]) -> Iterator[Question]:
    """ORACLE on a host against the host (meaning, language); every method's meaning against the original."""
    for method in methods:
        if host := host_of(method, methods):
            yield Question(method, "meaning", host, "meaning")
            yield Question(method, "language", host, "language")
        if method != ORIGINAL and ORIGINAL in methods:
            yield Question(method, "meaning", ORIGINAL, "sentence")


class Contest(NamedTuple):
    """A question put to the scores of one encoder."""

    encoder: str
    question: Question
    ours: Scored
    theirs: Scored


class Answer(NamedTuple):
    """What was found for one encoder; `by_seed` is the difference of each seed, in the unit of the scores."""

    encoder: str
    question: Question
    comparison: Comparison
    by_seed: dict[int, float]


def compare_methods(
    scored: Mapping[tuple[str, str], Scored], settings: EvaluationSettings, made: Mapping[str, object]
) -> list[Record]:
    """Records of each question: difference with interval, and by seed; p of bootstrap and of sign test.

    Hits are pooled to means over seeds and directions of each sentence pair; a correlation is taken of each seed
    and language pair, and their unweighted means are compared draw by draw. Intervals and p take the trained
    models as fixed, and the differences by seed tell how much that leaves out. Both p are corrected by Holm over
    all questions of one task, data set and metric, i.e. of one table of the report.

    Args:
        scored: {(encoder, method): per-item scores}.
        settings: resampling.
        made: ends the signatures.
    """
    methods: dict[str, list[str]] = defaultdict(list)
    for encoder, method in scored:
        methods[encoder].append(method)
    contests: dict[tuple[str, str, str], list[Contest]] = defaultdict(list)
    for encoder, names in methods.items():
        for question in questions(names):
            ours, theirs = scored[encoder, question.method], scored[encoder, question.baseline]
            for task, dataset, measure in dict.fromkeys((*key[:2], key.measure) for key in ours):
                mine = _chosen(ours, task, dataset, question.view)
                other = _chosen(theirs, task, dataset, question.baseline_view)
                contests[task, dataset, measure].append(Contest(encoder, question, mine, other))
    how = {
        "test": "paired-bootstrap",
        "resamples": settings.resamples,
        "confidence": settings.confidence,
        "resampling_seed": settings.seed,
        **made,
    }
    records: list[Record] = []
    for (task, dataset, measure), asked in contests.items():
        if measure != ACCURACY:
            for metric, answers in compare_statistics(task, dataset, measure, asked, settings):
                records += _records(task, dataset, metric, answers, how)
            continue
        found = compare(
            [(strata(one.ours, f"{task} "), strata(one.theirs, f"{task} ")) for one in asked],
            resamples=settings.resamples,
            confidence=settings.confidence,
            generator=np.random.default_rng(derive(settings.seed, "compare", task, dataset)),
        )
        answers = [
            Answer(one.encoder, one.question, comparison, _by_seed(one.ours, one.theirs))
            for one, comparison in zip(asked, found, strict=True)
        ]
        records += _records(task, dataset, ACCURACY, answers, how)
    return records


def compare_statistics(
    task: str, dataset: str, measure: str, contests: Sequence[Contest], settings: EvaluationSettings
) -> Iterator[tuple[str, list[Answer]]]:
    """Answers by metric; a contest of which a side has no statistic in any language pair has no answer.

    A language view's correlation should be 0, so its sizes are compared as well, as the metric `abs-<metric>`:
    |ours| - |theirs|, of the means over language pairs and seeds, taken anew in each draw. Both sides are taken on
    the items that both scored, and all contests share their draws.

    Raises:
        DataError: two sides were not scored on the same items.
    """
    columns = Columns()
    asked: list[tuple[Contest, Metric, dict[str, _Sides]]] = []
    # Where an item was left out, the scores without it are made once, so that columns stay shared.
    masked: dict[tuple[int, bytes], Scores] = {}
    for contest in contests:
        pairs = _on_common_items(contest, masked)
        for metric in MEASURES[measure]:
            label = f"{contest.encoder} {task} {{}} {contest.question.view}"
            sides = {
                pair: _Sides(
                    *(
                        {seed: columns.add(label.format(pair), one, metric) for seed, one in side.items()}
                        for side in both
                    )
                )
                for pair, both in pairs.items()
            }
            asked.append((contest, metric, sides))
    if not asked:
        return
    generator = np.random.default_rng(derive(settings.seed, "compare", task, dataset, measure))
    found = resample(columns.found, resamples=settings.resamples, generator=generator)
    for metric in MEASURES[measure]:
        answers = []
        sizes = []
        for contest, own, sides in asked:
            if own != metric:
                continue
            told = {pair: both for pair, both in sides.items() if both.defined(found.values)}
            if not told:
                continue
            ours, ours_drawn, _ = mean_of(
                found, {pair: list(both.ours.values()) for pair, both in told.items()}
            )
            theirs, theirs_drawn, _ = mean_of(
                found, {pair: list(both.theirs.values()) for pair, both in told.items()}
            )
            assert ours_drawn is not None
            assert theirs_drawn is not None
            keys = [columns.keys(list(both.ours.values())) for both in told.values()]
            by_seed = _sides_by_seed(found.values, told)
            plain = {seed: mine - other for seed, (mine, other) in by_seed.items()}
            draws = ours_drawn - theirs_drawn
            answers.append(_answer(contest, ours - theirs, draws, plain, keys, settings))
            if contest.question.view == "language":
                size = {seed: abs(mine) - abs(other) for seed, (mine, other) in by_seed.items()}
                draws = abs(ours_drawn) - abs(theirs_drawn)
                sizes.append(_answer(contest, abs(ours) - abs(theirs), draws, size, keys, settings))
        yield metric.name, answers
        if sizes:
            yield f"abs-{metric.name}", sizes


def _answer(
    contest: Contest,
    value: float,
    draws: np.ndarray,
    by_seed: dict[int, float],
    keys: Sequence[np.ndarray],
    settings: EvaluationSettings,
) -> Answer:
    difference = interval(value, draws, confidence=settings.confidence, keys=keys)
    return Answer(
        contest.encoder, contest.question, Comparison(difference, bootstrap_p(value, draws), None), by_seed
    )


class _Sides(NamedTuple):
    """The columns of a language pair in a contest, by seed."""

    ours: dict[int, int]
    theirs: dict[int, int]

    def defined(self, values: np.ndarray) -> bool:
        """Whether every column of both sides has a statistic."""
        return not np.isnan(values[[*self.ours.values(), *self.theirs.values()]]).any()


def _on_common_items(
    contest: Contest, masked: dict[tuple[int, bytes], Scores]
) -> dict[str, tuple[dict[int, Scores], dict[int, Scores]]]:
    """{pair: ours and theirs by seed}, without the items that any of them left out."""
    sides: dict[str, tuple[dict[int, Scores], dict[int, Scores]]] = {}
    for which, scored in enumerate((contest.ours, contest.theirs)):
        for key, scores in scored.items():
            sides.setdefault(key.pair, ({}, {}))[which][key.seed] = scores
    found = {}
    for pair, (ours, theirs) in sides.items():
        every = [*ours.values(), *theirs.values()]
        if not (ours and theirs) or any(not np.array_equal(one.keys, every[0].keys) for one in every):
            raise DataError(f"{pair}: the evaluations to compare were made on different sentences")
        missing = np.any([left_out(one.values) for one in every], axis=0)
        found[pair] = _without(ours, missing, masked), _without(theirs, missing, masked)
    return found


def _without(
    side: dict[int, Scores], missing: np.ndarray, masked: dict[tuple[int, bytes], Scores]
) -> dict[int, Scores]:
    return {
        seed: masked.setdefault(
            (id(one.values), missing.tobytes()),
            Scores(np.where(missing[:, None], np.nan, one.values), one.keys) if missing.any() else one,
        )
        for seed, one in side.items()
    }


def _sides_by_seed(values: np.ndarray, sides: Mapping[str, _Sides]) -> dict[int, tuple[float, float]]:
    """Ours and theirs of each seed, means over language pairs."""
    by_pair = [_matched(both.ours, both.theirs) for both in sides.values()]
    return {
        seed: (
            float(np.mean([values[matched[seed][0]] for matched in by_pair])),
            float(np.mean([values[matched[seed][1]] for matched in by_pair])),
        )
        for seed in sorted(set.intersection(*(set(matched) for matched in by_pair)))
    }


def _matched(ours: dict[int, Side], theirs: dict[int, Side]) -> dict[int, tuple[Side, Side]]:
    """What both have of each seed; what has one seed only stands against every seed."""
    if len(theirs) == 1:
        theirs = dict.fromkeys(ours, next(iter(theirs.values())))
    elif len(ours) == 1:
        ours = dict.fromkeys(theirs, next(iter(ours.values())))
    return {seed: (ours[seed], theirs[seed]) for seed in sorted(ours.keys() & theirs.keys())}


def _chosen(scored: Scored, task: str, dataset: str, view: str) -> Scored:
    return {k: v for k, v in scored.items() if (k.task, k.dataset, k.view) == (task, dataset, view)}


def _by_seed(ours: Scored, theirs: Scored) -> dict[int, float]:
    """Paired difference of each seed that both have; what has one seed only stands against every seed."""
    matched = _matched(_seeds(ours), _seeds(theirs))
    return {seed: mean(subtract(mine, other)) for seed, (mine, other) in matched.items()}


def _seeds(scored: Scored) -> dict[int, dict[str, Scores]]:
    return {
        seed: strata({key: found for key, found in scored.items() if key.seed == seed})
        for seed in {key.seed for key in scored}
    }


def _records(
    task: str, dataset: str, metric: str, answers: Sequence[Answer], how: Mapping[str, object]
) -> Iterator[Record]:
    of = "" if metric == ACCURACY else f"-{metric}"
    ps = holm([answer.comparison.p for answer in answers])
    signs = [answer.comparison.sign_p for answer in answers if answer.comparison.sign_p is not None]
    sign_ps = iter(holm(signs))
    for (encoder, question, comparison, by_seed), p in zip(answers, ps, strict=True):
        found = comparison.difference
        against: dict[str, object] = {"baseline": question.baseline, "baseline_view": question.baseline_view}
        against |= {"resampled": "pivot-sentences", "units": found.units, "models": "fixed"}
        value, low, high = (round(100 * number, 6) for number in found[:3])
        record = Record(
            task=task,
            dataset=dataset,
            subset=ALL,
            view=question.view,
            encoder=encoder,
            method=question.method,
            seed=None,
            metric=f"difference{of}:{question.baseline}",
            value=value,
            low=low,
            high=high,
            n=found.n,
            signature=sign({**against, **how}),
        )
        yield record
        plain = replace(record, low=None, high=None)
        for seed, difference in by_seed.items():
            yield replace(plain, seed=seed, value=round(100 * difference, 6))
        against |= {"correction": f"holm-of-{len(answers)}"}
        signature = sign({**against, **how})
        yield replace(plain, metric=f"p{of}:{question.baseline}", value=p, signature=signature)
        if comparison.sign_p is not None:
            exact = sign({**against, **how, "test": "sign-exact"})
            yield replace(plain, metric=f"sign:{question.baseline}", value=next(sign_ps), signature=exact)
