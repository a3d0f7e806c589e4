"""Which numbers of a paper's tables a preset measures, counted before anything runs.

The cells are those of `orthoglot.study.papers.measured`, filled from records as the preset's jobs would write them,
with no numbers in them. So a cell counts if the preset has its encoder, its method, its task, and all of its text: a
part of its languages, or a test set that stands in for the paper's, does not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import NamedTuple

from orthoglot.encoders.settings import EncoderEntry
from orthoglot.statistics.records import GROUPS, Record
from orthoglot.study.benchmarks.base import Benchmark, WithPivot
from orthoglot.study.benchmarks.graded import GradedSettings
from orthoglot.study.benchmarks.kinds.mining import MiningSettings
from orthoglot.study.benchmarks.kinds.nway import NwaySettings
from orthoglot.study.benchmarks.kinds.pool import PoolSettings
from orthoglot.study.benchmarks.labelled_settings import ClassificationSettings
from orthoglot.study.finetuning.settings import FINE_TUNED
from orthoglot.study.papers.matching import Run
from orthoglot.study.papers.measured import NO_LANGUAGE, REASONS, cells
from orthoglot.study.papers.published import Paper, printed_numbers
from orthoglot.study.report.comparisons import ORIGINAL
from orthoglot.study.report.frame import Measured, Name
from orthoglot.study.tasks.transfer import name_of_taught
from orthoglot.training.settings import MethodSettings

STAND_IN = "stand-in"
WHY = REASONS | {STAND_IN: "another part of the data set stands in for the paper's"}
# The kinds of benchmarks that a task reads, where they are not called as the task is.
KINDS = {
    "tatoeba": {"local", "mini"},
    "paracrawl": {"local", "opus"},
    "geometry": {"nway"},
    "lareqa": {"pool"},
    "classification-logistic": {"classification"},
}
# Tasks on held-out sentence pairs, and whether they count both directions.
HELD_OUT = {"heldout": True, "paracrawl": True, "translation-cosine": False, "mining": False}


class Count(NamedTuple):
    """The numbers of one table."""

    table: str  # its number in the paper
    printed: int  # how many numbers it has
    measured: int  # how many of them the preset measures
    missing: Counter[tuple[str, str]]  # the others, by encoder of the paper and reason


class Planned(NamedTuple):
    """What a preset measures one of its encoders on."""

    settings: EncoderEntry
    benchmarks: Mapping[str, Benchmark]  # test sets, by entry
    pairs: Sequence[str]  # language pairs of its text
    tuned: Mapping[str, Benchmark]  # test sets that it is fine-tuned for, by entry


def reachable(
    paper: Paper,
    encoders: Mapping[str, Planned],
    methods: Mapping[str, MethodSettings],
    tasks: Collection[str],
) -> list[Count]:
    """Count the numbers of each table that a preset measures; no table if it measures nothing of a paper's tasks.

    Args:
        paper: A paper without variants.
        encoders: The encoders of the preset, by entry.
        methods: The methods that it reports, by entry.
        tasks: The tasks of its evaluation.
    """
    numbers = printed_numbers(paper.name)
    columns = {(number.task, number.metric) for number in numbers if number.task in tasks}
    records = [
        record
        for encoder, planned in encoders.items()
        for task, metric in columns
        for method, settings in methods.items()
        for record in _records(encoder, planned, method, _definition(settings), (task, metric))
    ]
    tuned = {(number.task, number.metric) for number in numbers if number.method == FINE_TUNED}
    definition = {"architecture": FINE_TUNED, "partners": "none", "terms": ""}
    for encoder, planned in encoders.items():
        trained = planned._replace(benchmarks=planned.tuned, pairs=())
        for column in tuned if planned.tuned else ():
            records += _records(encoder, trained, FINE_TUNED, definition, column)
    if not records:
        return []
    reasons: dict[tuple[str, ...], str] = {}
    for cell in cells(Run(paper, Measured(records))):
        printed = cell.printed
        if printed.value:
            partial = NO_LANGUAGE if cell.missing else ""
            reason = cell.reason or partial or (STAND_IN if cell.stand_in else "")
            key = (printed.table, printed.encoder, *printed.row, printed.subset)
            # One encoder and reading of a method, of several, is enough.
            reasons[key] = reason and reasons.get(key, reason)
    counts = []
    for table in paper.tables:
        of_table = {key: reason for key, reason in reasons.items() if key[0] == table}
        missing = Counter((key[1], reason) for key, reason in of_table.items() if reason)
        counts.append(Count(table, len(of_table), len(of_table) - missing.total(), missing))
    return [count for count in counts if count.printed]


def _records(
    encoder: str, planned: Planned, method: str, definition: Mapping[str, str], column: tuple[str, str]
) -> Iterator[Record]:
    """A record of each number of a task and metric that a method's evaluation writes, without its value."""
    task, metric = column
    facts = dict(definition)
    if stands_for := planned.settings.stands_for:
        facts["stands_for"] = " ".join(stands_for)
    if checkpoint := getattr(planned.settings, "checkpoint", ""):
        facts["checkpoint"] = checkpoint.rstrip("/").rpartition("/")[2]
    kinds = KINDS.get(task, {task})
    data = {name: test for name, test in planned.benchmarks.items() if test.kind in kinds}
    parts = {name: (test.source, list(subsets_of(test, task))) for name, test in data.items()}
    if task in HELD_OUT and planned.pairs:
        parts["test"] = "", _directions(planned.pairs) if HELD_OUT[task] else list(planned.pairs)
    whole = definition["architecture"] in (ORIGINAL, FINE_TUNED)
    views = ("sentence",) if whole else ("meaning", "language")
    for dataset, (source, subsets) in parts.items():
        stated = facts | ({"source": source} if source else {})
        for view, subset in product(views, subsets):
            yield Name(encoder, method, view, task, dataset, metric).record(subset, None, 0.0, 0, stated)


def subsets_of(settings: Benchmark, task: str) -> Iterator[str]:
    """What a task's records of a benchmark call its parts."""
    if task == "geometry":
        yield from GROUPS
    elif isinstance(settings, ClassificationSettings):
        for taught, tested in settings.directions():
            yield f"{name_of_taught(taught, settings.names)}->{tested}"
    elif isinstance(settings, PoolSettings):
        yield from settings.asked or settings.languages
    elif isinstance(settings, WithPivot):
        yield from _directions([f"{settings.pivot}-{code}" for code in settings.languages])
    elif isinstance(settings, NwaySettings):
        yield from (f"{a}->{b}" for a, b in permutations(settings.languages, 2))
    elif isinstance(settings, GradedSettings | MiningSettings):
        yield from settings.pairs


def _directions(pairs: Sequence[str]) -> list[str]:
    return [
        direction for pair in pairs for a, b in [pair.split("-")] for direction in (f"{a}->{b}", f"{b}->{a}")
    ]


def _definition(settings: MethodSettings) -> dict[str, str]:
    """What records say of a method, as `orthoglot.study.tasks.evaluate` writes it."""
    terms = ",".join(f"{term}={weight:g}" for term, weight in sorted(settings.terms.items()))
    changed = any(value not in (None, "none", "total") for value in (settings.centre, settings.stopping))
    architecture = settings.architecture + (" changed" if changed else "")
    return {"architecture": architecture, "partners": settings.partners, "terms": terms}
