"""Train decomposers on stored vectors: which pairs, which models, which files."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from orthoglot.corpora.prepare import read_split
from orthoglot.decomposers.base import Decomposer, Weights
from orthoglot.decomposers.closed_form import CLOSED_FORMS, Block, compute
from orthoglot.decomposers.linear import Residual, TwoHead
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.base import resolve_device
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import parse_pair
from orthoglot.objectives import check_method
from orthoglot.objectives.base import Objective
from orthoglot.streams import Draws, stream
from orthoglot.training.batching import Batches, PairRows, cut, pairs_of
from orthoglot.training.loop import History, ending
from orthoglot.training.settings import DecompositionSettings, MethodSettings
from orthoglot.training.stacked import Run, Stack, fit_together

MODULES: dict[str, type[TwoHead | Residual]] = {"two_head": TwoHead, "residual": Residual}
# Embedding sizes at which a stack of maps still pays on a CPU (docs/benchmarks/decomposers.md).
TOGETHER_UP_TO = 384
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Data:
    """Vectors of all language pairs pooled.

    Attributes:
        vectors: (N, D) float32.
        languages: K codes, sorted; language ids are places in this list.
        train, valid: pairs as rows of `vectors`, on the CPU.
    """

    vectors: Tensor
    languages: list[str]
    train: PairRows
    valid: PairRows


def decompose(
    method: MethodSettings,
    recipe: DecompositionSettings | None,
    name: str,
    store: EmbeddingStore,
    data: Data,
    *,
    device: str,
    checkpoint: Path,
    outputs: Mapping[int, Path],
) -> None:
    """Write decomposer.json, weights.safetensors and, of a training, history.jsonl into a folder per seed.

    Args:
        method: architecture, partner rule and weighted terms.
        recipe: how to train; None for a closed form, which is computed.
        name: the method's name, for the record.
        store: the encoder's vectors.
        data: what `collect` took from it.
        device: "auto", "cpu", "cuda", ...
        checkpoint: folder for the resume file.
        outputs: existing folder by seed, which sets initial weights, order and partners.
    Raises:
        ConfigError: the method is not trained, or its terms or rule are wrong.
        DataError: a loss is not finite.
    """
    found = solve(
        method, recipe, name, data, seeds=list(outputs), device=resolve_device(device), checkpoint=checkpoint
    )
    for (seed, output), (weights, history) in zip(outputs.items(), found, strict=True):
        Decomposer(
            architecture=method.architecture,
            method=name,
            encoder=store.meta["encoder"],
            identity=store.meta["identity"],
            languages=data.languages,
            dim=store.meta["dim"],
            weights=weights,
            details=described(method, recipe, data, seed, history),
        ).save(output)
        if history:
            lines = [json.dumps(row, sort_keys=True) + "\n" for row in history]
            (output / "history.jsonl").write_text("".join(lines), encoding="utf-8")


def solve(
    method: MethodSettings,
    recipe: DecompositionSettings | None,
    name: str,
    data: Data,
    *,
    seeds: Sequence[int],
    device: torch.device,
    checkpoint: Path | None,
) -> list[tuple[Weights, History]]:
    """Weights and history for each seed, trained or computed; what is computed has no history and needs no seed.

    Raises:
        ConfigError: the method is neither, its terms or rule are wrong, or a training has no recipe.
        DataError: a loss is not finite.
    """
    if method.architecture == "original":
        raise ConfigError(f"method {name}: the architecture 'original' has nothing to train")
    check_method(method.architecture, method.partners, method.terms)
    if method.architecture in CLOSED_FORMS:
        dim = data.vectors.shape[1]
        weights = compute(method.architecture, translations(data), data.languages, dim, method.own_settings)
        return [(weights, []) for _ in seeds]
    if recipe is None:
        raise ConfigError(f"method {name}: a trained method needs a recipe")
    return list(train_seeds(method, recipe, name, data, seeds=seeds, device=device, checkpoint=checkpoint))


def described(
    method: MethodSettings, recipe: DecompositionSettings | None, data: Data, seed: int, history: History
) -> dict[str, Any]:
    """What should be on record beside a decomposer's weights."""
    return {
        "seed": seed,
        "partners": method.partners,
        "terms": method.terms,
        **method.own_settings,
        "train_pairs": len(data.train),
        "valid_pairs": len(data.valid),
        **(ending(history, recipe.patience) if recipe and history else {}),
    }


def collect(store: EmbeddingStore, bitext: Sequence[Path], train_pairs: int) -> Data:
    """The train and valid pairs of all folders, pooled, with the vectors they need and no others.

    Args:
        store: holds a vector of every sentence.
        bitext: prepared language pairs; only their train and valid splits are read.
        train_pairs: first so many training pairs per language pair.
    Raises:
        DataError: a split is empty, or a sentence has no vector.
    """
    languages = sorted({code for folder in bitext for code in parse_pair(folder.name)})
    train = _pairs(store, bitext, languages, "train", train_pairs)
    valid = _pairs(store, bitext, languages, "valid", None)
    used = torch.cat([train.source, train.target, valid.source, valid.target]).unique()
    logger.info(
        "decompose: %d training and %d validation pairs, %d vectors", len(train), len(valid), len(used)
    )
    vectors = torch.from_numpy(store.take(used.numpy()))
    return Data(vectors, languages, _renumbered(train, used), _renumbered(valid, used))


def _pairs(
    store: EmbeddingStore,
    bitext: Sequence[Path],
    languages: list[str],
    split: Literal["train", "valid"],
    limit: int | None,
) -> PairRows:
    """The pairs of one split of all folders, as rows of the store."""
    parts = []
    for folder in bitext:
        source, target = parse_pair(folder.name)
        pairs = read_split(folder, split)[:limit]
        rows = (
            store.rows([pair.source for pair in pairs], source),
            store.rows([pair.target for pair in pairs], target),
        )
        ids = (np.full(len(pairs), languages.index(code)) for code in (source, target))
        parts.append(np.stack([*rows, *ids]))
    table = torch.from_numpy(np.concatenate(parts, axis=1))
    if not table.shape[1]:
        raise DataError(f"no {split} pairs in {', '.join(str(folder) for folder in bitext)}")
    return PairRows(*table)


def _renumbered(pairs: PairRows, used: Tensor) -> PairRows:
    """The same pairs with rows counted among the sorted `used` ones."""
    return replace(
        pairs,
        source=torch.searchsorted(used, pairs.source),
        target=torch.searchsorted(used, pairs.target),
    )


def translations(data: Data, size: int = 10_000) -> Iterator[Block]:
    """The training pairs, as often as they occur, in blocks of one pair of languages and at most `size` rows."""
    ids = torch.stack([data.train.source_language, data.train.target_language], dim=1)
    for pair in ids.unique(dim=0):
        rows = data.train.take((ids == pair).all(dim=1))
        first, second = (data.languages[k] for k in pair.tolist())
        for source, target in zip(rows.source.split(size), rows.target.split(size), strict=True):
            yield data.vectors[source].numpy(), data.vectors[target].numpy(), (first, second)


def train_seeds(
    method: MethodSettings,
    recipe: DecompositionSettings,
    name: str,
    data: Data,
    *,
    seeds: Sequence[int],
    device: torch.device,
    checkpoint: Path | None,
) -> list[tuple[dict[str, np.ndarray], History]]:
    """Fit the method's maps to the training pairs, stopping early on the validation pairs, one model per seed.

    The initial weights depend on seed and architecture alone, so methods of one seed start alike.

    Returns:
        For each seed the maps' weights by name at the best epoch, and the history.
    """
    vectors, k = data.vectors.to(device), len(data.languages)
    rows = {split: getattr(data, split).each(lambda t: t.to(device)) for split in ("train", "valid")}
    dim = vectors.shape[1]

    def build(chosen: Sequence[int]) -> Stack:
        maps = MODULES[method.architecture](dim, [stream(seed, "maps") for seed in chosen])
        heads = [stream(seed, "heads") for seed in chosen]
        objective = Objective(method.terms, dim=dim, n_languages=k, generator=heads)
        return Stack(maps.to(device, vectors.dtype), objective.to(device, vectors.dtype))

    def batches(split: str, seed: int, *epoch: int) -> list[Batches]:
        return cut(
            rows[split],
            method.partners,
            batch_size=recipe.batch_size,
            drop_last=split == "train",
            order=Draws(seed, "order", split, *epoch),
            partners=Draws(seed, "partners", split, *epoch),
        )

    # Side by side small maps save the time between operations; large ones only push each other out of a CPU's cache.
    apart = device.type == "cpu" and dim > TOGETHER_UP_TO
    runs: list[Run] = []
    for group in [[seed] for seed in seeds] if apart else [list(seeds)]:
        runs += fit_together(
            build,
            lambda stack, batch: pairs_of(stack.maps, vectors, batch, k),
            lambda seed, epoch: batches("train", seed, epoch),
            # Without an epoch: validation means the same in each only if its partners stay (methods 4.2).
            lambda seed: batches("valid", seed),
            seeds=group,
            learning_rate=recipe.learning_rate,
            max_epochs=recipe.max_epochs,
            patience=recipe.patience,
            label=name,
            checkpoint=checkpoint and checkpoint / "-".join(map(str, group)),
            batches_per_epoch=max(1, len(data.train) // recipe.batch_size),
        )
    return [({key: tensor.numpy() for key, tensor in run.best.items()}, run.history) for run in runs]
