"""Tokenised sentences of each language on disk, without their translations: of sentence pairs, or of text corpora."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orthoglot import atomic
from orthoglot.corpora.prepare import stream_split
from orthoglot.corpora.text import stream_text
from orthoglot.encoders.tokenization import Ragged
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.pretraining.tokenised_bitext import Tokenise, append, blocks, languages_of, mapped

# Their folder among the tokens.
TEXT = "text"


@dataclass(frozen=True)
class Text:
    """Sentences of every language, one language after the other.

    Attributes:
        sentences: N of them.
        sizes: how many of each language (K,), in the order in which they were given.
    """

    sentences: Ragged
    sizes: tuple[int, ...]


def tokenise_sides(bitext: Sequence[Path], tokenise: Tokenise, tokens: Path, *, apart: bool) -> None:
    """Write the ids of all pairs to train on as text of each language, if that was not done before.

    With `apart` a first sentence and all its translations, in whatever folders, give one sentence, drawn by a hash.
    Memory then holds some hundred bytes for each first sentence.

    Args:
        bitext: prepared pair folders; a folder's name is its pair.
        tokenise: (sentences, language) -> ids.
        tokens: folder to keep them in.
        apart: leave out translations.
    Raises:
        DataError: no sentence has tokens.
    """

    def sentences() -> Iterator[tuple[str, Iterator[str]]]:
        kept = _drawn(bitext) if apart else None
        for language in languages_of(bitext):
            yield language, _distinct(_sentences(bitext, language, kept))

    _tokenise(sentences(), tokenise, tokens, bitext)


def tokenise_corpora(corpora: Sequence[Path], tokenise: Tokenise, tokens: Path) -> None:
    """Write the ids of prepared text folders, block by block, if that was not done before.

    Args:
        corpora: the folders; a folder's name is its language.
        tokenise: (sentences, language) -> ids.
        tokens: folder to keep them in.
    Raises:
        DataError: no sentence has tokens.
    """
    _tokenise(((folder.name, stream_text(folder)) for folder in corpora), tokenise, tokens, corpora)


def tokenised_text(tokens: Path) -> Text:
    """What `tokenise_sides` or `tokenise_corpora` wrote, mapped from disk."""
    folder = tokens / TEXT
    return Text(mapped(folder, "text"), tuple(json.loads((folder / "sizes.json").read_text())))


def _tokenise(
    sentences: Iterable[tuple[str, Iterator[str]]], tokenise: Tokenise, tokens: Path, origins: Sequence[Path]
) -> None:
    if not (tokens / TEXT).exists():
        with atomic.building(tokens / TEXT) as partial:
            sizes = [_write(lines, language, tokenise, partial) for language, lines in sentences]
            if not sum(sizes):
                raise DataError(f"text: no sentence in {', '.join(map(str, origins))}")
            (partial / "sizes.json").write_text(json.dumps(sizes))


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


def _drawn(bitext: Sequence[Path]) -> dict[bytes, str]:
    """By digest of each first sentence the folder whose second side is kept, or "" where it is kept itself."""
    best: dict[bytes, tuple[bytes, str]] = {}
    for folder in bitext:
        pivot = parse_pair(folder.name)[0]
        for pair in stream_split(folder, "train"):
            # Of all that offer themselves the greatest hash wins, whatever the order of the folders.
            for place in ("", folder.name):
                offer = _digest(f"{place}/{pivot}/{pair.source}"), place
                key = _digest(f"{pivot}/{pair.source}")
                best[key] = max(best.get(key, offer), offer)
    return {key: place for key, (_, place) in best.items()}


def _sentences(bitext: Sequence[Path], language: str, kept: dict[bytes, str] | None) -> Iterator[str]:
    for folder in bitext:
        pair = parse_pair(folder.name)
        if language not in pair:
            continue
        side = pair.index(language)
        place = folder.name if side else ""
        for sentences in stream_split(folder, "train"):
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
