"""When does ORACLE make the language view find ten times fewer translations? One circumstance changed at a time.

python benchmarks/oracle_drop.py PRESET ENCODER SEED [VARIANT ...]

Reads the prepared text and the embeddings of a finished run in this folder. Trains DREAM and MEAT without and with
ORACLE's two terms (printed reading) on the preset's recipe, and so for every variant. Prints a Markdown row for each:
epochs until training stopped (the best one's weights are measured), held-out P@1 of the meaning and the language view
in percent (mean over language pairs; 95 % bootstrap interval over pivot sentences), the same with ORACLE, and how many
times more the language view finds without it. A slow rate at the preset's epochs is a short training, too.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from torch import Generator

from orthoglot import config
from orthoglot.apply.measure import held_out, retrieval
from orthoglot.decomposers.base import Decomposer
from orthoglot.decomposers.modules import Maps
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.folder import identity
from orthoglot.languages import parse_pair
from orthoglot.statistics.records import ALL
from orthoglot.text.held_out import UnseenPairs
from orthoglot.text.prepared import read_split
from orthoglot.training import decompose as training
from orthoglot.training.settings import DecompositionSettings, MethodSettings

HOSTS = ("dream", "meat")
Split = Literal["train", "valid", "test"]


@dataclass(frozen=True)
class Variant:
    """What differs from the preset.

    Attributes:
        recipe: settings of the training.
        spread: factor of the initial weights.
        scale: factor of the sentence vectors.
        unit: make each of length 1.
        bias: length of a random vector per language that is added to all its sentences, relative to their mean length.
        weight: of ORACLE's terms.
    """

    recipe: Mapping[str, float]
    spread: float = 1.0
    scale: float = 1.0
    unit: bool = False
    bias: float = 0.0
    weight: float = 1.0


LONG = {"max_epochs": 200, "patience": 200}
VARIANTS = {
    "preset": Variant({}),
    "rate 1e-5": Variant({"learning_rate": 1e-5}),
    "rate 1e-4": Variant({"learning_rate": 1e-4}),
    "rate 1e-2": Variant({"learning_rate": 1e-2}),
    "spread x 0.1": Variant({}, spread=0.1),
    "length 1": Variant({}, unit=True),
    "length x 10": Variant({}, scale=10.0),
    "bias 2": Variant({}, bias=2.0),
    "bias 5": Variant({}, bias=5.0),
    "weight 10": Variant({}, weight=10.0),
    "bias 2, weight 10": Variant({}, bias=2.0, weight=10.0),
    "long, weight 10": Variant(LONG, weight=10.0),
}


@dataclass(frozen=True)
class Finished:
    """The results of a workflow: vectors and texts, and how the preset trains."""

    store: EmbeddingStore
    folders: list[Path]
    unseen: Mapping[str, UnseenPairs]
    methods: Mapping[str, MethodSettings]
    recipe: DecompositionSettings
    train_pairs: int


def finished(preset: str, encoder: str) -> Finished:
    """The workflow's results in this folder."""
    settings = config.load(Path("params.yaml"))
    own = settings.presets[preset]
    folders = sorted(Path(f"data/{preset}/bitext").iterdir())
    maker = identity(Path(f"models/{preset}/encoders/{encoder}"))
    store = EmbeddingStore.open(Path(f"embeddings/{preset}/{encoder}"), maker)
    return Finished(
        store, folders, held_out(folders), settings.methods, own.decomposition, own.embedding.train_pairs
    )


def moved(run: Finished, variant: Variant) -> EmbeddingStore:
    """The store with its languages moved apart and its vectors scaled."""
    vectors = run.store.take(np.arange(len(run.store.vectors)))
    if variant.bias:
        mean = float(np.linalg.norm(vectors, axis=1).mean())
        generator = np.random.default_rng(1)
        for _, rows in sorted(rows_by_language(run).items()):
            direction = generator.standard_normal(vectors.shape[1])
            vectors[rows] += variant.bias * mean * direction / np.linalg.norm(direction)
    if variant.unit:
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return replace(run.store, vectors=(variant.scale * vectors).astype(np.float32))


def rows_by_language(run: Finished) -> dict[str, np.ndarray]:
    """The rows of the store that hold a language's sentences."""
    rows = defaultdict(list)
    limits: dict[Split, int | None] = {"train": run.train_pairs, "valid": None, "test": None}
    for folder in run.folders:
        for split, limit in limits.items():
            pairs = read_split(folder, split)[:limit]
            for side, language in enumerate(parse_pair(folder.name)):
                rows[language].append(run.store.rows([pair[side] for pair in pairs], language))
    return {language: np.unique(np.concatenate(found)) for language, found in rows.items()}


def spread(factor: float) -> type[Maps]:
    """Maps whose initial weights and biases are multiplied."""

    class Spread(Maps):
        def __init__(self, name: str, dim: int, generator: Generator) -> None:
            super().__init__(name, dim, generator)
            for tensor in self.parameters():
                tensor.data.mul_(factor)

    return Spread


def trained(
    run: Finished, name: str, seed: int, variant: Variant, store: EmbeddingStore, data: training.Data
) -> tuple[Decomposer, int]:
    """A decomposer, and its epochs."""
    method = run.methods[name]
    terms = {
        term: weight * variant.weight if term.startswith("oracle.") else weight
        for term, weight in method.terms.items()
    }
    training.Maps = spread(variant.spread)  # type: ignore[misc]
    weights, history = training.train(
        method.model_copy(update={"terms": terms}),
        run.recipe.model_copy(update=dict(variant.recipe)),
        name,
        data,
        seed=seed,
        device=torch.device("cpu"),
        checkpoint=None,
    )
    about = method.architecture, name, store.meta["encoder"], store.meta["identity"], data.languages
    return Decomposer(*about, store.meta["dim"], weights, {}), len(history)


def row(run: Finished, title: str, host: str, seed: int, store: EmbeddingStore, data: training.Data) -> str:
    """Host alone and with ORACLE."""
    cells, languages, original = [], [], 0.0
    for name in (host, f"{host}+oracle"):
        decomposer, epochs = trained(run, name, seed, VARIANTS[title], store, data)
        records = retrieval(decomposer, store, run.unseen, seed)
        views = {record.view: record for record in records if record.subset == ALL}
        original, language = views["sentence"].value, views["language"]
        languages.append(language.value)
        interval = f"{language.value:.2f} [{language.low:.2f}, {language.high:.2f}]"
        cells += [str(epochs), f"{views['meaning'].value:.1f}", interval]
    factor = f"{languages[0] / languages[1]:.1f}" if languages[1] else "-"
    return f"| {' | '.join([title, host, f'{original:.1f}', *cells, factor])} |"


def main() -> None:
    """Study one encoder."""
    preset, encoder, seed, *chosen = sys.argv[1:]
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    run = finished(preset, encoder)
    heads = ["Variant", "Host", "Original", *("Epochs", "Meaning", "Language") * 2, "Factor"]
    title = f"{encoder}, seed {seed}, {time.strftime('%Y-%m-%d')}, torch {torch.__version__}, one thread"
    sys.stdout.write(f"{title}\n\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n")
    for title in chosen or VARIANTS:
        store = moved(run, VARIANTS[title])
        data = training.collect(store, run.folders, run.train_pairs)
        for host in HOSTS:
            sys.stdout.write(row(run, title, host, int(seed), store, data) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
