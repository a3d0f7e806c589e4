"""Translations out of two folders of documents, of which those of the same name translate each other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from pathlib import Path, PurePath
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np

from orthoglot.apply.align import Link, align
from orthoglot.apply.model import Model
from orthoglot.apply.text_vectors import text_vectors, with_own_mean
from orthoglot.decomposers.own_mean import adaptable, mean_shift, sums
from orthoglot.errors import DataError
from orthoglot.text.bitext import read_sentences
from orthoglot.text.sentences import joined, paragraphs, split

PACKED = (".gz", ".zst")
# What Windows and macOS put into folders, besides names that begin with a dot.
LITTER = ("thumbs.db", "desktop.ini", "ehthumbs.db", "$recycle.bin", "system volume information", "__macosx")
MATCHING = 0.95  # measurements/alignment/README.md#paragraphs
logger = logging.getLogger(__name__)


class Document(NamedTuple):
    """One side of a document."""

    sentences: Sequence[str]  # in their order, none of them blank
    lines: Sequence[int]  # number of each one's line, from 1
    paragraphs: Sequence[int] = (0,)  # the first sentence of each, from 0

    def joined(self, size: int) -> list[str]:
        """Each sentence with the size - 1 after it as one text."""
        starts = range(len(self.sentences) - size + 1)
        return [joined(self.sentences[start : start + size]) for start in starts]

    def lengths(self) -> np.ndarray:
        """Bytes of each sentence in UTF-8."""
        return np.array([len(text.encode()) for text in self.sentences])


class Folders(NamedTuple):
    """The documents of two folders."""

    pairs: dict[str, tuple[Document, Document]]  # source and target by the name of the source; both have text
    # names that only the source folder has, and those that only the target folder has
    unmatched: tuple[list[str], list[str]]
    empty: list[str]  # names that both have, without text on one side or both


def read_folders(
    source: Path, target: Path, languages: tuple[str | None, str | None] = (None, None)
) -> Folders:
    """Read the documents of two folders and the folders in them, in the order of their names.

    A name is the path within the folder without .gz or .zst, in Unicode's NFC, as macOS and Linux write é in two ways.
    Names that only one folder has match if they differ in the ending alone (a.txt, a.TXT, a.md) and no other name does.
    Files that begin with a dot, or that an operating system made, are passed over; a log line says which. `languages`
    are given where a line is a paragraph that is split into sentences.

    Raises:
        DataError: two files of a folder have one name; no document is in both folders, or none with text in both.
    """
    files = _files(source), _files(target)
    partners = _partners(files[0], files[1])
    pairs, empty = {}, []
    for name, partner in sorted(partners.items()):
        sides = _document(files[0][name], languages[0]), _document(files[1][partner], languages[1])
        if all(side.sentences for side in sides):
            pairs[name] = sides
        else:
            empty.append(name)
    if not pairs:
        fault = (
            "no document has text on both sides"
            if empty
            else "no file has the same name in both, up to its ending"
        )
        raise DataError(f"{source} and {target}: {fault}")
    only = sorted(files[0].keys() - {*partners}), sorted(files[1].keys() - {*partners.values()})
    return Folders(pairs, only, empty)


def document_vectors(
    model: Model,
    documents: Sequence[Document],
    checkpoint: Path,
    side: str,
    *,
    join: int,
    part: str,
    language: str | None,
    partner: str | None,
    own_mean: bool = True,
) -> Iterator[list[np.ndarray]]:
    """The vectors of each document's sentences, alone and joined with up to `join` - 1 after them, an array a size.

    They are in files of `checkpoint`, named by `side`, see `text_vectors`. `own_mean` gives them the mean of the
    sentences of all documents, where the model's part supports it, see `with_own_mean`.
    """
    decomposer = adaptable(model.decomposer, part) if own_mean else None
    shift: np.ndarray | None = None
    checkpoint.mkdir(parents=True, exist_ok=True)
    vectors: list[np.ndarray] = []
    for size in range(1, join + 1):
        texts = [text for document in documents for text in document.joined(size)]
        file = checkpoint / f"{side}-{size}.npy"
        if not texts:
            vectors.append(vectors[0][:0])
            continue
        stored = text_vectors(model, texts, file, part=part, language=language, partner=partner)
        if decomposer is not None:
            shift = mean_shift(sums(stored, decomposer), decomposer) if shift is None else shift
            stored = with_own_mean(stored, decomposer, checkpoint / f"{side}-{size}.own-mean.npy", shift)
        vectors.append(stored)
    return _split(vectors, documents)


def links_of(
    documents: tuple[Document, Document], x: Sequence[np.ndarray], y: Sequence[np.ndarray], **options: Any
) -> tuple[list[Link], bool]:
    """Links of two documents (see `align`), and whether none leaves its paragraph.

    Paragraph n is linked with paragraph n if both sides have as many. If that links fewer than 95 % as many sentences
    as are linked without paragraphs, these do not match, and do not count.
    """
    lengths = documents[0].lengths(), documents[1].lengths()
    starts = documents[0].paragraphs, documents[1].paragraphs
    links = align(x, y, lengths=lengths, **options)
    if len(starts[0]) != len(starts[1]) or len(starts[0]) == 1:
        return links, len(starts[0]) == len(starts[1])
    within = align(x, y, lengths=lengths, paragraphs=starts, **options)
    linked, linked_within = (sum(link.a + link.b for link in alignment) for alignment in (links, within))
    return (within, True) if linked_within >= MATCHING * linked else (links, False)


def row_of(
    name: str, documents: tuple[Document, Document], link: Link
) -> tuple[float, str, str, str, str, str]:
    """A link for people: margin, both texts, the document's name and both sides' line numbers."""
    spans = slice(link.source, link.source + link.a), slice(link.target, link.target + link.b)
    both = list(zip(documents, spans, strict=True))
    texts = [joined(document.sentences[span]) for document, span in both]
    lines = [",".join(map(str, dict.fromkeys(document.lines[span]))) for document, span in both]
    return float(link.margin), texts[0], texts[1], printable(name), lines[0], lines[1]


def printable(name: str) -> str:
    """A file's name in one cell: what cannot be printed, or is no UTF-8, as an escape of Python."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in name)


def _files(folder: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    litter: list[str] = []
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if not path.is_file():
            continue
        if any(part.startswith(".") or part.lower() in LITTER for part in place.parts):
            litter.append(str(place))
            continue
        name = normalize("NFC", str(place.with_suffix("") if place.suffix.lower() in PACKED else place))
        if name in files:
            raise DataError(f"{printable(str(files[name]))} and {printable(str(path))} have one name")
        files[name] = path
    if litter:
        examples = ", ".join(litter[:3]) + ", ..." * (len(litter) > 3)
        logger.info("%s: passed over %d files that are no documents: %s", folder, len(litter), examples)
    return files


def _partners(source: Collection[str], target: Collection[str]) -> dict[str, str]:
    """The target's name of each document of the source that has one: the same, in another case, or with another ending.

    A name in another case, or without its ending, counts where each folder has it once among the names that are left.
    """
    partners = {name: name for name in source if name in target}
    for plain in (str.casefold, lambda name: str(PurePath(name).with_suffix(""))):
        rest = [name for name in source if name not in partners], {*target} - {*partners.values()}
        ours, theirs = (_groups(plain, names) for names in rest)
        for key, names in ours.items():
            if len(names) == len(theirs.get(key, ())) == 1:
                partners[names[0]] = theirs[key][0]
    return partners


def _groups(plain: Callable[[str], str], names: Iterable[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in sorted(names):
        groups.setdefault(plain(name), []).append(name)
    return groups


def _document(path: Path, language: str | None) -> Document:
    lines = read_sentences(path)
    blocks = list(split(lines, language) if language else paragraphs(lines))
    numbers, texts = zip(*chain.from_iterable(blocks), strict=True) if blocks else ((), ())
    return Document(texts, numbers, [0, *accumulate(map(len, blocks[:-1]))])


def _split(vectors: Sequence[np.ndarray], documents: Sequence[Document]) -> Iterator[list[np.ndarray]]:
    """The vectors of each document, one array for each number of joined sentences."""
    starts = [0] * len(vectors)
    for document in documents:
        stops = [start + max(len(document.sentences) - joined, 0) for joined, start in enumerate(starts)]
        yield [rows[start:stop] for rows, start, stop in zip(vectors, starts, stops, strict=True)]
        starts = stops
