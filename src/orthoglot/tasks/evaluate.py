"""One encoder with one method: every task, every view, every seed, to records and per-item scores."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from orthoglot import __version__
from orthoglot.corpora.benchmarks import (
    GRADED,
    NwaySet,
    read_benchmark,
    read_code_switched,
    read_graded,
    read_nway,
    read_source,
)
from orthoglot.decomposers.base import Decomposer, load_decomposer
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import parse_pair
from orthoglot.progress import track
from orthoglot.statistics.records import VIEWS, View, write_records
from orthoglot.statistics.resampling import Scores
from orthoglot.statistics.settings import EvaluationSettings
from orthoglot.statistics.summary import NWAY, Key, Scored, summarise, write_scores
from orthoglot.tasks import geometry as geometry_task
from orthoglot.tasks import language_probe as classification
from orthoglot.tasks import leakage
from orthoglot.tasks.base import Result, Task, keys_of, view
from orthoglot.tasks.graded_pairs import Grading
from orthoglot.tasks.heldout import HeldOut, read_held_out
from orthoglot.tasks.projections import Map, TextMap, project, project_text, write_map, write_text_maps
from orthoglot.tasks.retrieval import Retrieval, distinct

RECORDS = "records.jsonl"
SCORES = "scores.npz"
MAP = "map.npz"
TEXT_MAPS = "text-maps.npz"
logger = logging.getLogger(__name__)


Models = Mapping[int, Decomposer | None]


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
) -> None:
    """Measure one method on one encoder's vectors.

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
    Raises:
        DataError: vectors of another encoder, a subset in which no vector is usable, a pair without unseen sentences.
    """
    store = EmbeddingStore.open(embeddings, identity)
    models: Models = {_seed(folder): _decomposer(folder, store) for folder in decomposers} or {0: None}
    views = VIEWS if decomposers else ("sentence",)
    held_out = read_held_out(bitext)
    tasks = make_tasks(settings, held_out, benchmarks)
    scored: Scored = {}
    facts: dict[Key, dict[str, object]] = {}
    label = f"evaluate {encoder} {method}"
    for task in track(tasks, total=len(tasks), label=label, unit="tasks"):
        found, about = score(task, store, models, views)
        scored |= found
        facts |= about
    if leakage.NAME in settings.tasks:
        found, about = measure_leaks(settings, held_out, store, models)
        scored |= found
        facts |= about
    sources = {folder.name: source for folder in benchmarks if (source := read_source(folder))}
    for key, stated in facts.items():
        if key.dataset in sources:
            stated["source"] = sources[key.dataset]
    made = {"encoder": store.meta["identity"], **_described(store, models), "orthoglot": __version__}
    records = summarise(scored, facts, settings, encoder=encoder, method=method, made=made)
    if geometry_task.NAME in settings.tasks:
        texts = [text for folder in benchmarks for text in read_nway(folder)]
        names = {"encoder": encoder, "method": method}
        records += geometry_task.measure(texts, store, models, settings, **names, made=made)
        write_text_maps(output / TEXT_MAPS, make_text_maps(settings, texts, store, models))
    write_records(output / RECORDS, records)
    # Leaks are not compared, so no one reads their scores again.
    kept = {key: found for key, found in scored.items() if key.task != leakage.NAME}
    write_scores(output / SCORES, kept)
    write_map(output / MAP, make_map(settings, held_out, store, next(iter(models.values()))))
    logger.info("%s: %d tasks, %d seeds, %d records", label, len(tasks), len(models), len(records))


def make_tasks(
    settings: EvaluationSettings, held_out: Mapping[str, HeldOut], benchmarks: Sequence[Path]
) -> list[Task]:
    """The tasks that the settings name, on the data at hand."""
    tasks: list[Task] = []
    if "heldout" in settings.tasks:
        for name, unseen in held_out.items():
            kept, repeated = distinct(unseen.pairs, settings.heldout_pairs)
            sides = [pair[0] for pair in kept], [pair[1] for pair in kept]
            dropped = {"duplicates_dropped": repeated, "seen_dropped": unseen.seen_dropped}
            tasks.append(Retrieval("heldout", "test", *parse_pair(name), *sides, dropped=dropped))
    if "tatoeba" in settings.tasks:
        for benchmark in (item for folder in benchmarks for item in read_benchmark(folder)):
            sides = benchmark.foreign_sentences, benchmark.pivot_sentences
            languages = benchmark.foreign, benchmark.pivot
            tasks.append(Retrieval("tatoeba", benchmark.name, *languages, *sides, pivot="target"))
    if NWAY in settings.tasks:
        for text in (item for folder in benchmarks for item in read_nway(folder)):
            tasks += _between_all(text)
    if "code-switched" in settings.tasks:
        for benchmark in (item for folder in benchmarks for item in read_code_switched(folder)):
            sides = benchmark.foreign_sentences, benchmark.pivot_sentences
            languages = benchmark.foreign, benchmark.pivot
            names = "code-switched", benchmark.name
            tasks.append(Retrieval(*names, *languages, *sides, pivot="target", both=False))
    for graded in (item for folder in benchmarks for item in read_graded(folder)):
        if graded.kind in settings.tasks:
            languages = graded.source, graded.target
            sides = graded.source_sentences, graded.target_sentences
            tasks.append(Grading(graded.kind, graded.name, *languages, *sides, graded.gold, graded.items))
    present = {task.name for task in tasks}
    if any(read_nway(folder) for folder in benchmarks):
        present.add(geometry_task.NAME)
    for name in (NWAY, "code-switched", *GRADED, geometry_task.NAME):
        if name in settings.tasks and name not in present:
            logger.warning("no benchmark for the task %s, which is left out", name)
    if "language-probe" in settings.tasks:
        tasks.append(_probe(settings, held_out))
    if not tasks and not {leakage.NAME, geometry_task.NAME} & set(settings.tasks):
        raise DataError(f"nothing to evaluate: no data for the tasks {', '.join(settings.tasks)}")
    return tasks


def _between_all(text: NwaySet) -> Iterator[Task]:
    for source, target in combinations(text.sentences, 2):
        sides = text.sentences[source], text.sentences[target]
        yield Retrieval(NWAY, text.name, source, target, *sides, pivot="line")


def score(
    task: Task, store: EmbeddingStore, models: Models, views: Iterable[View]
) -> tuple[Scored, dict[Key, dict[str, object]]]:
    """Scores of one task for every seed and view, and what the signatures say of them."""
    sides = task.sides()
    vectors = {side: store.take(store.rows(texts, language)) for side, (texts, language) in sides.items()}
    languages = {language for _, language in sides.values()}
    partners = {language: _other(languages, language) for language in languages}
    keys = task.keys()
    scored: Scored = {}
    facts: dict[Key, dict[str, object]] = {}
    own: Result | None = None
    for seed, decomposer in models.items():
        for name in views:
            if name == "sentence" and own is not None:  # the frozen vector is the same for every seed
                found = own
            else:
                seen = {
                    side: view(vectors[side], decomposer, language, name, partners[language])
                    for side, (_, language) in sides.items()
                }
                found = task.score(seen)
            if name == "sentence":
                own = found
            for subset, values in found.scores.items():
                key = Key(task.name, task.dataset, subset, name, seed, task.measure)
                scored[key] = Scores(values, keys)
                facts[key] = task.facts(subset) | found.facts
    return scored, facts


def _other(languages: Collection[str], language: str) -> str | None:
    """The other of two languages."""
    others = [other for other in languages if other != language]
    return others[0] if len(others) == 1 else None


def measure_leaks(
    settings: EvaluationSettings, held_out: Mapping[str, HeldOut], store: EmbeddingStore, models: Models
) -> tuple[Scored, dict[Key, dict[str, object]]]:
    """What the views of each held-out pair's sentences share, for every seed."""
    scored: Scored = {}
    facts: dict[Key, dict[str, object]] = {}
    for name, unseen in held_out.items():
        kept, _ = distinct(unseen.pairs, settings.heldout_pairs)
        if not kept:
            continue
        keys = np.tile(keys_of(pair[0] for pair in kept), 2)
        languages = parse_pair(name)
        texts = [(language, [pair[side] for pair in kept]) for side, language in enumerate(languages)]
        sides = [(language, store.take(store.rows(sentences, language))) for language, sentences in texts]
        for seed, decomposer in models.items():
            views = VIEWS if decomposer else ("sentence",)
            seen = {
                v: np.concatenate(
                    [view(rows, decomposer, code, v, _other(languages, code)) for code, rows in sides]
                )
                for v in views
            }
            parts = leakage.PairParts(seen["sentence"], seen.get("meaning"), seen.get("language"), keys)
            for found in leakage.leaks(parts, settings.seed):
                key = Key(leakage.NAME, "test", name, found.view, seed, found.measure)
                scored[key] = found.scores
                facts[key] = found.facts
    return scored, facts


def _seed(folder: Path) -> int:
    if not folder.name.removeprefix("seed").isdigit():
        raise ConfigError(f"{folder}: a decomposer's folder is called seed<k>, which says its seed")
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
    """What the records say of encoder and method, whatever their names: checkpoint, architecture, partners, terms."""
    decomposer = next(iter(models.values()))
    details = decomposer.details if decomposer else {}
    terms = (f"{term}={weight:g}" for term, weight in sorted(details.get("terms", {}).items()))
    checkpoint = store.meta.get("checkpoint")
    return {
        **({"checkpoint": checkpoint} if checkpoint else {}),
        "architecture": decomposer.architecture if decomposer else "original",
        "partners": details.get("partners", "none"),
        "terms": ",".join(terms),
    }


def _probe(settings: EvaluationSettings, held_out: Mapping[str, HeldOut]) -> Task:
    sentences: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for name, unseen in held_out.items():
        keys = keys_of(pair.source for pair in unseen.pairs).tolist()
        for side, language in enumerate(parse_pair(name)):
            sentences[language] += [(pair[side], key) for pair, key in zip(unseen.pairs, keys, strict=True)]
    return classification.sample(
        sentences,
        size=settings.probe_sentences,
        test_share=settings.probe_test_share,
        seed=settings.seed,
    )


def make_map(
    settings: EvaluationSettings,
    held_out: Mapping[str, HeldOut],
    store: EmbeddingStore,
    decomposer: Decomposer | None,
) -> Map:
    """A map of held-out sentences, equally many of each language pair."""
    parts: tuple[View, ...] = ("sentence",) if decomposer is None else ("meaning", "language")
    groups: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    for name, unseen in held_out.items():
        kept, _ = distinct(unseen.pairs, settings.map_sentences)
        languages = parse_pair(name)
        for side, language in enumerate(languages):
            vectors = store.take(store.rows([pair[side] for pair in kept], language))
            for part in parts:
                partner = _other(languages, language)
                groups[language, part].append(view(vectors, decomposer, language, part, partner))
    return project(groups)


def make_text_maps(
    settings: EvaluationSettings, texts: Sequence[NwaySet], store: EmbeddingStore, models: Models
) -> dict[str, TextMap]:
    """Maps of the meaning view, or of the encoder's own vectors, of each text with the first seed."""
    seed, decomposer = next(iter(models.items()))
    part: View = "sentence" if decomposer is None else "meaning"
    found = {}
    for text in texts:
        seen = geometry_task.look(text, store, {seed: decomposer}, part)
        found[text.name] = project_text(seen.directions[0], settings.seed)
    return found
