"""Sentence pairs of any corpus, read by the module of its form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator, SerializeAsAny

from orthoglot.errors import ConfigError
from orthoglot.formats import kinds
from orthoglot.formats.base import Source
from orthoglot.registry import having, load
from orthoglot.text import signatures
from orthoglot.text.bitext import (
    BLANK,
    NUL,
    BadRow,
    Item,
    LeftOut,
    SentencePair,
    bad_row,
    blocks,
    unpacked,
    write_bytes,
)
from orthoglot.text.detokeniser import detokenised
from orthoglot.text.hashes import BINS, bins_of, hashes
from orthoglot.text.tables import SHOWN, check_few

PACKED = (".gz", ".zst")


def parsed(values: Any) -> Source:
    """A `Source` of the class that its form has, of values from JSON."""
    if isinstance(values, Source):
        return values
    form = load(kinds, values["kind"]) if isinstance(values, dict) and "kind" in values else None
    source: Source = getattr(form, "Source", Source).model_validate(values)
    return source


# `Source` itself would be asked as well, and some forms read something else than `paths`.
AnySource = Annotated[SerializeAsAny[Source], PlainValidator(parsed)]


def form_of(paths: list[str]) -> str:
    """The form of a user's files: that whose `SUFFIXES` their names end with, or else `local`, sentence pairs.

    Raises:
        ConfigError: a translation memory is not the only file, or is compressed where its form is not.
    """
    endings = having(kinds, "SUFFIXES")

    def form(path: str) -> str:
        return next((name for name, ends in endings.items() if path.lower().endswith(ends)), "local")

    forms = {form(path) for path in paths}
    for path in map(PurePath, paths):
        if path.suffix.lower() in PACKED and form(str(path)) != form(str(path.with_suffix(""))):
            raise _packed(path)
    _check_alone(paths, forms)
    return forms.pop()


def _packed(path: PurePath) -> ConfigError:
    return ConfigError(f"{path}: unpack it; files of this form are read uncompressed")


def _check_alone(paths: Sequence[str], forms: set[str]) -> None:
    if len(paths) > 1 and forms not in ({"local"}, {"csv"}):
        raise ConfigError(f"{', '.join(paths)}: a translation memory holds both languages; name one file")


def form_of_content(path: Path) -> str:
    """The form that a file begins as, whatever its name says: tmx, xliff, po, or json for a table of lines of JSON.

    Returns:
        "" if it does not exist, or begins as any table or text may.
    Raises:
        ConfigError: it is a message catalogue that is packed.
        DataError: it holds no sentences, see `signatures.form_of`.
    """
    if not path.is_file():
        return ""
    chunks, head = unpacked(path), b""
    while len(head) < signatures.HEAD_BYTES and (chunk := next(chunks, b"")):
        head += chunk
    form = signatures.form_of(head[: signatures.HEAD_BYTES], str(path))
    if form == "po":
        with path.open("rb") as file:
            if file.read(2) != head[:2]:
                raise _packed(path)
    return form


def source_of(name: str, paths: Sequence[str], columns: Sequence[str | int] = ()) -> Source:
    """A user's files as a source: a table, two files of lines that translate each other, or a translation memory.

    Args:
        name: of the source.
        paths: of its files; "-" is standard input.
        columns: of a table, source first; those that its first row names source and target if not given.
    Raises:
        ConfigError: too many files, see `form_of`, or columns of files that have none.
        DataError: a file begins as something else than text, see `form_of_content`.
    """
    named = " ".join(paths)
    if len(paths) > 2 or list(paths).count("-") > 1:
        raise ConfigError(f"{named}: give one file, or a source and its translation")
    kind = form_of(list(paths))
    begun = [form_of_content(Path(path)) for path in paths if path != "-"]
    if forms := {*begun} - {""}:
        kind = "local" if forms == {"json"} else (forms - {"json"}).pop()
        _check_alone(paths, {kind})
    if columns and kind == "local" and len(paths) == 1:
        kind = "csv"
    if bool(columns) != (kind == "csv") and (columns or len(paths) == 2):
        raise ConfigError(
            f"{named}: no table, so leave --columns out"
            if columns
            else f"{named}: say --columns, one of each file"
        )
    values = {"name": name, "kind": kind, "paths": list(paths)}
    return parsed(values | ({"columns": list(columns)} if columns else {}))


def read_source(
    source: Source,
    first: str,
    second: str,
    judge: Callable[[Iterator[Item]], Iterator[Item]] = iter,
    *,
    nul: bool = True,
) -> Iterator[Item]:
    """The pairs of a source in two languages, and a `LeftOut` for each thing that made none.

    Args:
        source: its files.
        first: language of the source side.
        second: language of the other side.
        judge: gets all items in the order of the files, before a sample is taken, and may replace them. For a sample
            it is called twice.
        nul: whether a NUL character is text, which `orthoglot.corpora.cleaning` makes a space; if not, the pair is a
            bad row. In a table the row always is.
    Raises:
        ConfigError: a package is not installed.
        DataError: a file cannot be read, or has nothing in these languages, or more than one row in a hundred is bad.
    """

    def read() -> Iterator[Item]:
        return judge(_items(source, first, second))

    items = sampled(read, source.max_pairs) if source.max_pairs else read()
    if source.detokenise:
        # Only what is used is put together: that takes longer than reading.
        items = detokenised(items, first, second)
    items = items if nul else _without_nul(items)
    bad: list[BadRow] = []
    count = total = 0
    for item in items:
        total += 1
        if isinstance(item, LeftOut) and item.row:
            count += 1
            bad += [item.row] * (count <= SHOWN)
        yield item
    if count:
        check_few(source.name, bad, count, total)


def _items(source: Source, first: str, second: str) -> Iterator[Item]:
    items: Iterator[Item] = load(kinds, source.kind).read(source, *(source.tags or (first, second)))
    return items


def _without_nul(items: Iterator[Item]) -> Iterator[Item]:
    """The items; a pair with a NUL character is a bad row."""
    for number, item in enumerate(items, 1):
        if isinstance(item, SentencePair) and (NUL in item.source or NUL in item.target):
            yield bad_row(number, "has a NUL character", "\t".join(item))
        else:
            yield item


def write_bad_rows(output: Path, texts: Iterable[tuple[Source, str, str]], *, nul: bool = True) -> None:
    """Write the bad rows of sources in two languages, however many: see `bad_lines`, and `read_source` for `nul`."""

    def lines() -> Iterator[bytes]:
        for source, first, second in texts:
            items = _items(source, first, second)
            items = items if nul else _without_nul(items)
            yield from bad_lines(
                source.name, (item.row for item in items if isinstance(item, LeftOut) and item.row)
            )

    write_bytes(output, lines())


def bad_lines(name: str, rows: Iterable[BadRow]) -> Iterator[bytes]:
    """Bad rows as lines of a file: name of the text, line, fault, and the row with the bytes that it has."""
    for row in rows:
        about = (
            name.translate(BLANK),
            str(row.line),
            row.fault.translate(BLANK),
            row.content.replace("\n", " "),
        )
        yield ("\t".join(about) + "\n").encode(errors="surrogateescape")


def sampled(read: Callable[[], Iterator[Item]], most: int) -> Iterator[Item]:
    """At most so many pairs, those with the lowest hashes, and a `LeftOut` for each other one.

    The text is read twice, once to count the hashes. A pair stays in the sample whatever text is added or removed, as
    long as its hash is low enough; pairs with the same first two bytes of the hash count in the order of the text.
    """
    bins = np.zeros(BINS, dtype=np.int64)
    for block in blocks(item for item in read() if isinstance(item, SentencePair)):
        bins += np.bincount(_bins(block), minlength=BINS)
    if bins.sum() <= most:
        yield from read()
        return
    edge = int(np.searchsorted(bins.cumsum(), most))
    room = most - int(bins[:edge].sum())
    for items in blocks(read()):
        places = iter(_bins([item for item in items if isinstance(item, SentencePair)]).tolist())
        for item in items:
            if isinstance(item, SentencePair):
                place = next(places)
                room -= place == edge
                taken = place < edge or (place == edge and room >= 0)
                yield item if taken else LeftOut("over_max_pairs")
            else:
                yield item


def _bins(pairs: Sequence[SentencePair]) -> np.ndarray:
    return bins_of(hashes(("\t".join(pair) for pair in pairs), b"sample"))
