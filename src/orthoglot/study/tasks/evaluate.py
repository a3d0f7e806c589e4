"""One encoder with one method: every task, every view, every seed, to records and per-item scores."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from orthoglot import __version__
from orthoglot.decomposers import architecture as named
from orthoglot.decomposers.base import Decomposer, load_decomposer
from orthoglot.decomposers.views import view
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.errors import ConfigError, DataError
from orthoglot.progress import track
from orthoglot.statistics.records import View, write_records
from orthoglot.statistics.resampling import Scores
from orthoglot.statistics.summary import Blocks, Key, Scored, summarise, write_scores
from orthoglot.study.benchmarks.collected import read_source
from orthoglot.study.tasks.base import AnyTask, Task, TaskData, Vectors, WholeTask, by_view, other
from orthoglot.study.tasks.examples import EXAMPLES, Shown, write_examples
from orthoglot.study.tasks.projections import Map, TextMap, project, project_pair, write_map, write_text_maps
from orthoglot.study.tasks.registry import is_compared, load, measures
from orthoglot.study.tasks.settings import EvaluationSettings
from orthoglot.text.held_out import read_held_out

RECORDS = "records.jsonl"
SCORES = "scores.npz"
MAP = "map.npz"
PAIR_MAP = "pair-map.npz"
TEXT_MAPS = "text-maps.npz"
logger = logging.getLogger(__name__)


Models = Mapping[int, Decomposer | None]


class Evaluated(NamedTuple):
    """What tasks found: per-item scores, metrics by block, maps of texts, facts for the records, and examples."""

    scored: Scored
    blocks: dict[Key, Blocks]
    maps: dict[str, TextMap]
    facts: dict[Key, dict[str, object]]
    examples: list[Shown]


def evaluate(
    settings: EvaluationSettings,
    embeddings: Path,
    bitext: Sequence[Path],
    benchmarks: Sequence[Path],
    decomposers: Sequence[Path],
    *,
    encoder: str,
    identity: str,
    method: str,
    output: Path,
    stands_for: Sequence[str] = (),
    device: str = "cpu",
) -> None:
    """Evaluate one method on one encoder's vectors.

    Args:
        settings: Tasks, sizes, resampling.
        embeddings: The encoder's store.
        bitext: Prepared folders, one per language pair. Their test pairs are used if neither side occurs in the train
            or valid part of any folder.
        benchmarks: Collected benchmark folders.
        decomposers: One folder "seed<k>" per seed; empty for the encoder's own vectors.
        encoder, method: Names for the records.
        identity: Of the encoder; a store of another one is refused.
        output: Gets records.jsonl, scores.npz (see `write_scores`), map.npz and pair-map.npz (2-D points of samples),
            examples.json (see `Shown`) and, for the task geometry, text-maps.npz.
        stands_for: Encoders of the papers' tables in whose rows the numbers stand; records state them.
        device: Of searches for neighbours; changes no result.
    Raises:
        DataError: Vectors of another encoder, a subset in which no vector is usable, a pair without unseen sentences.
    """
    store = EmbeddingStore.open(embeddings, identity)
    models: Models = {_seed(folder): _decomposer(folder, store) for folder in decomposers} or {0: None}
    data = TaskData(settings, read_held_out(bitext), benchmarks, device)
    tasks = make_tasks(data)
    label = f"evaluate {encoder} {method}"
    evaluated = run(track(tasks, total=len(tasks), label=label, unit="tasks"), store, models)
    sources = {folder.name: source for folder in benchmarks if (source := read_source(folder))}
    for key, stated in evaluated.facts.items():
        if key.dataset in sources:
            stated["source"] = sources[key.dataset]
    made = {"identity": store.meta["identity"], **_described(store, models), "orthoglot": __version__}
    if stands_for:
        made["stands_for"] = " ".join(stands_for)
    records = summarise(
        evaluated.scored,
        evaluated.facts,
        settings,
        encoder=encoder,
        method=method,
        made=made,
        measures=measures(settings.tasks),
        blocks=evaluated.blocks,
    )
    write_records(output / RECORDS, records)
    # No later step reads the scores by which methods are not compared.
    compared = {key: scores for key, scores in evaluated.scored.items() if is_compared(key.task, key.measure)}
    write_scores(output / SCORES, compared)
    drawn, pair = make_maps(data, store, next(iter(models.values())))
    write_map(output / MAP, drawn)
    if pair is not None:
        write_map(output / PAIR_MAP, pair)
    write_examples(output / EXAMPLES, evaluated.examples)
    if evaluated.maps:
        write_text_maps(output / TEXT_MAPS, evaluated.maps)
    logger.info("%s: %d tasks, %d seeds, %d records", label, len(tasks), len(models), len(records))


def make_tasks(data: TaskData) -> list[AnyTask]:
    """The tasks that the settings name, on the data at hand, in their order; a DataError if no task has data."""
    tasks: list[AnyTask] = []
    for name in dict.fromkeys(data.settings.tasks):
        made = load(name).make(name, data)
        tasks += made
        if not made:
            logger.warning("no data for the task %s, which is left out", name)
    if not tasks:
        raise DataError(f"nothing to evaluate: no data for the tasks {', '.join(data.settings.tasks)}")
    return tasks


def run(tasks: Iterable[AnyTask], store: EmbeddingStore, models: Models) -> Evaluated:
    """What all tasks find, for every seed and view."""
    evaluated = Evaluated({}, {}, {}, {}, [])
    for task in tasks:
        vectors = Vectors(task, store, models)
        findings = task.findings if isinstance(task, WholeTask) else partial(by_view, cast(Task, task))
        for finding in findings(vectors):
            key = Key(task.name, task.dataset, finding.subset, finding.view, finding.seed, finding.measure)
            match finding.scores:
                case TextMap() as text_map:
                    evaluated.maps[task.dataset] = text_map
                case list() as examples:
                    evaluated.examples.extend(Shown(*key[:4], texts=texts) for texts in examples)
                case Scores() as scores:
                    evaluated.scored[key], evaluated.facts[key] = scores, finding.facts
                case Blocks() as blocks:
                    evaluated.blocks[key], evaluated.facts[key] = blocks, finding.facts
    for name in dict.fromkeys(key.task for key in evaluated.scored):
        if pooled := getattr(load(name), "pooled", None):
            for key, scores, facts in pooled(evaluated.scored):
                evaluated.scored[key], evaluated.facts[key] = scores, facts
    return evaluated


def _seed(folder: Path) -> int:
    if not folder.name.removeprefix("seed").isdigit():
        raise ConfigError(f"{folder}: a decomposer's folder is named seed<k>, k its seed")
    return int(folder.name.removeprefix("seed"))


def _decomposer(folder: Path, store: EmbeddingStore) -> Decomposer:
    decomposer = load_decomposer(folder)
    made_by = store.meta["identity"]
    if decomposer.identity != made_by:
        raise DataError(
            f"{folder}: trained on vectors of encoder {decomposer.identity}, the store holds {made_by}"
        )
    return decomposer


def _described(store: EmbeddingStore, models: Models) -> dict[str, str]:
    """What the records say of encoder and method, whatever their names.

    The checkpoint, the bits of rounded weights, architecture, partners and terms; digests of the code that trained the
    method and of the sentences that it was trained on, so that two records of one method can be told apart.
    """
    decomposer = next(iter(models.values()))
    details = decomposer.details if decomposer else {}
    terms = details.get("terms", {})
    architecture = decomposer.architecture if decomposer else "original"
    if terms:
        # It names what the papers' methods do not have, so that it equals none of their definitions.
        architecture += _departures(architecture, details)
    facts = {
        "architecture": architecture,
        "partners": details.get("partners", "none"),
        "terms": ",".join(f"{term}={weight:g}" for term, weight in sorted(terms.items())),
    }
    facts |= {name: str(store.meta[name]) for name in ("checkpoint", "bits") if store.meta.get(name)}
    if "learning_rate" in details:
        facts["training"] = f"{details['max_epochs']} epochs at {details['learning_rate']:g}"
    return facts | {f"trained_{name}": details[name] for name in ("code", "text") if name in details}


def _departures(architecture: str, details: Mapping[str, Any]) -> str:
    """How a trained method departs from the papers' reading of its terms, in words; empty if it does not."""
    departures = []
    if (centre := details.get("centre", "none")) != "none":
        departures.append(f"of vectors with centre {centre}")
    if (stopping := details.get("stopping", "total")) != "total":
        departures.append(f"stopped by {stopping}")
    fields = named(architecture).settings.model_fields
    departures += [f"with {name} {details[name]}" for name in fields if name in details]
    return " " + ", ".join(departures) if departures else ""


def make_maps(data: TaskData, store: EmbeddingStore, decomposer: Decomposer | None) -> tuple[Map, Map | None]:
    """A map of held-out sentences, equally many of each language pair; and one of a pair alone.

    It is the pair with the most of these sentences, the last by name if there are several.
    """
    parts: tuple[View, ...] = ("sentence",) if decomposer is None else ("meaning", "language")
    groups: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    alone: dict[tuple[int, str], dict[tuple[str, str], np.ndarray]] = {}
    for pairs, _ in data.held_out_sets(data.settings.map_sentences):
        views = alone.setdefault((len(pairs.source_sentences), pairs.pair), {})
        for language, sentences in pairs.sides():
            vectors = store.take(store.rows(sentences, language))
            for part in parts:
                partner = other([pairs.source, pairs.target], language)
                views[language, part] = view(vectors, decomposer, language, part, partner)
                groups[language, part].append(views[language, part])
    return project(groups), project_pair(alone[max(alone)])
