"""Tokenised sentence pairs on disk: written a block at a time, and read as memory maps."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from orthoglot import atomic
from orthoglot.corpora.prepare import stream_split
from orthoglot.corpora.splitting import Split
from orthoglot.encoders.tokenization import Ragged
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair

# Pairs whose text is in memory at once.
BLOCK = 50_000
SIDES = ("source", "target")
# What training reads.
SPLITS: tuple[Split, ...] = ("train", "valid")
Item = TypeVar("Item")
Tokenise = Callable[[Sequence[str], str], Ragged]
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Bitext:
    """Tokenised pairs of every language pair, one language pair after the other.

    Attributes:
        source: N sentences, pivot side.
        target: their translations.
        languages: language ids of source and target of each language pair (G, 2).
        sizes: rows of each language pair (G,).
        kept: number of each row in its pair folder (N,); pairs with a side without tokens are missing.
    """

    source: Ragged
    target: Ragged
    languages: np.ndarray
    sizes: tuple[int, ...]
    kept: np.ndarray

    def __len__(self) -> int:
        return sum(self.sizes)

    @cached_property
    def _ends(self) -> np.ndarray:
        return np.cumsum(self.sizes)

    def languages_of(self, rows: np.ndarray) -> np.ndarray:
        """Language ids of both sides of the named rows (B, 2)."""
        return self.languages[np.searchsorted(self._ends, rows, side="right")]


def languages_of(bitext: Sequence[Path]) -> list[str]:
    """Every language of the pair folders, sorted."""
    return sorted({language for folder in bitext for language in parse_pair(folder.name)})


def monolingual(bitext: Sequence[Path], split: Split) -> dict[str, list[str]]:
    """Distinct sentences of a split by language, in order of first appearance."""
    found: dict[str, dict[str, None]] = {language: {} for language in languages_of(bitext)}
    for folder in bitext:
        source, target = parse_pair(folder.name)
        for pair in stream_split(folder, split):
            found[source][pair.source] = None
            found[target][pair.target] = None
    return {language: list(sentences) for language, sentences in found.items()}


def tokenise_bitext(bitext: Sequence[Path], split: Split, tokenise: Tokenise, tokens: Path) -> None:
    """Write the ids of one split of every pair folder, if that was not done before.

    Args:
        bitext: prepared pair folders; a folder's name is its pair.
        split: train, valid or test.
        tokenise: (sentences, language) -> ids.
        tokens: folder to keep them in.
    Raises:
        DataError: no pair has tokens on both sides.
    """
    if not (tokens / split).exists():
        with atomic.building(tokens / split) as partial:
            sizes = [_write(pairs, split, tokenise, partial) for pairs in bitext]
            if not sum(sizes):
                raise DataError(f"{split}: no sentence pair in {', '.join(map(str, bitext))}")
            (partial / "sizes.json").write_text(json.dumps(sizes))


def tokenised_bitext(bitext: Sequence[Path], split: Split, tokens: Path) -> Bitext:
    """What `tokenise_bitext` wrote for the same pair folders, mapped from disk."""
    folder = tokens / split
    sizes = json.loads((folder / "sizes.json").read_text())
    names = languages_of(bitext)
    pairs = [parse_pair(path.name) for path in bitext]
    return Bitext(
        source=mapped(folder, "source"),
        target=mapped(folder, "target"),
        languages=np.array([[names.index(language) for language in pair] for pair in pairs]),
        sizes=tuple(sizes),
        kept=np.fromfile(folder / "kept", dtype=np.int64),
    )


def _write(pairs: Path, split: Split, tokenise: Tokenise, output: Path) -> int:
    """Append one folder's ids to the files of both sides; the number of pairs that have any on both."""
    languages = parse_pair(pairs.name)
    written = read = 0
    for block in blocks(stream_split(pairs, split)):
        sides = [
            tokenise([pair[number] for pair in block], language) for number, language in enumerate(languages)
        ]
        kept = np.flatnonzero((sides[0].lengths > 0) & (sides[1].lengths > 0))
        append(output / "kept", read + kept)
        for name, side in zip(SIDES, sides, strict=True):
            chosen = side.take(kept)
            append(output / f"{name}.ids", chosen.ids)
            append(output / f"{name}.lengths", chosen.lengths.astype(np.int32))
        written += len(kept)
        read += len(block)
    if written < read:
        logger.info("%s: %d pairs without tokens left out of %s", pairs.name, read - written, split)
    return written


def append(path: Path, values: np.ndarray) -> None:
    """Add the bytes of an array to a file."""
    with path.open("ab") as file:
        file.write(np.ascontiguousarray(values).tobytes())


def blocks(items: Iterator[Item]) -> Iterator[list[Item]]:
    """As many as may be in memory at once, in order."""
    while block := list(islice(items, BLOCK)):
        yield block


def mapped(folder: Path, name: str) -> Ragged:
    """The sentences of <name>.ids and <name>.lengths, the ids mapped from disk."""
    lengths = np.fromfile(folder / f"{name}.lengths", dtype=np.int32)
    offsets = np.concatenate([np.zeros(1, np.int64), lengths.cumsum(dtype=np.int64)])
    return Ragged(np.memmap(folder / f"{name}.ids", dtype=np.int32, mode="r"), offsets)
