"""What a report is made of: the results of jobs, read from disk into one value."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from orthoglot.errors import DataError
from orthoglot.statistics.records import Record, read_records
from orthoglot.statistics.summary import Scored, read_scores
from orthoglot.study.report.corpus_tables import Counts, read_counts
from orthoglot.study.report.plots import History
from orthoglot.study.tasks.examples import EXAMPLES, Shown, read_examples
from orthoglot.study.tasks.projections import Map, TextMap, read_map, read_text_maps
from orthoglot.study.tasks.settings import EvaluationSettings

# The name of an encoder and of a method.
Evaluation = tuple[str, str]


class Sources(NamedTuple):
    """What to report: what jobs wrote, and the settings of the report."""

    evaluations: Sequence[Path]  # folders that `evaluate` wrote, one per encoder and method
    histories: Sequence[Path]  # history.jsonl, or its folder: .../<encoder>/<method>/seed<k> or .../<encoder>
    counts: Sequence[Path]  # prepared folders, or their counts.json, called by language pair
    title: str  # title of the page, e.g. "orthoglot, preset mini"
    settings: EvaluationSettings  # resampling of the comparisons
    methods: Mapping[str, str | None]  # {method: its host, to which it adds terms}, in order of the tables
    selected: Sequence[str]  # methods under test, which metrics.json averages over; without the baselines
    licences: Mapping[str, str]  # {data or checkpoint used: its licence}
    text: Sequence[Path] = ()  # prepared text folders, or their counts.json
    invented: Collection[str] = ()  # test sets whose languages are invented
    fine_tuned: Sequence[Path] = ()  # folders with the records of fine-tuned encoders, which are not compared
    known: Mapping[str, Sequence[str]] = MappingProxyType({})  # languages that each encoder states, if any


class Gathered(NamedTuple):
    """The content of all sources; encoders in the order of the evaluations, methods in the order of the preset."""

    sources: Sources
    records: list[Record]
    scores: dict[Evaluation, Scored]
    examples: dict[Evaluation, list[Shown]]
    maps: dict[Evaluation, Map]
    pair_maps: dict[Evaluation, Map]  # maps of one language pair, if an evaluation has one
    text_maps: dict[str, dict[Evaluation, TextMap]]  # {text in many languages: maps}
    fine_tuned: list[Record]
    trainings: list[History]
    pairs: list[Counts]  # counts of language pairs
    texts: list[Counts]  # counts of text without translations


def gather(sources: Sources) -> Gathered:
    """Read all sources.

    Raises:
        DataError: no evaluation, two of the same encoder and method, or one of a method that is not in `methods`.
    """
    evaluated = _evaluations(sources)
    folders = {name: folder for name, (_, folder) in evaluated.items()}
    text_maps: dict[str, dict[Evaluation, TextMap]] = {}
    for name, folder in folders.items():
        for dataset, text_map in read_text_maps(folder / "text-maps.npz").items():
            text_maps.setdefault(dataset, {})[name] = text_map
    return Gathered(
        sources=sources,
        records=[record for records, _ in evaluated.values() for record in records],
        scores={name: read_scores(folder / "scores.npz") for name, folder in folders.items()},
        examples={name: read_examples(folder / EXAMPLES) for name, folder in folders.items()},
        maps={name: read_map(folder / "map.npz") for name, folder in folders.items()},
        pair_maps={
            name: read_map(path)
            for name, folder in folders.items()
            if (path := folder / "pair-map.npz").is_file()
        },
        text_maps=text_maps,
        fine_tuned=[record for folder in sources.fine_tuned for record in read_records(folder)],
        trainings=[read_history(path) for path in sources.histories],
        pairs=[read_counts(path) for path in sources.counts],
        texts=[read_counts(path) for path in sources.text],
    )


def read_history(path: Path) -> History:
    """A training's history, named by its folder; a decomposer's file says how it ended.

    Raises:
        DataError: not a history.
    """
    file = path / "history.jsonl" if path.is_dir() else path
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        decomposer = file.with_name("decomposer.json")
        details = json.loads(decomposer.read_text(encoding="utf-8"))["details"] if decomposer.exists() else {}
    except (OSError, json.JSONDecodeError) as error:
        raise DataError(f"{file}: not a training history ({error})") from error
    names = file.parent.parts
    if names[-1].startswith("seed"):
        seed = int(names[-1].removeprefix("seed"))
        return History(names[-3], names[-2], seed, rows, details.get("stopped", ""))
    return History(names[-1], "pretraining", None, rows)


def _evaluations(sources: Sources) -> dict[Evaluation, tuple[list[Record], Path]]:
    """The records and the folder of each evaluation, in the order of the tables."""
    methods = list(sources.methods)
    evaluated: dict[Evaluation, tuple[list[Record], Path]] = {}
    for folder in sources.evaluations:
        records = read_records(folder)
        if not records:
            raise DataError(f"{folder}: no record")
        name = records[0].encoder, records[0].method
        if name in evaluated:
            raise DataError(f"report: {evaluated[name][1]} and {folder} both evaluate {' with '.join(name)}")
        if name[1] not in methods:
            raise DataError(f"{folder}: evaluates {name[1]}, but the methods are {', '.join(methods)}")
        evaluated[name] = records, folder
    if not evaluated:
        raise DataError("report: no evaluation to report")
    encoders = list(dict.fromkeys(encoder for encoder, _ in evaluated))
    order = sorted(evaluated, key=lambda name: (encoders.index(name[0]), methods.index(name[1])))
    return {name: evaluated[name] for name in order}
