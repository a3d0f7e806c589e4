"""Aligned sentences on disk: Moses pairs and TSV in, deterministic TSV out.

Line n of one side belongs to line n of the other, so only a line feed ends a line (not U+2028, a form feed or a lone
carriage return) and an empty line stays a line. A carriage return before the line feed is no part of the line.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, islice, starmap
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

import zstandard
from isal import igzip, isal_zlib

from orthoglot.atomic import replacing
from orthoglot.errors import DataError

CHUNK_BYTES = 1 << 20
LINES = 1_000  # that are paired, or written, at once
BLOCK = 20_000  # pairs or sentences that are worked on at once
LONGEST = 1 << 24  # bytes of a line
BLANK = {ord(character): " " for character in "\t\n\r"}
SIDES = ("source", "target")  # names of columns with sentences
MERGED = "<range>"  # a line of eBible's files whose text is in an earlier one


class SentencePair(NamedTuple):
    """Two sentences that translate each other."""

    source: str
    target: str


class Table(NamedTuple):
    """A table with sentence pairs.

    Attributes:
        names: of its columns; empty if no row has them.
        places: of the columns that were asked for, source first.
        rows: of sentences.
    """

    names: list[str]
    places: list[int]
    rows: Iterator[list[str]]

    def pairs(self) -> Iterator[SentencePair]:
        """The sentences of each row."""
        source, target, *_ = self.places
        return starmap(SentencePair, map(itemgetter(source, target), self.rows))


class LeftOut(NamedTuple):
    """A message or translation unit that no pair was made of; the pair that it could make where tags alone differ."""

    reason: str
    pair: SentencePair | None = None


# What the reader of a file yields for each thing that it meets.
Item = SentencePair | LeftOut
T = TypeVar("T")


def blocks(items: Iterator[T]) -> Iterator[list[T]]:
    """As many items as are worked on at once, in order."""
    while block := list(islice(items, BLOCK)):
        yield block


def read_pairs(files: Sequence[Path]) -> Iterator[SentencePair]:
    """Stream the pairs of one TSV file or of two Moses files, source first; .gz and .zst are unpacked.

    Raises:
        DataError: a file is missing, empty, truncated or not UTF-8; a TSV line has not two columns; the Moses
            files have different numbers of lines.
    """
    if len(files) == 1:
        return starmap(SentencePair, read_rows(files[0], 2))
    source, target = files
    return aligned(read_lines(source), read_lines(target), str(source), str(target))


def aligned(
    source: Iterator[str], target: Iterator[str], source_name: str, target_name: str
) -> Iterator[SentencePair]:
    """Pair the lines of two texts.

    Raises:
        DataError: the texts have different numbers of lines, or none.
    """
    paired = 0
    while True:
        first, second = list(islice(source, LINES)), list(islice(target, LINES))
        if len(first) != len(second):
            counts = [
                paired + len(some) + sum(1 for _ in rest)
                for some, rest in ((first, source), (second, target))
            ]
            raise DataError(f"{source_name} has {counts[0]} lines but {target_name} has {counts[1]}")
        if not first:
            break
        yield from map(SentencePair, first, second)
        paired += len(first)
    if not paired:
        raise DataError(f"{source_name} and {target_name} are empty")


def decoded(chunks: Iterable[bytes], name: str) -> Iterator[str]:
    """Split chunks of UTF-8 into lines; the last line may lack its line feed.

    Raises:
        DataError: the bytes are not UTF-8, or a line has more than 16 MiB; the message gives the line of `name`.
    """
    rest, done = bytearray(), 0
    for chunk in chunks:
        whole, feed, end = chunk.rpartition(b"\n")
        if feed:
            text = _text(bytes(rest + whole + feed), name, done).replace("\r\n", "\n")
            lines = text.removesuffix("\n").split("\n")
            done += len(lines)
            yield from lines
            rest.clear()
        rest += end
        if len(rest) > LONGEST:
            raise DataError(f"{name}: line {done + 1} is longer than {LONGEST >> 20} MiB: no text of lines")
    if rest:
        yield _text(bytes(rest), name, done)


def write_pairs(path: Path, pairs: Iterable[Sequence[str]]) -> int:
    """Write pairs, or rows of more columns, as gzipped TSV and return their number; equal pairs give equal bytes.

    A tab, line feed or carriage return inside a sentence becomes a space.

    Raises:
        DataError: half a character, as JSON can have it (\\ud800).
    """
    count = 0
    with (
        replacing(path) as partial,
        partial.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as file,
    ):
        for row in pairs:
            cells = (cell.translate(BLANK) for cell in row)
            try:
                file.write("\t".join(cells) + "\n")
            except UnicodeEncodeError as error:
                raise DataError(f"{path}: row {count + 1} has half a character ({error.reason})") from error
            count += 1
    return count


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines, each with a line feed: .gz and .zst are packed, "-" is standard output.

    A file is there whole or not at all; one that is packed has the same bytes for the same lines.
    """
    if str(path) == "-":
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return
    rest = iter(lines)
    texts = iter(lambda: "".join(f"{line}\n" for line in islice(rest, LINES)), "")
    write_bytes(path, (text.encode() for text in texts))


def write_bytes(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file as `write_lines` does: whole or not at all, packed as its name says."""
    with replacing(path) as partial, partial.open("wb") as raw, _packed(path.suffix, raw) as file:
        for chunk in chunks:
            file.write(chunk)


def _packed(suffix: str, raw: BinaryIO) -> AbstractContextManager[BinaryIO]:
    """What packs all that is written to it into `raw`, as the name of the file asks for."""
    if suffix == ".gz":
        return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0))
    if suffix == ".zst":
        return cast(BinaryIO, zstandard.ZstdCompressor(write_checksum=True).stream_writer(raw, closefd=False))
    return nullcontext(raw)


def read_rows(path: Path, columns: int = 0) -> Iterator[list[str]]:
    """Stream the lines of a TSV file, split at tabs; a quotation mark is a character like any other.

    Raises:
        DataError: the file is missing, empty, truncated or not UTF-8; a line has not `columns` columns (0: as
            many as the first one).
    """
    lines, done = read_lines(path), 0
    while rows := [line.split("\t") for line in islice(lines, LINES)]:
        columns = columns or len(rows[0])
        sizes = [*map(len, rows)]
        if sizes.count(columns) < len(sizes):
            place, size = next((place, size) for place, size in enumerate(sizes) if size != columns)
            raise DataError(f"{path}: line {done + place + 1} has {size} columns, not {columns}")
        yield from rows
        done += len(rows)
    if not done:
        raise DataError(f"{path} is empty")


def read_table(path: Path, *, quoted: bool = False) -> Iterator[list[str]]:
    """Stream the rows of a table, all of as many cells: CSV where the name ends with .csv, and else TSV.

    Args:
        path: the file; .csv.gz and .csv.zst are CSV as well.
        quoted: whether cells of TSV are quoted as those of CSV are.
    Raises:
        DataError: as of `read_rows`; a cell is larger than the csv module takes, as after a quote that never ends.
    """
    comma = ".csv" in path.suffixes[-2:]
    if not comma and not quoted:
        yield from read_rows(path)
        return
    lines = (f"{line}\n" for line in read_lines(path))
    if not (first := next(lines, "").removeprefix("\ufeff")):
        raise DataError(f"{path} is empty")
    rows = csv.reader(chain([first], lines), delimiter="," if comma else "\t")
    columns = 0
    try:
        for row in rows:
            columns = columns or len(row)
            if len(row) != columns:
                raise DataError(f"{path}: line {rows.line_num} has {len(row)} columns, not {columns}")
            yield row
    except csv.Error as error:
        raise DataError(f"{path}: line {rows.line_num + 1}: {error}") from error


def places_of(path: Path, first: Sequence[str], columns: Sequence[str | int]) -> list[int]:
    """Where the columns of a table are, by their names in its first row, or by their numbers from 1.

    Raises:
        DataError: the first row has no such name, or fewer columns.
    """
    if missing := [column for column in columns if isinstance(column, str) and column not in first]:
        raise DataError(f"{path}: no column {', '.join(missing)}; its columns are {', '.join(first)}")
    places = [first.index(column) if isinstance(column, str) else column - 1 for column in columns]
    if max(places) >= len(first):
        raise DataError(f"{path}: line 1 has {len(first)} columns, not {max(places) + 1}")
    return places


def open_table(path: Path, columns: Sequence[str | int] = (), widths: Sequence[int] = (2,)) -> Table:
    """The rows of a TSV or CSV file, and in which columns the sentences are.

    The first row is no pair if it has the names `source` and `target`, or if `columns` are names.

    Args:
        path: the file.
        columns: by name, or by number from 1; those called source and target if not given.
        widths: how many columns a table without names may have, all of which then count.
    Raises:
        DataError: as of `read_table` and `places_of`; nothing says which columns have the sentences.
    """
    rows = read_table(path)
    first = next(rows)
    names = [first[0].removeprefix("\ufeff"), *first[1:]]
    named = {*SIDES} <= {*names} or any(isinstance(column, str) for column in columns)
    if not columns and not named and len(first) not in widths:
        raise DataError(
            f"{path}: line 1 has {len(first)} columns, not {' or '.join(map(str, widths))}, and no names source and "
            "target; say which have sentences: --columns 2,3"
        )
    columns = columns or (SIDES if named else range(1, len(first) + 1))
    places = places_of(path, names, columns)
    return Table(names if named else [], places, rows if named else chain([first], rows))


def read_lines(path: Path) -> Iterator[str]:
    """Stream the lines of a text file; .gz and .zst are unpacked.

    Raises:
        DataError: the file is missing, truncated or not UTF-8.
    """
    return decoded(unpacked(path), str(path))


def read_json(path: Path) -> Iterator[tuple[int, Any]]:
    """Stream the values of a file with one in JSON on each line, with the lines' numbers from 1.

    Raises:
        DataError: as of `read_lines`; a line is not JSON.
    """
    for number, line in enumerate(read_lines(path), 1):
        try:
            yield number, json.loads(line)
        # Of too many digits, or too many brackets.
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}: line {number} is no JSON ({error})") from error


def unpacked(path: Path) -> Iterator[bytes]:
    """The file's bytes in chunks, decompressed according to its first bytes; "-" is standard input.

    Raises:
        DataError: the file is missing or truncated.
    """
    try:
        with nullcontext(_standard_input()) if str(path) == "-" else path.open("rb") as raw:
            magic = raw.peek(4)[:4]
            if magic[:2] == b"\x1f\x8b":
                with igzip.open(raw) as file:
                    yield from iter(lambda: file.read(CHUNK_BYTES), b"")
                return
            chunks = iter(lambda: raw.read(CHUNK_BYTES), b"")
            yield from _unpacked_zst(chunks) if magic == b"\x28\xb5\x2f\xfd" else chunks
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist") from error
    except (EOFError, gzip.BadGzipFile, isal_zlib.error, zstandard.ZstdError) as error:  # type: ignore[misc]
        raise DataError(f"{path} is truncated or corrupt: {error}") from error


def _standard_input() -> io.BufferedReader:
    return io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer))


def _unpacked_zst(chunks: Iterable[bytes]) -> Iterator[bytes]:
    # The library's own stream reader takes a truncated file for a complete one; frames may follow one another.
    frame = zstandard.ZstdDecompressor().decompressobj()
    begun = False
    for chunk in chunks:
        while chunk:
            yield frame.decompress(chunk)
            begun = not frame.eof
            chunk = frame.unused_data
            if frame.eof:
                frame = zstandard.ZstdDecompressor().decompressobj()
    if begun:
        raise EOFError("the last zstd frame is truncated")


def _text(line_bytes: bytes, name: str, done: int) -> str:
    try:
        return line_bytes.decode()
    except UnicodeDecodeError as error:
        line = done + line_bytes.count(b"\n", 0, error.start) + 1
        raise DataError(f"{name}: line {line} is not UTF-8 ({error.reason})") from error
