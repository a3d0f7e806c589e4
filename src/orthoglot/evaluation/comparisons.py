"""What one method adds to another on the same sentences, as records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from orthoglot.evaluation.base import ALL, Record, sign
from orthoglot.evaluation.resampling import Comparison, compare, holm
from orthoglot.evaluation.settings import EvaluationSettings
from orthoglot.evaluation.summary import Hits, strata
from orthoglot.streams import derive

ORIGINAL = "original"
ORACLE = "+oracle"


class Question(NamedTuple):
    """Does `method`'s view differ from `baseline`'s?"""

    method: str
    view: str
    baseline: str
    baseline_view: str


def questions(methods: Sequence[str]) -> Iterator[Question]:
    """Host with ORACLE against its host (meaning, language); every method's meaning against the original."""
    for method in methods:
        host = method.removesuffix(ORACLE)
        if host != method and host in methods:
            yield Question(method, "meaning", host, "meaning")
            yield Question(method, "language", host, "language")
        if method != ORIGINAL and ORIGINAL in methods:
            yield Question(method, "meaning", ORIGINAL, "sentence")


def compare_methods(
    hits: Mapping[tuple[str, str], Hits], settings: EvaluationSettings, made: Mapping[str, object]
) -> list[Record]:
    """Three records per question: difference with interval, paired-bootstrap p, McNemar p.

    Scores are means over seeds and directions of each sentence pair. Both p are corrected by Holm over all
    questions of one task and data set, i.e. of one table of the report.

    Args:
        hits: {(encoder, method): per-item hits}.
        settings: resampling.
        made: ends the signatures.
    """
    answers: dict[tuple[str, str], list[tuple[str, Question, Comparison]]] = defaultdict(list)
    methods: dict[str, list[str]] = defaultdict(list)
    for encoder, method in hits:
        methods[encoder].append(method)
    for encoder, names in methods.items():
        for question in questions(names):
            ours, theirs = hits[encoder, question.method], hits[encoder, question.baseline]
            for task, dataset in dict.fromkeys(key[:2] for key in ours):
                answer = compare(
                    _strata(ours, task, dataset, question.view),
                    _strata(theirs, task, dataset, question.baseline_view),
                    resamples=settings.resamples,
                    confidence=settings.confidence,
                    generator=np.random.default_rng(
                        derive(settings.seed, "compare", task, dataset, *question)
                    ),
                )
                answers[task, dataset].append((encoder, question, answer))
    how = {
        "test": "paired-bootstrap",
        "resamples": settings.resamples,
        "confidence": settings.confidence,
        "resampling_seed": settings.seed,
        **made,
    }
    return [record for table in answers for record in _records(*table, answers[table], how)]


def _strata(hits: Hits, task: str, dataset: str, view: str) -> dict[str, np.ndarray]:
    chosen = {k: v for k, v in hits.items() if (k.task, k.dataset, k.view) == (task, dataset, view)}
    return strata(chosen, f"{task} ")


def _records(
    task: str, dataset: str, answers: Sequence[tuple[str, Question, Comparison]], how: Mapping[str, object]
) -> Iterator[Record]:
    corrected = holm([answer.p for *_, answer in answers])
    corrected_mcnemar = holm([answer.mcnemar for *_, answer in answers])
    for (encoder, question, answer), p, mcnemar in zip(answers, corrected, corrected_mcnemar, strict=True):
        value, low, high = (round(100 * number, 6) for number in answer.difference[:3])
        against = {"baseline": question.baseline, "baseline_view": question.baseline_view}
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
            n=answer.difference.n,
            signature=sign({**against, **how}),
        )
        yield record
        correction = {"correction": f"holm-of-{len(answers)}"}
        signature = sign({**against, **correction, **how})
        p_only = replace(record, low=None, high=None, signature=signature)
        yield replace(p_only, metric=f"p:{question.baseline}", value=p)
        exact = sign({**against, **correction, **how, "test": "mcnemar-exact"})
        yield replace(p_only, metric=f"mcnemar:{question.baseline}", value=mcnemar, signature=exact)
