"""Closed forms of stored vectors, and the pairs of a training. It needs no PyTorch, whose import outlasts most fits."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from orthoglot.decomposers import architecture
from orthoglot.decomposers.architectures.plda import Prior
from orthoglot.decomposers.base import ClosedForm, Decomposer
from orthoglot.decomposers.closed_forms import compute
from orthoglot.decomposers.cross_validation import Block
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.objectives import check_method
from orthoglot.text.prepared import read_split
from orthoglot.training.settings import MethodSettings

logger = logging.getLogger(__name__)


class Stored(NamedTuple):
    """The pairs of all language pairs pooled, and the vectors that they need.

    A table of P pairs is (4, P): rows of `vectors` of source and target, positions of their languages.
    """

    vectors: np.ndarray  # (N, D) float32
    languages: list[str]  # K codes, sorted
    train: np.ndarray
    valid: np.ndarray
    text: str  # digest of the sentences of these pairs, in their order


def stored(store: EmbeddingStore, bitext: Sequence[Path], train_pairs: int) -> Stored:
    """The train and valid pairs of all folders; arguments and errors are those of `decompose.collect`."""
    languages = sorted({code for folder in bitext for code in parse_pair(folder.name)})
    text = hashlib.sha256()
    train = _pairs(store, bitext, languages, "train", train_pairs, text)
    valid = _pairs(store, bitext, languages, "valid", None, text)
    used = np.unique(np.concatenate([train[:2], valid[:2]], axis=1))
    logger.info(
        "decompose: %d training and %d validation pairs, %d vectors",
        train.shape[1],
        valid.shape[1],
        len(used),
    )
    for table in (train, valid):
        table[:2] = np.searchsorted(used, table[:2])
    return Stored(store.take(used), languages, train, valid, text.hexdigest()[:16])


def _pairs(
    store: EmbeddingStore,
    bitext: Sequence[Path],
    languages: list[str],
    split: Literal["train", "valid"],
    limit: int | None,
    text: hashlib._Hash,
) -> np.ndarray:
    """The table of one split of all folders, with rows of the store; its sentences go into the digest."""
    parts = []
    for folder in bitext:
        pairs = read_split(folder, split)[:limit]
        for pair in pairs:
            text.update(f"{split}\t{folder.name}\t{pair.source}\t{pair.target}\n".encode())
        codes = parse_pair(folder.name)
        rows = [store.rows([pair[side] for pair in pairs], code) for side, code in enumerate(codes)]
        ids = [np.full(len(pairs), languages.index(code)) for code in codes]
        parts.append(np.stack([*rows, *ids]))
    table = np.concatenate(parts, axis=1)
    if not table.shape[1]:
        raise DataError(f"no {split} pairs in {', '.join(str(folder) for folder in bitext)}")
    return table


def blocks(
    vectors: np.ndarray, languages: Sequence[str], pairs: np.ndarray, size: int = 10_000
) -> Iterator[Block]:
    """The pairs of a table, as often as they occur, in blocks of one pair of languages and at most `size` rows."""
    for ids in np.unique(pairs[2:], axis=1).T:
        source, target = pairs[:2, (pairs[2:] == ids[:, None]).all(axis=0)]
        first, second = (languages[k] for k in ids)
        for start in range(0, len(source), size):
            rows = slice(start, start + size)
            yield vectors[source[rows]], vectors[target[rows]], (first, second)


def compute_stored(
    method: MethodSettings,
    name: str,
    store: EmbeddingStore,
    data: Stored,
    *,
    seed: int,
    output: Path,
    code: str,
) -> None:
    """Write decomposer.json and weights.safetensors of a closed form into an existing folder.

    Args:
        method: Its settings.
        name: Its name, for the record.
        store: The encoder's vectors, from which `stored` took the data.
        seed: For the record: it changes nothing.
        output: The folder.
        code: Digest of the code that computes it, for the record.
    Raises:
        ConfigError: The method has terms or partners.
        DataError: See `compute`.
    """
    check_method(method.architecture, method.partners, method.terms)
    translations = blocks(data.vectors, data.languages, data.train)
    details = described(method, seed, data.train.shape[1], data.valid.shape[1], data.text)
    dim = data.vectors.shape[1]
    save(fit_closed_form(method, name, translations, data.languages, dim, details), store, output, code)


def described(
    method: MethodSettings, seed: int, train_pairs: int, valid_pairs: int, text: str
) -> dict[str, Any]:
    """What a decomposer states of the data and of the method that it was fitted by."""
    details = {
        "seed": seed,
        "partners": method.partners,
        "terms": method.terms,
        "train_pairs": train_pairs,
        "valid_pairs": valid_pairs,
    }
    return details | ({"text": text} if text else {})


def fit_closed_form(
    method: MethodSettings,
    name: str,
    translations: Iterable[Block],
    languages: list[str],
    dim: int,
    details: Mapping[str, Any],
    prior: Prior | None = None,
) -> Decomposer:
    """The closed form of all training translations, each once; arguments and errors are those of `compute`.

    The encoder stays unnamed; the decomposer states the details, and the settings that were chosen.
    """
    form = architecture(method.architecture)
    assert isinstance(form, ClosedForm)
    weights, facts = compute(form, translations, languages, dim, method.own_settings, prior)
    details = {**details, **facts}
    if "validation" in facts:
        loss = facts.pop("validation")
        chosen = ", ".join(f"{setting} {value}" for setting, value in facts.items())
        logger.info("%s: %s; loss of held-out pairs %s", name, chosen, loss)
    return Decomposer(method.architecture, name, "", "", languages, dim, weights, details)


def save(decomposer: Decomposer, store: EmbeddingStore, output: Path, code: str) -> None:
    """Write a decomposer of a store's vectors; `code` is the digest of the code that fitted it, if it is known."""
    if code:
        decomposer.details["code"] = code
    meta = store.meta
    replace(decomposer, encoder=meta["encoder"], identity=meta["identity"]).save(output)
