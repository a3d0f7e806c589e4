"""Translations out of two folders of documents, of which those of the same name translate each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from orthoglot.apply.align import Link, align
from orthoglot.apply.mine import about_pairs, write_pairs, write_summary
from orthoglot.apply.model import Model
from orthoglot.apply.text_vectors import text_vectors
from orthoglot.corpora.bitext import read_lines
from orthoglot.errors import DataError
from orthoglot.progress import Meter

PACKED = (".gz", ".zst")
SIDES = ("source", "target")


class Document(NamedTuple):
    """One side of a document: its sentences in their order without blank lines, and their line numbers from 1."""

    sentences: list[str]
    lines: list[int]

    def joined(self, size: int) -> list[str]:
        """Each sentence with the size - 1 after it as one text."""
        starts = range(len(self.sentences) - size + 1)
        return [" ".join(self.sentences[start : start + size]) for start in starts]


class Folders(NamedTuple):
    """The documents of two folders.

    Attributes:
        pairs: source and target by name; both have text.
        unmatched: names that only the source folder has, and those that only the target folder has.
        empty: names that both have, without text on one side or both.
    """

    pairs: dict[str, tuple[Document, Document]]
    unmatched: tuple[list[str], list[str]]
    empty: list[str]


def read_folders(source: Path, target: Path) -> Folders:
    """Read the documents of two folders and the folders in them, in the order of their names.

    A name is the path within the folder without .gz or .zst; a file or folder that starts with a dot is left out.

    Raises:
        DataError: two files of a folder have one name; no document is in both folders, or none with text in both.
    """
    files = _files(source), _files(target)
    pairs, empty = {}, []
    for name in sorted(files[0].keys() & files[1].keys()):
        sides = _document(files[0][name]), _document(files[1][name])
        if all(side.sentences for side in sides):
            pairs[name] = sides
        else:
            empty.append(name)
    if not pairs:
        fault = "no document has text on both sides" if empty else "no file has the same name in both"
        raise DataError(f"{source} and {target}: {fault}")
    only = sorted(files[0].keys() - files[1].keys()), sorted(files[1].keys() - files[0].keys())
    return Folders(pairs, only, empty)


def align_folders(
    model: Model,
    folders: Folders,
    output: Path,
    checkpoint: Path,
    *,
    languages: tuple[str | None, str | None] = (None, None),
    part: str = "meaning",
    join: int = 2,
    numbers: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Write the pairs, margin TAB source TAB target, in the documents' order, and OUTPUT.json with a summary of them.

    Vectors are in files of `checkpoint`, not in memory; an interrupted call goes on from them.

    Args:
        model: as of `Model.load`.
        folders: the documents.
        output: TSV file.
        checkpoint: folder of the vectors; it stays.
        languages: of the two sides, where the model needs them.
        part: of the vectors.
        join: sentences of one side in a pair; 2 finds 1-1, 1-2 and 2-1, 3 also 1-3, 3-1 and 2-2.
        numbers: add the document and the line numbers of source and target, with commas, as three more columns.
        options: of `orthoglot.apply.align.align`.
    Returns:
        The summary: documents, unmatched and empty ones by name, sentences of each side and those of them in no pair,
        pairs by kind, and what `orthoglot.apply.mine.about_pairs` counts.
    """
    checkpoint.mkdir(parents=True, exist_ok=True)
    sides = [[pair[side] for pair in folders.pairs.values()] for side in (0, 1)]
    vectors: list[list[np.ndarray]] = [[], []]
    for side, documents in enumerate(sides):
        for size in range(1, join + 1):
            texts = [text for document in documents for text in document.joined(size)]
            file = checkpoint / f"{SIDES[side]}-{size}.npy"
            how: dict[str, Any] = {"part": part, "language": languages[side], "partner": languages[1 - side]}
            vectors[side].append(text_vectors(model, texts, file, **how) if texts else vectors[side][0][:0])
    rows, kinds, paired = [], Counter[str](), np.zeros(2, dtype=int)
    with Meter(total=len(folders.pairs), label="align", unit="documents") as meter:
        blocks = zip(_split(vectors[0], sides[0]), _split(vectors[1], sides[1]), strict=True)
        for (name, pair), (x, y) in zip(folders.pairs.items(), blocks, strict=True):
            links = align(x, y, **options)
            rows += [_row(name, pair, link) for link in links]
            kinds.update(f"{link.a}-{link.b}" for link in links)
            paired += np.sum([link[2:4] for link in links] or [(0, 0)], axis=0)
            meter.add()
    write_pairs(output, (row if numbers else row[:3] for row in rows))
    summary: dict[str, Any] = {"documents": len(folders.pairs), "empty": [*map(printable, folders.empty)]}
    for side, documents in enumerate(sides):
        total = sum(len(document.sentences) for document in documents)
        summary[SIDES[side]] = {
            "sentences": total,
            "left_out": total - int(paired[side]),
            "unmatched": [*map(printable, folders.unmatched[side])],
        }
    summary |= {
        "kinds": dict(sorted(kinds.items())),
        **about_pairs([(row[1], row[2]) for row in rows], np.array([float(row[0]) for row in rows])),
        "options": {"part": part, "languages": languages, "join": join, **options},
        "model": model.identity,
    }
    write_summary(output, summary)
    return summary


def printable(name: str) -> str:
    """A file's name in one cell: what cannot be printed, or is no UTF-8, as an escape of Python."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in name)


def _files(folder: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if not path.is_file() or any(part.startswith(".") for part in place.parts):
            continue
        name = str(place.with_suffix("") if place.suffix in PACKED else place)
        if name in files:
            raise DataError(f"{printable(str(files[name]))} and {printable(str(path))} have one name")
        files[name] = path
    return files


def _document(path: Path) -> Document:
    lines = [(number, text) for number, line in enumerate(read_lines(path), 1) if (text := line.strip())]
    return Document([text for _, text in lines], [number for number, _ in lines])


def _split(vectors: Sequence[np.ndarray], documents: Sequence[Document]) -> Iterator[list[np.ndarray]]:
    """The vectors of each document, one array for each number of joined sentences."""
    starts = [0] * len(vectors)
    for document in documents:
        stops = [start + max(len(document.sentences) - joined, 0) for joined, start in enumerate(starts)]
        yield [one[start:stop] for one, start, stop in zip(vectors, starts, stops, strict=True)]
        starts = stops


def _row(name: str, documents: tuple[Document, Document], link: Link) -> list[str]:
    """Margin, both texts, the document's name and both sides' line numbers."""
    spans = slice(link.source, link.source + link.a), slice(link.target, link.target + link.b)
    both = list(zip(documents, spans, strict=True))
    texts = [" ".join(document.sentences[span]) for document, span in both]
    lines = [",".join(map(str, document.lines[span])) for document, span in both]
    return [f"{link.margin:.6f}", *texts, printable(name), *lines]
