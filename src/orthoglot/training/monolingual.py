"""Tokenised sentences of each language on disk, without their translations: of sentence pairs, or of text corpora."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orthoglot import atomic
from orthoglot.corpora.prepare import stream_split
from orthoglot.corpora.splitting import Split
from orthoglot.corpora.text import stream_text
from orthoglot.encoders.tokenization import Ragged
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.training.bitext import Tokenise, append, blocks, languages_of, mapped


@dataclass(frozen=True)
class Text:
    """Sentences of every language, one language after the other.

    Attributes:
        sentences: N of them.
        sizes: how many of each language (K,), in the order in which they were given.
    """

    sentences: Ragged
    sizes: tuple[int, ...]


def tokenised_text(
    bitext: Sequence[Path], split: Split, tokenise: Tokenise, store: Path, *, apart: bool
) -> Text:
    """One split of all pair folders as text of each language, tokenised if that was not done before.

    With `apart` a first sentence and all its translations, in whatever folders, give one sentence, drawn by a hash.
    Memory then holds some hundred bytes for each first sentence.

    Args:
        bitext: prepared pair folders; a folder's name is its pair.
        split: train or valid.
        tokenise: (sentences, language) -> ids.
        store: folder to keep the ids in.
        apart: leave out translations.
    Raises:
        DataError: no sentence has tokens.
    """

    def sentences() -> Iterator[tuple[str, Iterator[str]]]:
        kept = _drawn(bitext, split) if apart else None
        for language in languages_of(bitext):
            yield language, _distinct(_sentences(bitext, language, split, kept))

    return _stored(store / f"{split}-text", sentences, tokenise, bitext)


def tokenised_corpora(corpora: Sequence[Path], tokenise: Tokenise, store: Path) -> Text:
    """The sentences of prepared text folders, tokenised block by block if that was not done before.

    Args:
        corpora: the folders; a folder's name is its language.
        tokenise: (sentences, language) -> ids.
        store: folder to keep the ids in.
    Raises:
        DataError: no sentence has tokens.
    """

    def sentences() -> Iterator[tuple[str, Iterator[str]]]:
        for folder in corpora:
            yield folder.name, stream_text(folder)

    return _stored(store / "corpora-text", sentences, tokenise, corpora)


def _stored(
    folder: Path,
    sentences: Callable[[], Iterator[tuple[str, Iterator[str]]]],
    tokenise: Tokenise,
    origins: Sequence[Path],
) -> Text:
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with atomic.building(folder) as partial:
            sizes = [_write(lines, language, tokenise, partial) for language, lines in sentences()]
            (partial / "sizes.json").write_text(json.dumps(sizes))
    sizes = json.loads((folder / "sizes.json").read_text())
    if not sum(sizes):
        raise DataError(f"{folder.name}: no sentence in {', '.join(map(str, origins))}")
    return Text(mapped(folder, "text"), tuple(sizes))


def _write(sentences: Iterator[str], language: str, tokenise: Tokenise, output: Path) -> int:
    """Append the ids of one language's sentences; how many have any."""
    written = 0
    for block in blocks(sentences):
        ids = tokenise(block, language)
        kept = ids.take(np.flatnonzero(ids.lengths > 0))
        append(output / "text.ids", kept.ids)
        append(output / "text.lengths", kept.lengths.astype(np.int32))
        written += len(kept.lengths)
    return written


def _drawn(bitext: Sequence[Path], split: Split) -> dict[bytes, str]:
    """By digest of each first sentence the folder whose second side is kept, or "" where it is kept itself."""
    best: dict[bytes, tuple[bytes, str]] = {}
    for folder in bitext:
        pivot = parse_pair(folder.name)[0]
        for pair in stream_split(folder, split):
            # Of all that offer themselves the greatest hash wins, whatever the order of the folders.
            for place in ("", folder.name):
                offer = _digest(f"{place}/{pivot}/{pair.source}"), place
                key = _digest(f"{pivot}/{pair.source}")
                best[key] = max(best.get(key, offer), offer)
    return {key: place for key, (_, place) in best.items()}


def _sentences(
    bitext: Sequence[Path], language: str, split: Split, kept: dict[bytes, str] | None
) -> Iterator[str]:
    for folder in bitext:
        pair = parse_pair(folder.name)
        if language not in pair:
            continue
        side = pair.index(language)
        place = folder.name if side else ""
        for sentences in stream_split(folder, split):
            if kept is None or kept[_digest(f"{pair[0]}/{sentences.source}")] == place:
                yield sentences[side]


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _distinct(sentences: Iterator[str]) -> Iterator[str]:
    seen: set[bytes] = set()
    for sentence in sentences:
        digest = _digest(sentence)
        if digest not in seen:
            seen.add(digest)
            yield sentence
