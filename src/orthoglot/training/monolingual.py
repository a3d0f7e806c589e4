"""Tokenised sentences of each language on disk, without their translations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orthoglot import atomic
from orthoglot.corpora.prepare import stream_split
from orthoglot.corpora.splitting import Split
from orthoglot.encoders.tokenization import Ragged
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.training.bitext import Tokenise, append, blocks, languages_of, mapped


@dataclass(frozen=True)
class Text:
    """Distinct sentences of every language, one language after the other.

    Attributes:
        sentences: N of them.
        sizes: how many of each language (K,), in the order of `languages_of`.
    """

    sentences: Ragged
    sizes: tuple[int, ...]


def tokenised_text(
    bitext: Sequence[Path], split: Split, tokenise: Tokenise, store: Path, *, apart: bool
) -> Text:
    """One split of all pair folders as text of each language, tokenised if that was not done before.

    Pairs lie in an order that follows from their first sentence alone. With `apart`, first sentences are taken from the
    first half of it and second ones from the second half, so that no sentence comes with its translation.

    Args:
        bitext: prepared pair folders; a folder's name is its pair.
        split: train or valid.
        tokenise: (sentences, language) -> ids.
        store: folder to keep the ids in.
        apart: leave out half of each side.
    Raises:
        DataError: no sentence has tokens.
    """
    folder = store / f"{split}-text"
    if not folder.exists():
        store.mkdir(parents=True, exist_ok=True)
        with atomic.building(folder) as partial:
            sizes = [
                _write(bitext, language, split, tokenise, partial, apart=apart)
                for language in languages_of(bitext)
            ]
            (partial / "sizes.json").write_text(json.dumps(sizes))
    sizes = json.loads((folder / "sizes.json").read_text())
    if not sum(sizes):
        raise DataError(f"{split}: no sentence in {', '.join(map(str, bitext))}")
    return Text(mapped(folder, "text"), tuple(sizes))


def _write(
    bitext: Sequence[Path], language: str, split: Split, tokenise: Tokenise, output: Path, *, apart: bool
) -> int:
    """Append the ids of one language's sentences; how many there are."""
    written = 0
    for block in blocks(_distinct(_sentences(bitext, language, split, apart=apart))):
        ids = tokenise(block, language)
        kept = ids.take(np.flatnonzero(ids.lengths > 0))
        append(output / "text.ids", kept.ids)
        append(output / "text.lengths", kept.lengths.astype(np.int32))
        written += len(kept.lengths)
    return written


def _sentences(bitext: Sequence[Path], language: str, split: Split, *, apart: bool) -> Iterator[str]:
    for folder in bitext:
        pair = parse_pair(folder.name)
        if language not in pair:
            continue
        side = pair.index(language)
        middle = json.loads((folder / "counts.json").read_text())["kept"][split] // 2
        for row, sentences in enumerate(stream_split(folder, split)):
            if not apart or (row >= middle) == bool(side):
                yield sentences[side]


def _distinct(sentences: Iterator[str]) -> Iterator[str]:
    seen: set[bytes] = set()
    for sentence in sentences:
        digest = hashlib.blake2b(sentence.encode(), digest_size=8).digest()
        if digest not in seen:
            seen.add(digest)
            yield sentence
