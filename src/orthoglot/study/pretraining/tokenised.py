"""Tokenised text on disk: sentence pairs, and text without translations, read as memory maps."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from pathlib import Path

import numpy as np

from orthoglot import atomic
from orthoglot.encoders.token_lists import Ragged
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.study.pretraining.distinct_sentences import DistinctText, distinct
from orthoglot.study.pretraining.one_of_translations import Apart
from orthoglot.text.bitext import blocks
from orthoglot.text.prepared import stream_split, stream_text
from orthoglot.text.splitting import Split

SIDES = ("source", "target")
# What training reads.
SPLITS: tuple[Split, ...] = ("train", "valid")
TEXT = "text"
Encode = Callable[[Sequence[str], str], Ragged]  # (sentences, language) -> ids
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Bitext:
    """Tokenised pairs of every language pair, one language pair after the other."""

    source: Ragged  # N sentences, pivot side
    target: Ragged  # their translations
    languages: np.ndarray  # language ids of source and target of each language pair (G, 2)
    sizes: tuple[int, ...]  # rows of each language pair (G,)
    # number of each row in its pair folder (N,); pairs with a side without tokens are missing
    kept: np.ndarray

    def __len__(self) -> int:
        return sum(self.sizes)

    @property
    def sides(self) -> tuple[Ragged, Ragged]:
        """The token ids of source and target."""
        return self.source, self.target

    def languages_of(self, rows: np.ndarray) -> np.ndarray:
        """Language ids of both sides of the given rows (B, 2)."""
        return self.languages[np.searchsorted(np.cumsum(self.sizes), rows, side="right")]


@dataclass(frozen=True)
class Text:
    """Sentences of every language, one language after the other."""

    sentences: Ragged  # N of them
    sizes: tuple[int, ...]  # how many of each language (K,), in the order in which they were given


Corpus = Mapping[Split, Bitext]


def languages_of(bitext: Sequence[Path]) -> list[str]:
    """Every language of the pair folders, sorted."""
    return sorted({language for folder in bitext for language in parse_pair(folder.name)})


def monolingual(bitext: Sequence[Path], split: Split) -> dict[str, DistinctText]:
    """Distinct sentences of a split by language, in order of first appearance."""
    return {
        language: DistinctText(partial(_side_of_pairs, bitext, language, split))
        for language in languages_of(bitext)
    }


def write_bitext(bitext: Sequence[Path], split: Split, encode: Encode, tokens: Path) -> None:
    """Write the ids of one split of every pair folder below `tokens`, unless it is there already.

    Raises:
        DataError: No pair has tokens on both sides.
    """
    pairs = ((parse_pair(folder.name), stream_split(folder, split)) for folder in bitext)
    _write(tokens / split, SIDES, pairs, encode, bitext)


def write_text(
    sentences: Iterable[tuple[str, Iterator[str]]], encode: Encode, tokens: Path, origins: Sequence[Path]
) -> None:
    """Write the ids of (language, its sentences) below `tokens`, unless they are there already.

    Raises:
        DataError: No sentence has tokens; the message names the `origins`.
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
                    tokens = side.take(kept)
                    _append(partial / f"{name}.ids", tokens.ids)
                    _append(partial / f"{name}.lengths", tokens.lengths.astype(np.int32))
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
    Memory holds what `Seen` and `Apart` say.
    """
    drawn = Apart(bitext) if apart else None
    for language in languages_of(bitext):
        yield language, distinct(_side_of_pairs(bitext, language, "train", drawn))


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


def _side_of_pairs(
    bitext: Sequence[Path], language: str, split: Split, apart: Apart | None = None
) -> Iterator[list[str]]:
    """The sentences of a language in blocks; with `apart` those that it keeps."""
    for folder in bitext:
        languages = parse_pair(folder.name)
        if language in languages:
            side = languages.index(language)
            for block in blocks(stream_split(folder, split)):
                pairs = compress(block, apart.here(block, folder.name, side)) if apart else block
                yield [pair[side] for pair in pairs]
