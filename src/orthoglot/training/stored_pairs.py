"""The pairs of a training or of a closed form, and the stored vectors that they need. It needs no PyTorch."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from orthoglot.decomposers.cross_validation import Block
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.text.prepared import read_split

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
