"""When does ORACLE make the language view find ten times fewer translations? One circumstance changed at a time.

python benchmarks/oracle_drop.py PRESET ENCODER [VARIANT ...]

Reads the prepared text and the embeddings of a finished run in this folder. Trains DREAM and MEAT without and with
ORACLE's two terms (printed reading) on the preset's recipe, and so for every variant, seeds 1 and 2; prints a
Markdown row for each: epochs of each seed, held-out P@1 of the meaning and the language view in percent (mean over
language pairs and seeds; 95 % bootstrap interval over pivot sentences of the first seed's language view), the same with
ORACLE, and how many times more the language view finds without it.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Literal
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from torch import Generator

from orthoglot import config
from orthoglot.corpora.prepare import read_split
from orthoglot.decomposers.base import Decomposer
from orthoglot.decomposers.linear import TwoHead
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.folder import identity
from orthoglot.evaluation.base import ALL, Record
from orthoglot.evaluation.heldout import HeldOut
from orthoglot.languages import parse_pair
from orthoglot.measure import held_out, retrieval
from orthoglot.training import decompose as training
from orthoglot.training.settings import DecompositionSettings, MethodSettings

SEEDS = (1, 2)
HOSTS = ("dream", "meat")
Split = Literal["train", "valid", "test"]


@dataclass(frozen=True)
class Variant:
    """What differs from the preset.

    Attributes:
        recipe: settings of the training.
        spread: factor of the initial weights.
        length: factor of the sentence vectors; None makes each of length 1.
        bias: length of a random vector per language that is added to all its sentences, relative to their mean length.
        weight: of ORACLE's terms.
    """

    recipe: Mapping[str, float]
    spread: float = 1.0
    length: float | None = 1.0
    bias: float = 0.0
    weight: float = 1.0


LONG = {"max_epochs": 400, "patience": 400}
VARIANTS = {
    "preset": Variant({}),
    "rate-1e-5": Variant({"learning_rate": 1e-5}),
    "rate-1e-4": Variant({"learning_rate": 1e-4}),
    "rate-3e-3": Variant({"learning_rate": 3e-3}),
    "rate-1e-2": Variant({"learning_rate": 1e-2}),
    "spread-0.1": Variant({}, spread=0.1),
    "spread-0": Variant({}, spread=0.0),
    "length-1": Variant({}, length=None),
    "length-x10": Variant({}, length=10.0),
    "bias-0.5": Variant({}, bias=0.5),
    "bias-2": Variant({}, bias=2.0),
    "weight-10": Variant({}, weight=10.0),
    "long": Variant(LONG),
    "long-weight-10": Variant(LONG, weight=10.0),
}


@dataclass(frozen=True)
class Run:
    """A finished run of the workflow: its vectors and texts, and how its preset trains."""

    store: EmbeddingStore
    folders: list[Path]
    unseen: Mapping[str, HeldOut]
    methods: Mapping[str, MethodSettings]
    recipe: DecompositionSettings
    train_pairs: int


def finished(preset: str, encoder: str) -> Run:
    """The run in this folder."""
    settings = config.load(Path("params.yaml"))
    own = settings.presets[preset]
    folders = sorted(Path(f"data/{preset}/bitext").iterdir())
    maker = identity(Path(f"models/{preset}/encoders/{encoder}"))
    store = EmbeddingStore.open(Path(f"embeddings/{preset}/{encoder}"), maker)
    return Run(
        store, folders, held_out(folders), settings.methods, own.decomposition, own.embedding.train_pairs
    )


def moved(run: Run, variant: Variant) -> EmbeddingStore:
    """The store with its languages moved apart and its vectors scaled."""
    vectors = run.store.take(np.arange(len(run.store.vectors)))
    if variant.bias:
        mean = float(np.linalg.norm(vectors, axis=1).mean())
        generator = np.random.default_rng(1)
        for _, rows in sorted(rows_by_language(run).items()):
            direction = generator.standard_normal(vectors.shape[1])
            vectors[rows] += variant.bias * mean * direction / np.linalg.norm(direction)
    factor = variant.length or 1 / np.linalg.norm(vectors, axis=1, keepdims=True)
    return replace(run.store, vectors=(vectors * factor).astype(np.float32))


def rows_by_language(run: Run) -> dict[str, np.ndarray]:
    """The rows of the store that hold a language's sentences."""
    rows = defaultdict(list)
    limits: dict[Split, int | None] = {"train": run.train_pairs, "valid": None, "test": None}
    for folder in run.folders:
        for split, limit in limits.items():
            pairs = read_split(folder, split)[:limit]
            for side, language in enumerate(parse_pair(folder.name)):
                rows[language].append(run.store.rows([pair[side] for pair in pairs], language))
    return {language: np.unique(np.concatenate(found)) for language, found in rows.items()}


def spread(factor: float) -> type[TwoHead]:
    """Two maps whose initial weights and biases are multiplied."""

    class Spread(TwoHead):
        def __init__(self, dim: int, generator: Generator | Sequence[Generator]) -> None:
            super().__init__(dim, generator)
            for tensor in self.parameters():
                tensor.data.mul_(factor)

    return Spread


def trained(
    run: Run, name: str, variant: Variant, store: EmbeddingStore, data: training.Data
) -> tuple[list[Decomposer], str]:
    """A decomposer per seed, and the epochs that each was trained for."""
    method = run.methods[name]
    terms = {
        term: weight * variant.weight if term.startswith("oracle.") else weight
        for term, weight in method.terms.items()
    }
    with patch.dict(training.MODULES, {"two_head": spread(variant.spread)}):
        found = training.train_seeds(
            method.model_copy(update={"terms": terms}),
            run.recipe.model_copy(update=dict(variant.recipe)),
            name,
            data,
            seeds=SEEDS,
            device=torch.device("cpu"),
            checkpoint=None,
        )
    about = method.architecture, name, store.meta["encoder"], store.meta["identity"], data.languages
    made = [Decomposer(*about, store.meta["dim"], weights, {}) for weights, _ in found]
    return made, "/".join(str(len(history)) for _, history in found)


def measured(run: Run, decomposers: list[Decomposer], store: EmbeddingStore) -> dict[str, list[Record]]:
    """The mean over language pairs by view, for each seed."""
    views = defaultdict(list)
    for seed, decomposer in zip(SEEDS, decomposers, strict=True):
        for record in retrieval(decomposer, store, run.unseen, seed):
            if record.subset == ALL:
                views[record.view].append(record)
    return views


def row(run: Run, title: str, host: str, store: EmbeddingStore, data: training.Data) -> str:
    """Host alone and with ORACLE."""
    cells, languages, original = [], [], 0.0
    for name in (host, f"{host}+oracle"):
        decomposers, epochs = trained(run, name, VARIANTS[title], store, data)
        views = measured(run, decomposers, store)
        first = views["language"][0]
        original = views["sentence"][0].value
        languages.append(fmean(one.value for one in views["language"]))
        cells += [
            epochs,
            f"{fmean(one.value for one in views['meaning']):.1f}",
            f"{languages[-1]:.2f} [{first.low:.2f}, {first.high:.2f}]",
        ]
    factor = f"{languages[0] / languages[1]:.1f}" if languages[1] else "-"
    return f"| {' | '.join([title, host, f'{original:.1f}', *cells, factor])} |"


def main() -> None:
    """Study one encoder."""
    preset, encoder, *chosen = sys.argv[1:]
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    run = finished(preset, encoder)
    heads = ["Variant", "Host", "Original", *("Epochs", "Meaning", "Language") * 2, "Factor"]
    told = f"{encoder}, {time.strftime('%Y-%m-%d')}, torch {torch.__version__}, one thread"
    sys.stdout.write(f"{told}\n\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n")
    for title in chosen or VARIANTS:
        store = moved(run, VARIANTS[title])
        data = training.collect(store, run.folders, run.train_pairs)
        for host in HOSTS:
            sys.stdout.write(row(run, title, host, store, data) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
