"""What one method adds to another on the same sentences, as records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from orthoglot.evaluation.base import ALL, Record, sign
from orthoglot.evaluation.resampling import Comparison, Scores, compare, holm, mean, subtract
from orthoglot.evaluation.settings import EvaluationSettings
from orthoglot.evaluation.summary import Hits, strata
from orthoglot.streams import derive

ORIGINAL = "original"
ORACLE = "+oracle"
RELEASED = "-released"


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
    """A question put to the hits of one encoder."""

    encoder: str
    question: Question
    ours: Hits
    theirs: Hits


class Answer(NamedTuple):
    """What was found for one encoder; `by_seed` is the difference of each seed, in the unit of the scores."""

    encoder: str
    question: Question
    comparison: Comparison
    by_seed: dict[int, float]


def compare_methods(
    hits: Mapping[tuple[str, str], Hits], settings: EvaluationSettings, made: Mapping[str, object]
) -> list[Record]:
    """Records of each question: difference with interval, and by seed; p of bootstrap and of sign test.

    Scores are means over seeds and directions of each sentence pair; intervals and p take the trained models
    as fixed, and the differences by seed tell how much that leaves out. Both p are corrected by Holm over all
    questions of one task and data set, i.e. of one table of the report.

    Args:
        hits: {(encoder, method): per-item hits}.
        settings: resampling.
        made: ends the signatures.
    """
    methods: dict[str, list[str]] = defaultdict(list)
    for encoder, method in hits:
        methods[encoder].append(method)
    contests: dict[tuple[str, str], list[Contest]] = defaultdict(list)
    for encoder, names in methods.items():
        for question in questions(names):
            ours, theirs = hits[encoder, question.method], hits[encoder, question.baseline]
            for task, dataset in dict.fromkeys(key[:2] for key in ours):
                mine = _chosen(ours, task, dataset, question.view)
                other = _chosen(theirs, task, dataset, question.baseline_view)
                contests[task, dataset].append(Contest(encoder, question, mine, other))
    how = {
        "test": "paired-bootstrap",
        "resamples": settings.resamples,
        "confidence": settings.confidence,
        "resampling_seed": settings.seed,
        **made,
    }
    records: list[Record] = []
    for (task, dataset), asked in contests.items():
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
        records += _records(task, dataset, answers, how)
    return records


def _chosen(hits: Hits, task: str, dataset: str, view: str) -> Hits:
    return {k: v for k, v in hits.items() if (k.task, k.dataset, k.view) == (task, dataset, view)}


def _by_seed(ours: Hits, theirs: Hits) -> dict[int, float]:
    """Paired difference of each seed that both have; what has one seed only stands against every seed."""
    mine, other = _seeds(ours), _seeds(theirs)
    if len(other) == 1:
        other = dict.fromkeys(mine, next(iter(other.values())))
    elif len(mine) == 1:
        mine = dict.fromkeys(other, next(iter(mine.values())))
    return {seed: mean(subtract(mine[seed], other[seed])) for seed in sorted(mine.keys() & other.keys())}


def _seeds(hits: Hits) -> dict[int, dict[str, Scores]]:
    return {
        seed: strata({key: found for key, found in hits.items() if key.seed == seed})
        for seed in {key.seed for key in hits}
    }


def _records(
    task: str, dataset: str, answers: Sequence[Answer], how: Mapping[str, object]
) -> Iterator[Record]:
    ps = holm([answer.comparison.p for answer in answers])
    sign_ps = holm([answer.comparison.sign_p for answer in answers])
    for (encoder, question, comparison, by_seed), p, sign_p in zip(answers, ps, sign_ps, strict=True):
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
            metric=f"difference:{question.baseline}",
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
        yield replace(plain, metric=f"p:{question.baseline}", value=p, signature=signature)
        exact = sign({**against, **how, "test": "sign-exact"})
        yield replace(plain, metric=f"sign:{question.baseline}", value=sign_p, signature=exact)
