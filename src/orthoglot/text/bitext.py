"""Aligned sentences on disk: Moses pairs and TSV in, deterministic TSV out.

Line n of one side belongs to line n of the other, so only a line feed ends a line (not U+2028, a form feed or a lone
carriage return) and an empty line stays a line. In a text without line feeds, carriage returns end lines. Those before
a line feed are no part of the line, nor is a byte order mark at the start of a line or cell.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, islice, starmap
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, TypeVar, cast

import zstandard
from isal import igzip, isal_zlib

from orthoglot.atomic import replacing
from orthoglot.errors import ConfigError, DataError, printable
from orthoglot.text.file_signatures import utf8

CHUNK_BYTES = 1 << 20
LINES = 1_000  # that are paired, or written, at once
BLOCK = 20_000  # pairs or sentences that are worked on at once
NUL = "\0"
MARK = "\ufeff"  # a byte order mark
MARKS = re.compile(rf"(^|[\n\t]){MARK}+")
LONGEST = 1 << 24  # bytes of a line
BLANK = {ord(character): " " for character in "\t\n\r"}
SIDES = ("source", "target")  # names of columns with sentences
BAD_ROW = "bad_row"  # the reason of a row that is no pair
MERGED = "<range>"  # a line of eBible's files whose text is in an earlier one


class SentencePair(NamedTuple):
    """Two sentences that translate each other."""

    source: str
    target: str


class BadRow(NamedTuple):
    """A row of a table, or a line of two texts, that is no pair."""

    line: int  # where it begins, from 1
    fault: str  # what is wrong with it, after "line 5"
    content: str  # its text, with a lone surrogate for each byte that is not UTF-8 (`surrogateescape`)


class LeftOut(NamedTuple):
    """A message, translation unit or row that no pair was made of."""

    reason: str  # why
    row: BadRow | None = None  # a bad row
    pair: SentencePair | None = None  # what it would make where tags alone differ


# What the reader of a file yields for each thing that it meets.
Item = SentencePair | LeftOut
T = TypeVar("T")


def blocks(items: Iterator[T]) -> Iterator[list[T]]:
    """Blocks of as many items as are worked on at once, in order."""
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
    items = aligned(read_lines(source), read_lines(target), str(source), str(target))
    return cast("Iterator[SentencePair]", items)  # `read_lines` refuses what would make no pair


def aligned(
    source: Iterator[str], target: Iterator[str], source_name: str, target_name: str
) -> Iterator[Item]:
    """Pair the lines of two texts; where one is not UTF-8 (`escaped` lines), the pair is a bad row.

    Raises:
        DataError: the texts have different numbers of lines, or none.
    """
    paired = 0
    while True:
        first, second = list(islice(source, LINES)), list(islice(target, LINES))
        if len(first) != len(second):
            counts = [
                paired + len(lines) + sum(1 for _ in rest)
                for lines, rest in ((first, source), (second, target))
            ]
            raise DataError(f"{source_name} has {counts[0]} lines but {target_name} has {counts[1]}")
        if not first:
            break
        if is_text(line.replace(NUL, "") for line in chain(first, second)):
            yield from map(SentencePair, first, second)
        else:
            for number, (source_line, target_line) in enumerate(zip(first, second, strict=True), paired + 1):
                faults = (
                    (name, fault_of(line.replace(NUL, "")))
                    for name, line in ((source_name, source_line), (target_name, target_line))
                )
                fault = ", ".join(f"{fault} in {name}" for name, fault in faults if fault)
                yield (
                    bad_row(number, fault, f"{source_line}\t{target_line}")
                    if fault
                    else SentencePair(source_line, target_line)
                )
        paired += len(first)
    if not paired:
        raise DataError(f"{source_name} and {target_name} are empty")


def decoded(chunks: Iterable[bytes], name: str, *, escaped: bool = False) -> Iterator[str]:
    """Split chunks of UTF-8, or of UTF-16 with a byte order mark, into lines; the last may lack its line feed.

    Args:
        chunks: The text's bytes.
        name: The text's name, for errors.
        escaped: Whether each byte that is not UTF-8 becomes a lone surrogate (`surrogateescape`) and is no error.
    Raises:
        DataError: the bytes are not UTF-8, or no text, or a line has more than 16 MiB; the message gives the line of
            `name`.
    """
    rest, done = bytearray(), 0
    for chunk in _ended_by_feeds(utf8(chunks, name)):
        whole, feed, end = chunk.rpartition(b"\n")
        if feed:
            text = _text(bytes(rest + whole + feed), name, done, escaped)
            while "\r\n" in text:
                text = text.replace("\r\n", "\n")
            lines = text.removesuffix("\n").split("\n")
            done += len(lines)
            yield from lines
            rest.clear()
        rest += end
        if len(rest) > LONGEST:
            raise DataError(f"{name}: line {done + 1} is longer than {LONGEST >> 20} MiB: no text of lines")
    if rest:
        yield _text(bytes(rest), name, done, escaped)


def _ended_by_feeds(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The text with a line feed for each carriage return, if its first MiB has no line feed."""
    rest = iter(chunks)
    head = bytearray()
    for chunk in rest:
        head += chunk
        if b"\n" in chunk or len(head) >= CHUNK_BYTES:
            break
    alone = b"\r" in head and b"\n" not in head
    for chunk in chain([bytes(head)], rest):
        yield chunk.replace(b"\r", b"\n") if alone else chunk


def is_text(lines: Iterable[str]) -> bool:
    """Whether no line has a NUL character or a lone surrogate."""
    text = "".join(lines)
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return NUL not in text


def fault_of(line: str) -> str:
    """Why an `escaped` line is no text, after "line 5"; "" of one that is."""
    if is_text([line]):
        return ""
    if NUL in line:
        return "has a NUL character"
    try:
        line.encode(errors="surrogateescape").decode()
    except UnicodeDecodeError as error:
        return f"is not UTF-8 ({error.reason})"
    except UnicodeEncodeError:
        pass
    return "has half a character"


def bad_row(line: int, fault: str, content: str) -> LeftOut:
    """A row that is left out, under the reason `bad_row`."""
    return LeftOut(BAD_ROW, BadRow(line, fault, content))


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

    A terminal gets control characters as escapes (`printable`), but for line feeds and tabs. A file is there whole or
    not at all; one that is packed has the same bytes for the same lines.
    """
    if str(path) == "-":
        output = standard_output()
        terminal = output.isatty()
        output.writelines(f"{_shown(line) if terminal else line}\n" for line in lines)
        return
    rest = iter(lines)
    texts = iter(lambda: "".join(f"{line}\n" for line in islice(rest, LINES)), "")
    write_bytes(path, (text.encode() for text in texts))


def _shown(line: str) -> str:
    return "\n".join("\t".join(map(printable, part.split("\t"))) for part in line.split("\n"))


def write_bytes(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file as `write_lines` does: whole or not at all, packed as its name says."""
    with replacing(path) as partial, partial.open("wb") as raw, _packed(path.suffix.lower(), raw) as file:
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


def read_lines(path: Path, *, escaped: bool = False) -> Iterator[str]:
    """Stream the lines of a text file; .gz and .zst are unpacked.

    Args:
        path: The file; "-" is standard input.
        escaped: See `decoded`.
    Raises:
        DataError: the file is missing, truncated or not UTF-8.
    """
    return decoded(unpacked(path), str(path), escaped=escaped)


def read_sentences(path: Path) -> Iterator[str]:
    """Stream the lines of a text that are encoded as they are.

    Raises:
        DataError: as of `read_lines`; a line has a NUL character.
    """
    for number, line in enumerate(read_lines(path), 1):
        if NUL in line:
            raise DataError(f"{path}: line {number} has a NUL character; no line of a text is left out")
        yield line


def read_json(path: Path) -> Iterator[tuple[int, Any]]:
    """Stream the values of a file with one in JSON on each line, with the lines' numbers from 1.

    Raises:
        DataError: as of `read_lines`; a line is not JSON.
    """
    for number, line in enumerate(read_lines(path), 1):
        try:
            yield number, json.loads(line)
        # Too many digits raise the first, too many brackets the second.
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


def standard_output() -> TextIO:
    """Standard output.

    Raises:
        ConfigError: it is closed.
    """
    if sys.stdout is None:
        raise ConfigError("standard output is closed: name a file with --output")
    return sys.stdout


def _standard_input() -> io.BufferedReader:
    if sys.stdin is None:
        raise ConfigError("standard input is closed: name a file")
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


def _text(line_bytes: bytes, name: str, done: int, escaped: bool) -> str:
    try:
        text = line_bytes.decode(errors="surrogateescape" if escaped else "strict")
    except UnicodeDecodeError as error:
        line = done + line_bytes.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}: line {line} is not UTF-8 ({error.reason}): correct it, or convert the file from its encoding "
            "with iconv; no line of a text is left out"
        ) from error
    # A mark in the middle is of files that were put one after, or beside, the other.
    return MARKS.sub(r"\1", text) if MARK in text else text
