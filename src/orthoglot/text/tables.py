"""Tables of sentences: TSV, CSV with any usual separator, and lines of JSON; a row that is not like the others is bad.

A cell is text as it stands in the file, without a byte order mark.
"""

from __future__ import annotations

import csv
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import is_known, is_locale, locales, tag_of
from orthoglot.text.bitext import (
    LINES,
    SIDES,
    BadRow,
    Item,
    SentencePair,
    bad_row,
    fault_of,
    is_text,
    read_lines,
)
from orthoglot.text.file_signatures import is_object
from orthoglot.text.json_lines import JsonObject, JsonValue, objects

Languages = tuple[str | None, str | None]
Row = list[str] | BadRow
TABLES = (".tsv", ".csv", ".jsonl", ".ndjson", ".json")  # endings
SEPARATORS = "\t;,"  # of CSV; of equally good ones the first
# The first line that Excel takes the separator from.
SEPARATOR_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
QUOTED = re.compile(r'"(.*)"')
HEAD_LINES = 100  # that show the separator
WORDS_LETTERS = 15  # of a cell, on average, above which a table is no list of words
# Names of columns in the files of other tools, in small letters.
SOURCE_NAMES, TARGET_NAMES = ("source", "src"), ("target", "tgt", "trg", "mt")
MOST_BAD = 100  # one bad row of so many is left out
SHOWN = 3  # bad rows that an error names
logger = logging.getLogger(__name__)


class Table(NamedTuple):
    """A table with sentence pairs."""

    names: list[str]  # of its columns; empty if no row has them
    places: list[int]  # of the columns that were asked for, source first
    rows: Iterator[Row]  # of sentences, and those that are none
    languages: Languages = (None, None)  # of the two sides, where the table names them

    def pairs(self) -> Iterator[Item]:
        """The sentences of each row."""
        source, target, *_ = self.places
        for row in self.rows:
            yield bad_row(*row) if isinstance(row, BadRow) else SentencePair(row[source], row[target])


def open_table(
    path: Path,
    columns: Sequence[str | int] = (),
    widths: Sequence[int] = (2,),
    languages: Languages = (None, None),
) -> Table:
    """The rows of a TSV or CSV file or of lines of JSON, and in which columns the sentences are.

    The first row is no pair if it has the names `source` and `target` (or `src`, `tgt`, `trg`, `mt`, in any case), if
    its two cells name two languages and most other rows are longer than words, or if `columns` are names. Languages
    that it names choose the sides. Cells of TSV are quoted if the names are.
    Without such a row, a table has as many columns as most of the first 1,000 rows. In JSON, each line is an object.
    The columns are the keys of the first 1,000; what an object lacks is empty. The two texts by language under
    `translation` count as columns.

    Args:
        path: The file; "-" is standard input.
        columns: Names, or numbers from 1; the columns called source and target if not given.
        widths: How many columns a table without names may have, all of which then count.
        languages: The languages of the two sides, which choose the texts of a `translation`.
    Raises:
        ConfigError: a `translation` lacks these languages, or has more than two and none is given.
        DataError: the file cannot be read, or is empty; nothing says which columns have the sentences.
    """
    lines = _without_blank_end(read_lines(path, escaped=True))
    if (start := next(lines, None)) is None:
        raise DataError(f"{path} is empty")
    lines = chain([start], lines)
    if ending_of(path) in TABLES[2:] or is_object(start):
        return _json_table(path, lines, columns, languages)
    wanted = [column for column in columns if isinstance(column, str)]
    head = start.split("\t")
    bare = [QUOTED.sub(r"\1", cell) for cell in head]
    quoted = bool(SEPARATOR_LINE.fullmatch(start)) or (bare != head and _is_head(bare, wanted))
    first, rows = _after_bad(path, _rows(path, lines, wanted, quoted=quoted))
    head_rows = list(islice(rows, HEAD_LINES))
    rows = chain(head_rows, rows)
    sides = () if wanted else _sides_in(first)
    named = bool(sides or wanted)
    places = [] if sides and not columns else places_of(path, first, columns or range(1, len(first) + 1))
    stated = _languages_in([first[place] for place in places[:2]], head_rows)
    if not columns and not sides and len(first) not in widths:
        advice = "say which have sentences, e.g. --columns 2,3"
        if len(first) == 1:
            advice = "give its translation as a second file, or a table with a column for each side"
        raise DataError(
            f"{path}: line 1 has {len(first)} columns, not {' or '.join(map(str, widths))}, and no names source and "
            f"target; {advice}"
        )
    if sides and not columns:
        places = places_of(path, first, sides)
    elif stated != (None, None):
        if not named:
            logger.warning("%s: line 1 names languages, %s and %s: it is no pair", path, *stated)
        # Columns that are asked for stay; else the languages that are asked for choose.
        chosen = _sides_of(path, [tag for tag in stated if tag], first, languages)
        if not columns:
            places[:2] = places[:2] if chosen == stated else places[1::-1]
        elif chosen != stated:
            raise ConfigError(
                f"{path}: its columns are {stated[0]} and {stated[1]}, not {chosen[0]} and {chosen[1]}"
            )
        named, stated = True, chosen
    if not named:
        return Table([], places, rows)
    return Table(first, places, (row for row in rows if row is not first), stated)


def _sides_in(row: Sequence[str]) -> tuple[str, ...]:
    """The names of source and target in a first row; none if it has none."""
    sides = tuple(
        next((cell for name in names for cell in row if cell.strip().lower() == name), "")
        for names in (SOURCE_NAMES, TARGET_NAMES)
    )
    return sides if all(sides) else ()


def _languages_in(cells: Sequence[str], rows: Sequence[Row]) -> Languages:
    """Two different languages that cells of a first row name; none if the table may be a list of words.

    In such a list "is" and "no" are words. In a table of sentences, most other rows have several words or many letters.
    """
    tags = [tag_of(cell) for cell in cells]
    if (
        len(tags) != len(SIDES)
        or tags[0] == tags[1]
        or not all(tag and is_known(tag.language) for tag in tags)
    ):
        return None, None
    others = [row for row in rows[1:] if not isinstance(row, BadRow)]
    long = [sum(map(len, row)) > WORDS_LETTERS * len(row) for row in others]
    if not others or sum(long) <= len(others) / 2:
        return None, None
    return cells[0].strip(), cells[1].strip()


def _is_head(row: Sequence[str], wanted: Sequence[str] | None) -> bool:
    """Whether a first row names columns: all that are wanted, or source and target if none is; None takes any row."""
    return wanted is None or ({*wanted} <= {*row} if wanted else bool(_sides_in(row)))


def check_few(name: str, bad: Sequence[BadRow], count: int, total: int) -> None:
    """Refuse a text with many bad rows; a few are a warning.

    Args:
        name: The text's name.
        bad: The first of these rows.
        count: How many there are.
        total: How many rows there are, good and bad.
    Raises:
        DataError: more than one in a hundred is bad; names the first three.
    """
    if not count:
        return
    named = "; ".join(f"line {row.line} {row.fault}" for row in bad[:SHOWN])
    if count == total:
        raise DataError(f"{name}: {named}")
    if MOST_BAD * count > total:
        raise DataError(f"{name}: {count} of {total} rows are bad, more than one in {MOST_BAD}: {named}")
    logger.warning("%s: %d of %d rows are bad and left out: %s", name, count, total, named)


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


def read_table(path: Path, *, quoted: bool = False) -> Iterator[list[str]]:
    """Stream the rows of a table, all of as many cells: CSV where the name ends with .csv, and else TSV.

    Args:
        path: The file; .csv.gz and .csv.zst are CSV as well.
        quoted: Whether cells of TSV may be quoted, as in CSV.
    Raises:
        DataError: a row is bad, or the file is missing, empty or truncated; a cell is larger than the csv module takes,
            as after a quote that never ends.
    """
    for row in read_all_rows(path, quoted=quoted):
        if isinstance(row, BadRow):
            raise DataError(f"{path}: line {row.line} {row.fault}")
        yield row


def read_all_rows(path: Path, *, quoted: bool = False) -> Iterator[Row]:
    """The same, with the rows that are bad."""
    empty = True
    for row in _rows(path, _without_blank_end(read_lines(path, escaped=True)), quoted=quoted):
        empty = False
        yield row
    if empty:
        raise DataError(f"{path} is empty")


def _without_blank_end(lines: Iterable[str]) -> Iterator[str]:
    """The lines without empty ones behind the last of the others."""
    empty: list[str] = []
    for line in lines:
        if not line:
            empty.append(line)
            continue
        if empty:
            yield from empty
            empty.clear()
        yield line


def ending_of(path: Path) -> str:
    """The ending of a file's name without .gz or .zst, in small letters."""
    name = path.name.lower().removesuffix(".gz").removesuffix(".zst")
    return Path(name).suffix


def _rows(
    path: Path, lines: Iterator[str], wanted: Sequence[str] | None = None, *, quoted: bool = False
) -> Iterator[Row]:
    """The rows of TSV or CSV, as the name of the table says, from its `escaped` lines.

    A row is bad if it has another number of cells than most, or than a first row with the `wanted` names (`_is_head`).
    """
    comma = ending_of(path) == ".csv"
    return (
        _quoted_rows(path, lines, SEPARATORS if comma else "\t", wanted)
        if comma or quoted
        else _tab_rows(lines, wanted)
    )


def _tab_rows(lines: Iterator[str], wanted: Sequence[str] | None) -> Iterator[Row]:
    done = columns = 0
    while block := list(islice(lines, LINES)):
        rows = [line.split("\t") for line in block]
        columns = columns or _width(rows, wanted)
        if all(len(row) == columns for row in rows) and is_text(block):
            yield from rows
        else:
            numbered = enumerate(zip(block, rows, strict=True), done + 1)
            yield from (_checked(number, line, row, columns) for number, (line, row) in numbered)
        done += len(block)


def _quoted_rows(
    path: Path, lines: Iterator[str], separators: str, wanted: Sequence[str] | None
) -> Iterator[Row]:
    head = list(islice(lines, HEAD_LINES))
    done = 0
    if head and (stated := SEPARATOR_LINE.fullmatch(head[0])):
        separators, done = stated[1], 1
        del head[0]
    separator = _separator(head, separators, wanted)
    spaced = _is_spaced(head, separator)
    columns = _width([row for row, *_ in _parsed(head, separator, spaced) if row], wanted)
    for row, fault, start, content in _parsed(chain(head, lines), separator, spaced):
        if not fault:
            yield _checked(done + start, " ".join(content), row, columns)
            continue
        # A quotation mark too many can take whole rows in: each of their lines counts.
        yield BadRow(done + start, fault, content[0])
        for line, text in enumerate(content[1:], done + start + 1):
            yield BadRow(line, f"belongs to line {done + start}, which is no CSV", text)


def _is_spaced(lines: Sequence[str], separator: str) -> bool:
    """Whether quoted cells have a blank before them: "one", "eins"."""
    return any(f'"{separator} "' in line for line in lines)


def _parsed(
    lines: Iterable[str], separator: str, spaced: bool = False
) -> Iterator[tuple[list[str], str, int, list[str]]]:
    """Rows of CSV: cells, or none and the fault; the first line, from 1; all lines of the row."""
    content: list[str] = []

    def noted() -> Iterator[str]:
        for line in lines:
            content.append(line)
            yield f"{line}\n"

    rows = csv.reader(noted(), delimiter=separator, strict=True, skipinitialspace=spaced)
    while True:
        try:
            row, fault = next(rows), ""
        except StopIteration:
            return
        except csv.Error as error:
            row, fault = [], f"is no CSV ({error}); within a quoted cell a quotation mark is written twice"
        yield row, fault, rows.line_num - len(content) + 1, content[:]
        content.clear()


def _checked(line: int, content: str, row: list[str], columns: int) -> Row:
    size = f"has {len(row)} columns, not {columns}" if len(row) != columns else ""
    fault = fault_of(content) or size
    return BadRow(line, fault, content) if fault else row


def _width(rows: Sequence[Sequence[str]], wanted: Sequence[str] | None) -> int:
    """How many cells a row has: as the first one that names columns, or as most."""
    if not rows:
        return 0
    return len(rows[0]) if _is_head(rows[0], wanted) else Counter(map(len, rows)).most_common(1)[0][0]


def _separator(lines: Sequence[str], separators: str, wanted: Sequence[str] | None) -> str:
    """The separator by which the first row has the wanted names, or most rows equally many cells."""
    sizes_of: dict[str, tuple[int, int]] = {}
    for separator in separators:
        rows = [row for row, *_ in _parsed(lines, separator, _is_spaced(lines, separator))]
        if rows and wanted is not None and _is_head(rows[0], wanted):
            return separator
        sizes = Counter(len(row) for row in rows if len(row) > 1)
        size, count = max(sizes.items(), key=lambda item: item[1], default=(0, 0))
        sizes_of[separator] = count, -abs(size - len(SIDES))
    return max(sizes_of, key=lambda separator: sizes_of[separator])


def _after_bad(path: Path, rows: Iterator[Row]) -> tuple[list[str], Iterator[Row]]:
    """The first row that is good, and all rows; a DataError if there is none."""
    bad: list[BadRow] = []
    for row in rows:
        if not isinstance(row, BadRow):
            return row, chain(bad, [row], rows)
        bad.append(row)
    check_few(str(path), bad, len(bad), len(bad))
    raise DataError(f"{path} is empty")


def _json_table(
    path: Path, lines: Iterator[str], columns: Sequence[str | int], languages: Languages
) -> Table:
    items = objects(lines)
    head = list(islice(items, LINES))
    good = [row for row in head if isinstance(row, JsonObject)]
    if not good:
        bad = [row for row in head if isinstance(row, BadRow)]
        if bad[0].content[:1] in ("[", "{") and not bad[0].content.rstrip().endswith("}"):
            raise DataError(f"{path}: one value in JSON; write an object on each line, as jq -c '.[]' does")
        check_few(str(path), bad, len(bad), len(bad))
    names = [*dict.fromkeys(chain.from_iterable(row.values for row in good))]
    stated: Languages = (None, None)
    if not columns and not {*SIDES} <= {*names}:
        # A row's number, before Indonesian.
        usual = {*names} - ({"id"} - {*languages})
        codes = good[0].codes or [name for name in names if name in usual and is_locale(name)]
        stated = _sides_of(path, codes if len(codes) > 1 else [], names, languages)
        columns = [str(code) for code in stated]
    places = places_of(path, names, columns or SIDES)

    rows = (_cells(row, names, places) if isinstance(row, JsonObject) else row for row in chain(head, items))
    return Table(names, places, rows, stated)


def _cells(record: JsonObject, names: Sequence[str], places: Sequence[int]) -> Row:
    """The values of an object in the order of names; a bad row if it has other keys, or a side is no text."""
    if other := [name for name in record.values if name not in names]:
        return BadRow(record.line, f"has the key {other[0]}, not only {', '.join(names)}", record.content)
    row = [record.values.get(name, JsonValue("")) for name in names]
    for place in places[:2]:
        if isinstance(row[place], JsonValue):
            return BadRow(record.line, f"has no text under {names[place]}", record.content)
    return row


def _sides_of(
    path: Path, codes: Sequence[str], names: Sequence[str], languages: Languages
) -> tuple[str, str]:
    """The texts of the two sides, from texts by language: in the given languages, or both that there are."""
    if not codes:
        raise DataError(
            f"{path}: line 1 has the keys {', '.join(names)}, not source and target; say which have sentences: "
            "--columns english,dutch"
        )
    sides = [
        code if code is None or code in codes else next(iter(locales(code, codes, any_script=True)), "")
        for code in languages
    ]
    rest = [code for code in codes if code not in sides]
    if "" in sides or len(rest) < sides.count(None) or (None in sides and len(codes) > len(SIDES)):
        raise ConfigError(
            f"{path}: name two of its languages with --source-language and --target-language; it has {', '.join(codes)}"
        )
    source, target = (rest.pop(0) if code is None else code for code in sides)
    if source == target:
        raise ConfigError(f"{path}: both sides are {source}; it has {', '.join(codes)}")
    return source, target
