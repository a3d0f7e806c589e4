"""Tokenised text on disk: sentence pairs, and text without translations, read as memory maps."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from orthoglot import atomic
from orthoglot.corpora.prepare import stream_split
from orthoglot.corpora.splitting import Split
from orthoglot.corpora.text import stream_text
from orthoglot.encoders.ragged import Ragged
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair

# Sentences or pairs whose text is in memory at once.
BLOCK = 50_000
SIDES = ("source", "target")
# What training reads.
SPLITS: tuple[Split, ...] = ("train", "valid")
TEXT = "text"
Item = TypeVar("Item")
Encode = Callable[[Sequence[str], str], Ragged]
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

    @property
    def sides(self) -> tuple[Ragged, Ragged]:
        """Source and target."""
        return self.source, self.target

    def languages_of(self, rows: np.ndarray) -> np.ndarray:
        """Language ids of both sides of the given rows (B, 2)."""
        return self.languages[np.searchsorted(self._ends, rows, side="right")]


@dataclass(frozen=True)
class Text:
    """Sentences of every language, one language after the other.

    Attributes:
        sentences: N of them.
        sizes: how many of each language (K,), in the order in which they were given.
    """

    sentences: Ragged
    sizes: tuple[int, ...]


Corpus = Mapping[Split, Bitext]


def languages_of(bitext: Sequence[Path]) -> list[str]:
    """Every language of the pair folders, sorted."""
    return sorted({language for folder in bitext for language in parse_pair(folder.name)})


def monolingual(bitext: Sequence[Path], split: Split) -> dict[str, list[str]]:
    """Distinct sentences of a split by language, in order of first appearance."""
    return {
        language: list(dict.fromkeys(_side_of_pairs(bitext, language, split)))
        for language in languages_of(bitext)
    }


def write_bitext(bitext: Sequence[Path], split: Split, encode: Encode, tokens: Path) -> None:
    """Write the ids of one split of every pair folder, unless it is there already.

    Args:
        bitext: prepared pair folders; a folder's name is its pair.
        split: train, valid or test.
        encode: (sentences, language) -> ids.
        tokens: folder for them.
    Raises:
        DataError: no pair has tokens on both sides.
    """
    pairs = ((parse_pair(folder.name), stream_split(folder, split)) for folder in bitext)
    _write(tokens / split, SIDES, pairs, encode, bitext)


def write_text(
    sentences: Iterable[tuple[str, Iterator[str]]], encode: Encode, tokens: Path, origins: Sequence[Path]
) -> None:
    """Write the ids of the sentences of each language, unless they are there already.

    Args:
        sentences: (language, its sentences); see `text_of_bitext` and `text_of_corpora`.
        encode: (sentences, language) -> ids.
        tokens: folder for them.
        origins: for messages.
    Raises:
        DataError: no sentence has tokens.
    """
    rows = (((language,), zip(lines)) for language, lines in sentences)
    _write(tokens / TEXT, (TEXT,), rows, encode, origins)


def _write(
    output: Path,
    names: Sequence[str],
    groups: Iterable[tuple[Sequence[str], Iterator[Sequence[str]]]],
    encode: Encode,
    origins: Sequence[Path],
) -> None:
    """Write groups of rows, each a sentence in each of its group's languages, into the files of these names."""
    if output.exists():
        return
    with atomic.building(output) as partial:
        sizes = []
        for languages, rows in groups:
            written = read = 0
            for block in blocks(rows):
                sides = [encode([row[n] for row in block], language) for n, language in enumerate(languages)]
                kept = np.flatnonzero(np.all([side.lengths > 0 for side in sides], axis=0))
                if len(sides) == 2:
                    _append(partial / "kept", read + kept)
                for name, side in zip(names, sides, strict=True):
                    some = side.take(kept)
                    _append(partial / f"{name}.ids", some.ids)
                    _append(partial / f"{name}.lengths", some.lengths.astype(np.int32))
                written += len(kept)
                read += len(block)
            if written < read:
                name = "-".join(languages)
                logger.info("%s: %d without tokens left out of %s", name, read - written, output.name)
            sizes.append(written)
        if not sum(sizes):
            raise DataError(f"{output.name}: no sentence in {', '.join(map(str, origins))}")
        (partial / "sizes.json").write_text(json.dumps(sizes))


def text_of_corpora(corpora: Sequence[Path]) -> Iterator[tuple[str, Iterator[str]]]:
    """Sentences of prepared text folders; a folder's name is its language."""
    return ((folder.name, stream_text(folder)) for folder in corpora)


def text_of_bitext(bitext: Sequence[Path], *, apart: bool) -> Iterator[tuple[str, Iterator[str]]]:
    """Distinct training sentences of both sides of all pairs, by language.

    With `apart` a source sentence and all its translations, in whatever folders, give one sentence, drawn by a hash.
    Memory then holds some hundred bytes for each source sentence.
    """
    kept = _drawn(bitext) if apart else None
    for language in languages_of(bitext):
        yield language, _distinct(_side_of_pairs(bitext, language, "train", kept))


def read_bitext(bitext: Sequence[Path], split: Split, tokens: Path) -> Bitext:
    """What `write_bitext` wrote for the same pair folders, mapped from disk."""
    folder = tokens / split
    names = languages_of(bitext)
    pairs = [parse_pair(path.name) for path in bitext]
    return Bitext(
        source=_mapped(folder, "source"),
        target=_mapped(folder, "target"),
        languages=np.array([[names.index(language) for language in pair] for pair in pairs]),
        sizes=_sizes(folder),
        kept=np.fromfile(folder / "kept", dtype=np.int64),
    )


def read_text(tokens: Path) -> Text:
    """What `write_text` wrote, mapped from disk."""
    return Text(_mapped(tokens / TEXT, "text"), _sizes(tokens / TEXT))


def blocks(items: Iterator[Item]) -> Iterator[list[Item]]:
    """As many items as may be in memory at once, in order."""
    while block := list(islice(items, BLOCK)):
        yield block


def _append(path: Path, values: np.ndarray) -> None:
    with path.open("ab") as file:
        file.write(np.ascontiguousarray(values).tobytes())


def _sizes(folder: Path) -> tuple[int, ...]:
    return tuple(json.loads((folder / "sizes.json").read_text()))


def _mapped(folder: Path, name: str) -> Ragged:
    """The sentences of <name>.ids and <name>.lengths, the ids mapped from disk."""
    lengths = np.fromfile(folder / f"{name}.lengths", dtype=np.int32)
    offsets = np.concatenate([np.zeros(1, np.int64), lengths.cumsum(dtype=np.int64)])
    return Ragged(np.memmap(folder / f"{name}.ids", dtype=np.int32, mode="r"), offsets)


def _drawn(bitext: Sequence[Path]) -> dict[bytes, str]:
    """By digest of each source sentence the folder whose target is kept, or "" where it is kept itself."""
    best: dict[bytes, tuple[bytes, str]] = {}
    for folder in bitext:
        pivot = parse_pair(folder.name)[0]
        for pair in stream_split(folder, "train"):
            # Of all candidates the greatest hash wins, whatever the order of the folders.
            for place in ("", folder.name):
                candidate = _digest(f"{place}/{pivot}/{pair.source}"), place
                key = _digest(f"{pivot}/{pair.source}")
                best[key] = max(best.get(key, candidate), candidate)
    return {key: place for key, (_, place) in best.items()}


def _side_of_pairs(
    bitext: Sequence[Path], language: str, split: Split, kept: dict[bytes, str] | None = None
) -> Iterator[str]:
    for folder in bitext:
        languages = parse_pair(folder.name)
        if language not in languages:
            continue
        side = languages.index(language)
        place = folder.name if side else ""
        for pair in stream_split(folder, split):
            if kept is None or kept[_digest(f"{languages[0]}/{pair.source}")] == place:
                yield pair[side]


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _distinct(sentences: Iterator[str]) -> Iterator[str]:
    seen: set[bytes] = set()
    for sentence in sentences:
        digest = _digest(sentence)
        if digest not in seen:
            seen.add(digest)
            yield sentence
