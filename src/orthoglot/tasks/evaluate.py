"""One encoder with one method: every task, every view, every seed, to records and per-item scores."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from orthoglot import __version__
from orthoglot.corpora.benchmarks import read_source
from orthoglot.decomposers import architecture as named
from orthoglot.decomposers.base import Decomposer, load_decomposer
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.errors import ConfigError, DataError
from orthoglot.progress import track
from orthoglot.statistics.records import VIEWS, View, write_records
from orthoglot.statistics.resampling import Scores
from orthoglot.statistics.summary import Blocks, Key, Scored, summarise, summarise_blocks, write_scores
from orthoglot.tasks.base import Task, TaskData, view
from orthoglot.tasks.geometry import Geometry
from orthoglot.tasks.heldout import UnseenPairs, distinct, read_held_out
from orthoglot.tasks.leakage import Leakage
from orthoglot.tasks.projections import Map, TextMap, project, project_text, write_map, write_text_maps
from orthoglot.tasks.quality import POOLED, QUALITY, Checks, pooled
from orthoglot.tasks.registry import TASKS
from orthoglot.tasks.settings import EvaluationSettings

RECORDS = "records.jsonl"
SCORES = "scores.npz"
MAP = "map.npz"
TEXT_MAPS = "text-maps.npz"
logger = logging.getLogger(__name__)


Models = Mapping[int, Decomposer | None]
AnyTask = Task | Leakage | Geometry


class Evaluated(NamedTuple):
    """What tasks found: per-item scores, metrics by block, maps of texts, and facts for the signatures."""

    scored: Scored
    blocks: dict[Key, Blocks]
    maps: dict[str, TextMap]
    facts: dict[Key, dict[str, object]]


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
    device: str = "cpu",
) -> None:
    """Evaluate one method on one encoder's vectors.

    Args:
        settings: tasks, sizes, resampling.
        embeddings: the encoder's store.
        bitext: prepared folders, one per language pair; those of their test pairs are used of which
            neither side occurs in the train or valid part of any folder.
        benchmarks: collected benchmark folders.
        decomposers: one folder "seed<k>" per seed; empty for the encoder's own vectors.
        encoder: name for the records.
        identity: of the encoder; a store of another one is refused.
        method: name for the records.
        output: gets records.jsonl, scores.npz (see `write_scores`), map.npz (2-D points of a sample) and, for the task
            geometry, text-maps.npz.
        device: of searches for neighbours; changes no result.
    Raises:
        DataError: vectors of another encoder, a subset in which no vector is usable, a pair without unseen sentences.
    """
    store = EmbeddingStore.open(embeddings, identity)
    models: Models = {_seed(folder): _decomposer(folder, store) for folder in decomposers} or {0: None}
    held_out = read_held_out(bitext)
    tasks = make_tasks(settings, held_out, benchmarks, device)
    label = f"evaluate {encoder} {method}"
    found = run(track(tasks, total=len(tasks), label=label, unit="tasks"), settings, store, models)
    sources = {folder.name: source for folder in benchmarks if (source := read_source(folder))}
    for key, stated in found.facts.items():
        if key.dataset in sources:
            stated["source"] = sources[key.dataset]
    names = {"encoder": encoder, "method": method}
    made = {"encoder": store.meta["identity"], **_described(store, models), "orthoglot": __version__}
    records = summarise(found.scored, found.facts, settings, **names, made=made)
    records += summarise_blocks(found.blocks, found.facts, settings, **names, made=made)
    write_records(output / RECORDS, records)
    # Leaks and checks are not compared between methods, so no later step reads their scores.
    leaks = {task.name for task in tasks if isinstance(task, Leakage)}
    kept = {
        key: one
        for key, one in found.scored.items()
        if key.task not in leaks and key.measure not in (QUALITY, POOLED)
    }
    write_scores(output / SCORES, kept)
    write_map(output / MAP, make_map(settings, held_out, store, next(iter(models.values()))))
    if any(isinstance(task, Geometry) for task in tasks):
        write_text_maps(output / TEXT_MAPS, found.maps)
    logger.info("%s: %d tasks, %d seeds, %d records", label, len(tasks), len(models), len(records))


def make_tasks(
    settings: EvaluationSettings,
    held_out: Mapping[str, UnseenPairs],
    benchmarks: Sequence[Path],
    device: str = "cpu",
) -> list[AnyTask]:
    """The tasks that the settings name, on the data at hand, in the order of the registry.

    Raises:
        DataError: no task has data.
    """
    data = TaskData(held_out, benchmarks, device)
    tasks: list[AnyTask] = []
    for name, entry in TASKS.items():
        if name in settings.tasks:
            made = entry.load()(name, settings, data)
            tasks += made
            if not made:
                logger.warning("no data for the task %s, which is left out", name)
    if not tasks:
        raise DataError(f"nothing to evaluate: no data for the tasks {', '.join(settings.tasks)}")
    return tasks


def run(
    tasks: Iterable[AnyTask], settings: EvaluationSettings, store: EmbeddingStore, models: Models
) -> Evaluated:
    """Scores of all tasks, for every seed and view."""
    views = VIEWS if all(models.values()) else ("sentence",)
    found = Evaluated({}, {}, {}, {})
    for task in tasks:
        stored = {side: store.take(store.rows(*text)) for side, text in task.sides().items()}
        if isinstance(task, Geometry):
            _score_geometry(task, stored, settings, models, found)
        elif isinstance(task, Leakage):
            for seed, decomposer in models.items():
                parts = {name: _seen(task, stored, decomposer, name) for name in views}
                for leak in task.score(parts):
                    key = Key(task.name, task.dataset, task.pairs.pair, leak.view, seed, leak.measure)
                    found.scored[key], found.facts[key] = leak.scores, leak.facts
        else:
            _score_views(task, stored, models, views, found)
    for key, scores in pooled(found.scored).items():
        found.scored[key], found.facts[key] = scores, {"prediction": "cosine", "means": "fixed"}
    return found


def _score_views(
    task: Task, stored: Mapping[str, np.ndarray], models: Models, views: Iterable[View], found: Evaluated
) -> None:
    keys = task.keys()
    whole = task.score(_seen(task, stored, None, "sentence"))  # the same for every seed
    for seed, decomposer in models.items():
        for name in views:
            result = whole if name == "sentence" else task.score(_seen(task, stored, decomposer, name))
            for subset, values in result.scores.items():
                key = Key(task.name, task.dataset, subset, name, seed, task.measure)
                found.scored[key] = Scores(values, keys)
                found.facts[key] = task.facts(subset) | result.facts


def _score_geometry(
    task: Geometry,
    stored: Mapping[str, np.ndarray],
    settings: EvaluationSettings,
    models: Models,
    found: Evaluated,
) -> None:
    # The evaluation without a decomposer has the sentence view.
    views: tuple[View, ...] = ("meaning", "language") if all(models.values()) else ("sentence",)
    for name in views:
        by_seed = [_seen(task, stored, one, name, paired=False) for one in models.values()]
        directions = task.directions(by_seed, name)
        if name != "language":
            found.maps[task.dataset] = project_text(directions[0], settings.seed)
        for group, metrics, facts in task.score(directions):
            for seed, one in zip(models, metrics, strict=True):
                key = Key(task.name, task.dataset, group, name, seed, task.name)
                found.blocks[key], found.facts[key] = one, facts


def _seen(
    task: AnyTask,
    stored: Mapping[str, np.ndarray],
    decomposer: Decomposer | None,
    name: View,
    paired: bool = True,
) -> dict[str, np.ndarray]:
    """One view of the vectors of every side; `paired`: of two languages, each is the other's partner."""
    codes = {side: language for side, (_, language) in task.sides().items()}
    if isinstance(task, Checks):
        codes |= task.taken_for
    return {
        side: view(
            stored[side], decomposer, code, name, _other(set(codes.values()), code) if paired else None
        )
        for side, code in codes.items()
    }


def _other(languages: Collection[str], language: str) -> str | None:
    """The other of two languages."""
    others = [other for other in languages if other != language]
    return others[0] if len(others) == 1 else None


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
    terms = (f"{term}={weight:g}" for term, weight in sorted(details.get("terms", {}).items()))
    about = {name: store.meta.get(name) for name in ("checkpoint", "bits")}
    architecture = decomposer.architecture if decomposer else "original"
    if details.get("terms"):
        # With what the papers' methods do not have, so that their definitions are not equalled.
        architecture += _departures(architecture, details)
    return {
        **{name: str(value) for name, value in about.items() if value},
        "architecture": architecture,
        "partners": details.get("partners", "none"),
        "terms": ",".join(terms),
        **{f"trained_{name}": details[name] for name in ("code", "text") if name in details},
    }


def _departures(architecture: str, details: Mapping[str, Any]) -> str:
    """In words, how a trained method departs from the papers' reading of its terms; empty if it does not."""
    found = []
    if (centre := details.get("centre", "none")) != "none":
        found.append(f"of vectors with centre {centre}")
    if "start" in details:
        found.append("from the discriminant")
    if (stopping := details.get("stopping", "total")) != "total":
        found.append(f"stopped by {stopping}")
    found += [f"with {name} {details[name]}" for name in named(architecture).settings if name in details]
    return " " + ", ".join(found) if found else ""


def make_map(
    settings: EvaluationSettings,
    held_out: Mapping[str, UnseenPairs],
    store: EmbeddingStore,
    decomposer: Decomposer | None,
) -> Map:
    """A map of held-out sentences, equally many of each language pair."""
    parts: tuple[View, ...] = ("sentence",) if decomposer is None else ("meaning", "language")
    groups: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    for name, unseen in held_out.items():
        kept, _ = distinct(name, unseen, settings.map_sentences)
        for language, sentences in kept.sides():
            vectors = store.take(store.rows(sentences, language))
            for part in parts:
                partner = _other([kept.source, kept.target], language)
                groups[language, part].append(view(vectors, decomposer, language, part, partner))
    return project(groups)
