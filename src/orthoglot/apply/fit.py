"""Fit a decomposer to one's own bitext: clean, split, encode, train, measure, into one folder that stands alone."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from orthoglot import __version__, atomic, receipts
from orthoglot.apply.encoder_copy import Checkpoint, copy_encoder, licence_of
from orthoglot.apply.held_out_retrieval import further, held_out, retrieval
from orthoglot.apply.ready import Ready
from orthoglot.corpora.prepare import PrepareSettings, prepare
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.decomposers.base import load_decomposer, unit
from orthoglot.embeddings.embed import bitext_texts, embed
from orthoglot.embeddings.settings import EmbeddingSettings
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.base import resolve_device
from orthoglot.encoders.folder import ENCODER, card, identity, locate
from orthoglot.errors import ConfigError, DataError
from orthoglot.formats.base import Source
from orthoglot.formats.sources import read_source
from orthoglot.languages import parse_pair
from orthoglot.statistics.records import Record, read_records, write_records
from orthoglot.text.bitext import SentencePair
from orthoglot.text.shifts import WINDOW, Run, find_runs_of_vectors, said
from orthoglot.text.splitting import SplitSettings
from orthoglot.training.decompose import collect, fit_decomposer, write
from orthoglot.training.settings import DecompositionSettings, MethodSettings

MADE, RECORDS = "fit.json", "records.jsonl"
CLEANING = CleaningSettings(min_characters=2, max_ratio=4.0)
EVERYTHING = 1 << 62  # more training pairs than there are
logger = logging.getLogger(__name__)


def fit(
    encoder: Checkpoint,
    bitext: Mapping[str, list[Source]],
    name: str,
    method: MethodSettings,
    recipe: DecompositionSettings,
    splits: SplitSettings,
    *,
    seed: int,
    device: str,
    checkpoint: Path,
    output: Path,
    start: Ready | None = None,
    realign: bool = False,
) -> list[Record]:
    """Write a model folder that `orthoglot.load` opens wherever it lies, and measure it on its test part.

    The folder holds decomposer.json, weights.safetensors and history.jsonl as a workflow's decomposer does, the
    encoder under encoder/ (a checkpoint folder is copied, a hub id at a commit stays one), records.jsonl, and
    fit.json, which says what it was made of. The same call finds it done; another one does not replace it.

    Args:
        encoder: The encoder whose vectors are split.
        bitext: {language pair: texts}, as `early_checks.texts_by_pair` makes them.
        name: The name of the method, for the record.
        method: Architecture, partner rule and weighted terms.
        recipe: How to train.
        splits: Shares held out by hash of the pivot sentence, and caps.
        seed: The seed of the training.
        device: "auto", "cpu", "cuda", ...
        checkpoint: The folder of finished stages: prepared text, vectors, the training's state. An interrupted call
            goes on there, and another method finds the vectors; the caller removes it.
        output: The model folder.
        start: The ready model, whose encoder this is, for the method `plda`: the fit starts from it.
        realign: Whether pairs of a shifted run are put together anew (`CleaningSettings`).
    Returns:
        Retrieval of held-out translations among all sentences of their side, as `held_out_retrieval.retrieval` has it.
    Raises:
        ConfigError: `output` is something else or another model, or a setting is wrong.
        DataError: text that cannot be read, or leaves too little to train or to measure on.
    """
    cleaning = CLEANING.model_copy(update={"realign": realign})
    digests = {
        pair: [[digest(Path(path)) for path in text.paths] for text in texts]
        for pair, texts in bitext.items()
    }
    columns = {pair: [getattr(text, "columns", []) for text in texts] for pair, texts in bitext.items()}
    tags = {pair: named for pair, texts in bitext.items() if any(named := [text.tags for text in texts])}
    planned: dict[str, Any] = {
        "bitext": {pair: [text.name for text in texts] for pair, texts in bitext.items()},
        "sha256": digests,
        "columns": columns,
        "cleaning": cleaning.model_dump(),
        "splits": splits.model_dump(),
        "method": {"name": name, **method.model_dump()},
        "recipe": recipe.model_dump(),
        "seed": seed,
        "orthoglot": __version__,
    }
    if tags:
        planned["tags"] = tags
    if start:
        planned["start"] = {"sha256": start.sha256, "text": start.about["text"]}
    # A missing encoder, and an output that is something else, are errors before any work.
    if not (Path(encoder.place) / "encoder.json").is_file():
        locate(encoder.place, encoder.revision)
    if output.exists():
        made, as_read = _made(output), json.loads(json.dumps(planned))
        if any(made.get(part) != value for part, value in as_read.items()):
            raise _other_model(output)
    languages = sorted({code for pair in bitext for code in parse_pair(pair)})
    folders = []
    for pair, texts in bitext.items():
        settings = PrepareSettings(pair=pair, sources=texts, cleaning=cleaning, splits=splits)
        folder = checkpoint / "bitext" / pair
        key = _key(digests[pair], columns[pair], tags.get(pair), planned["cleaning"], planned["splits"])
        _stage(folder, key, partial(prepare, settings))
        folders.append(folder)
    test = held_out(folders)
    # Only now: text that cannot be used costs no copy.
    with atomic.building(checkpoint / ENCODER) as place:
        unseen = copy_encoder(encoder, languages, place)
    home = checkpoint / ENCODER
    maker = identity(home)
    embedding = EmbeddingSettings(train_pairs=EVERYTHING)
    encoded = _key(
        maker, digests, columns, tags, planned["cleaning"], planned["splits"], embedding.model_dump()
    )
    described = planned | {
        "encoder": {
            "name": card(home)["name"],
            "identity": maker,
            "licence": encoder.licence or licence_of(home),
        },
        "languages_new_to_the_encoder": unseen,
        "text": {folder.name: json.loads((folder / "counts.json").read_text()) for folder in folders},
    }
    key = _key(encoded, described)
    if receipts.read_key(output) == key:
        logger.info("%s: done already", output)
        return read_records(output / RECORDS)
    if output.exists():
        raise _other_model(output)  # of another encoder
    vectors = checkpoint / "embeddings"
    _stage(
        vectors,
        encoded,
        lambda place: embed(
            home,
            bitext_texts(folders, EVERYTHING),
            embedding,
            device=device,
            checkpoint=checkpoint / "chunks",
            output=place,
        ),
    )
    shutil.rmtree(checkpoint / "chunks", ignore_errors=True)
    store = EmbeddingStore.open(vectors, maker)
    for pair, texts in bitext.items():
        for source in texts:
            warn_of_runs(store, source, pair)
    with atomic.building(output) as place:
        if output.exists():
            raise ConfigError(
                f"{output}: another process wrote it meanwhile; remove it or name another folder"
            )
        fitted, history = fit_decomposer(
            method,
            recipe,
            name,
            collect(store, folders, EVERYTHING),
            seed=seed,
            device=resolve_device(device),
            checkpoint=checkpoint / f"training-{key[:16]}",
            prior=start.prior if start else None,
        )
        write(fitted, history, store, place)
        records = retrieval(load_decomposer(place), store, test, seed, further(folders))
        write_records(place / RECORDS, records)
        atomic.copy_folder(home, place / ENCODER)
        text = json.dumps(described, indent=1, sort_keys=True, ensure_ascii=False)
        (place / MADE).write_text(text + "\n", encoding="utf-8")
        receipts.write(place, key)
    shutil.rmtree(checkpoint / f"training-{key[:16]}", ignore_errors=True)
    return records


def warn_of_runs(store: EmbeddingStore, text: Source, pair: str) -> None:
    """Log where the translations of a text stand some lines away, as its vectors show; they are learnt from.

    `prepare` has left out what numbers and names show. Blocks of the text's file are judged, in its order; `store` has
    the vectors of what `prepare` kept.
    """
    source, target = parse_pair(pair)
    items = enumerate(read_source(text, source, target))
    runs: list[Run] = []
    while block := list(islice(items, WINDOW)):
        pairs = [(number, item) for number, item in block if isinstance(item, SentencePair)]
        rows = np.stack(
            [
                store.find([item.source for _, item in pairs], source),
                store.find([item.target for _, item in pairs], target),
            ]
        )
        known = np.flatnonzero((rows >= 0).all(axis=0))
        x, y = (unit(store.take(side[known])) for side in rows)
        runs += [
            Run(pairs[known[run.start]][0], pairs[known[run.stop - 1]][0] + 1, run.offset)
            for run in find_runs_of_vectors(x, y)
        ]
    if runs:
        advice = "orthoglot score flags them, filter leaves them out"
        logger.warning("%s: by their vectors, %s; %s", text.name, said(runs, "learnt from"), advice)


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes; a DataError if there is no such file, or a folder or pipe in its place."""
    if not path.is_file():
        raise DataError(f"{path} {'is no file' if path.exists() else 'does not exist'}")
    return receipts.file_digest(path)


def _made(model: Path) -> dict[str, Any]:
    """What `fit` wrote of a model; a ConfigError if the folder holds no such model, or a damaged one."""
    if not (model / MADE).is_file():
        raise ConfigError(f"{model}: exists and was not written by orthoglot fit; name another folder")
    try:
        return dict(json.loads((model / MADE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"{model}: {MADE} is damaged; remove it or name another folder") from error


def _other_model(model: Path) -> ConfigError:
    made = _made(model)
    about = f"{made.get('method', {}).get('name')}, {', '.join(made.get('bitext', {}))}"
    return ConfigError(f"{model}: holds another model ({about}); remove it or name another folder")


def _stage(folder: Path, key: str, work: Callable[[Path], None]) -> None:
    """Let `work` fill the folder unless it is the whole result with this key already."""
    if receipts.read_key(folder) != key:
        with atomic.building(folder) as place:
            work(place)
            receipts.write(place, key)


def _key(*parts: Any) -> str:
    return receipts.digest_of([__version__, *parts])
