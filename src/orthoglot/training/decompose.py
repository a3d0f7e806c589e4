"""Train one decomposer on stored vectors: which pairs, which model, which updates."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Adam

from orthoglot.corpora.prepare import read_split
from orthoglot.decomposers.base import Decomposer, Weights
from orthoglot.decomposers.closed_form import language_means
from orthoglot.decomposers.linear import Residual, TwoHead
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.base import resolve_device
from orthoglot.encoders.folder import identity
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import parse_pair
from orthoglot.objectives import check_method
from orthoglot.objectives.base import Objective, Pairs
from orthoglot.streams import stream
from orthoglot.training.batching import Batch, PairRows, batches, pairs_of
from orthoglot.training.loop import History, Update, ending, fit
from orthoglot.training.settings import DecompositionSettings, MethodSettings

MODULES: dict[str, type[TwoHead | Residual]] = {"two_head": TwoHead, "residual": Residual}
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
    embeddings: Path,
    bitext: Sequence[Path],
    *,
    encoder: Path,
    seed: int,
    train_pairs: int,
    device: str,
    checkpoint: Path,
    output: Path,
) -> None:
    """Write decomposer.json, weights.safetensors and, of a training, history.jsonl into the existing folder `output`.

    Args:
        method: architecture, partner rule and weighted terms.
        recipe: how to train; None for `centering`, which is computed.
        name: the method's name, for the record.
        embeddings: the store of the encoder.
        bitext: prepared language pairs, pooled; only their train and valid splits are read.
        encoder: its folder; a store that another encoder made is refused.
        seed: of initial weights, order and partners.
        train_pairs: first so many training pairs per language pair.
        device: "auto", "cpu", "cuda", ...
        checkpoint: folder for the resume file.
        output: the decomposer.
    Raises:
        ConfigError: the method is not trained, or its terms or rule are wrong.
        DataError: another encoder made the store, a split is empty, a sentence has no vector, or a loss is
            not finite.
    """
    if method.architecture == "original":
        raise ConfigError(f"method {name}: the architecture 'original' has nothing to train")
    check_method(method.architecture, method.partners, method.terms)
    store = EmbeddingStore.open(embeddings, identity(encoder))
    data = collect(store, bitext, train_pairs)
    history: History = []
    ended: dict[str, int | str] = {}
    if method.architecture == "centering":
        weights: Weights = center(data)
    elif recipe is None:
        raise ConfigError(f"method {name}: a trained method needs a recipe")
    else:
        chosen = resolve_device(device)
        weights, history = train(method, recipe, name, data, seed=seed, device=chosen, checkpoint=checkpoint)
        ended = ending(history, recipe.patience)
    details = {
        "seed": seed,
        "partners": method.partners,
        "terms": method.terms,
        "train_pairs": len(data.train),
        "valid_pairs": len(data.valid),
        **ended,
    }
    Decomposer(
        architecture=method.architecture,
        method=name,
        encoder=store.meta["encoder"],
        identity=store.meta["identity"],
        languages=data.languages,
        dim=store.meta["dim"],
        weights=weights,
        details=details,
    ).save(output)
    if history:
        lines = [json.dumps(row, sort_keys=True) + "\n" for row in history]
        (output / "history.jsonl").write_text("".join(lines), encoding="utf-8")


def collect(store: EmbeddingStore, bitext: Sequence[Path], train_pairs: int) -> Data:
    """The train and valid pairs of all folders, with the vectors they need and no others."""
    languages = sorted({code for folder in bitext for code in parse_pair(folder.name)})
    train = _pairs(store, bitext, languages, "train", train_pairs)
    valid = _pairs(store, bitext, languages, "valid", None)
    used = torch.cat([train.source, train.target, valid.source, valid.target]).unique()
    logger.info(
        "decompose: %d training and %d validation pairs, %d vectors", len(train), len(valid), len(used)
    )
    vectors = torch.from_numpy(store.vectors[used.numpy()])
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


def center(data: Data) -> dict[str, np.ndarray]:
    """Mean of each language over its training sentences, as often as they occur (methods 4.5)."""
    rows = torch.cat([data.train.source, data.train.target]).numpy()
    ids = torch.cat([data.train.source_language, data.train.target_language]).numpy()
    return {"means": language_means(data.vectors.numpy()[rows], ids, data.languages)}


def train(
    method: MethodSettings,
    recipe: DecompositionSettings,
    name: str,
    data: Data,
    *,
    seed: int,
    device: torch.device,
    checkpoint: Path | None,
) -> tuple[dict[str, np.ndarray], History]:
    """Fit the method's maps to the training pairs, stopping early on the validation pairs.

    The initial weights depend on seed and architecture alone, so methods of one seed start alike.

    Returns:
        The maps' weights by name at the best epoch, and the history.
    """
    vectors, k = data.vectors.to(device), len(data.languages)
    dim = vectors.shape[1]
    maps = MODULES[method.architecture](dim, stream(seed, "maps")).to(device)
    heads = stream(seed, "heads")
    objective = Objective(method.terms, dim=dim, n_languages=k, generator=heads).to(device)

    def pairs(batch: Batch) -> Pairs:
        return pairs_of(maps, vectors, batch, k)

    def cut(rows: PairRows, *names: object, drop_last: bool) -> Iterator[Batch]:
        return batches(
            rows,
            method.partners,
            batch_size=recipe.batch_size,
            drop_last=drop_last,
            order=stream(seed, "order", *names),
            partners=stream(seed, "partners", *names),
            device=device,
        )

    # Cut once: validation means the same in every epoch only if its partners stay (methods 4.2).
    valid = list(cut(data.valid, "valid", drop_last=False))
    history = fit(
        model=nn.ModuleDict({"maps": maps, "objective": objective}),
        updates=updates_of(maps, objective, pairs, recipe.learning_rate),
        batches=lambda epoch: cut(data.train, "train", epoch, drop_last=True),
        validate=lambda: average(objective, pairs, valid),
        max_epochs=recipe.max_epochs,
        patience=recipe.patience,
        seed=seed,
        label=f"{name}, seed {seed}",
        checkpoint=checkpoint,
        batches_per_epoch=max(1, len(data.train) // recipe.batch_size),
    )
    return {key: tensor.cpu().numpy() for key, tensor in maps.state_dict().items()}, history


def updates_of(
    maps: nn.Module, objective: Objective, pairs: Callable[[Batch], Pairs], learning_rate: float
) -> list[Update]:
    """One Adam step for the maps and their heads; before it, one for the opponents if there are any."""
    updates = []
    opponents = objective.opponents()
    if opponents:

        def discriminate(batch: Batch) -> dict[str, Tensor]:
            with torch.no_grad():
                drawn = pairs(batch)
            total = torch.stack([opponent.discriminate(drawn) for opponent in opponents]).sum()
            return {"discriminator": total, "total": total}

        theirs = [parameter for opponent in opponents for parameter in opponent.parameters()]
        updates.append(Update("discriminator", discriminate, Adam(theirs, lr=learning_rate, fused=True)))
    ours = [*maps.parameters(), *objective.heads()]
    updates.append(
        Update("maps", lambda batch: objective(pairs(batch)), Adam(ours, lr=learning_rate, fused=True))
    )
    return updates


def average(
    objective: Objective, pairs: Callable[[Batch], Pairs], valid: Sequence[Batch]
) -> dict[str, float]:
    """Mean of every term over all validation pairs, batches weighted by their rows."""
    sums: dict[str, float] = {}
    for batch in valid:
        for term, value in objective(pairs(batch)).items():
            sums[term] = sums.get(term, 0.0) + value.item() * len(batch.rows)
    n = sum(len(batch.rows) for batch in valid)
    return {term: value / n for term, value in sums.items()}
