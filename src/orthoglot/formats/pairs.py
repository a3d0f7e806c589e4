"""Sentence pairs of a user's files, with all that stands beside them, and back into files."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from orthoglot.errors import ConfigError, DataError
from orthoglot.formats import kinds, po_output, tmx_output, xliff_output
from orthoglot.formats.base import Source, Unit
from orthoglot.formats.cells import Cell, text_of
from orthoglot.formats.sources import (
    PACKED,
    bad_lines,
    read_source,
    source_of,
    write_bad_rows,
)
from orthoglot.languages import bcp47, language_of, locales, of_locale, tag_of
from orthoglot.registry import load
from orthoglot.text.bitext import (
    BLANK,
    NUL,
    SIDES,
    BadRow,
    LeftOut,
    SentencePair,
    bad_row,
    write_bytes,
    write_lines,
)
from orthoglot.text.json_lines import JsonValue
from orthoglot.text.tables import check_few, open_table

Languages = tuple[str | None, str | None]
JSON_LINES, TMX, TABLE = ".jsonl", ".tmx", ".tsv"
# What `orthoglot score` adds, and the <prop> of TMX that names the two languages of a score.
SCORE, LANGUAGES = "score", "languages"
# Forms of a memory whose units are left out or get notes, by the kind that reads them.
PO, XLIFF = ".po", ".xliff"
REWRITTEN = {"tmx": TMX, "po": PO, "xliff": XLIFF}
WRITTEN = (TABLE, JSON_LINES, TMX, PO)
# How cells begin that spreadsheets compute, or pass to other programs; a number is none of them.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
LINE_BREAK = re.compile(r"[^\S\n]*\n\s*")

logger = logging.getLogger(__name__)


class Pairs(NamedTuple):
    """Sentence pairs in the order of their files."""

    # source and translation, as they are encoded: of a memory without tags, access keys and placeholders
    pairs: list[SentencePair]
    languages: Languages  # of the two sides, codes as models know them, as far as they are known
    named: bool  # whether a first row of a table has names of columns
    names: list[str]  # these, or source, target, column3
    rows: list[list[str]]  # all cells of each pair as they were read, those of other columns included
    places: list[int]  # of the columns that were asked for, source first
    memory: Path | None  # the file of a translation memory, else None
    units: list[int]  # the number of each pair among the units of a translation memory, from 0
    left_out: dict[int, str]  # why a unit made no pair, by its number
    # what the two sides are called in files that are written, e.g. pt-BR; their languages where it is None.
    tags: Languages = (None, None)
    # form of the memory, in which it can be written again: ".tmx", ".po" or ".xliff"; "" of another file
    form: str = ""

    def written(self, number: int) -> tuple[str, str]:
        """The sides of a pair as they were read."""
        source, target = (self.rows[number][place] for place in self.places[:2])
        return source, target

    def with_columns(self, names: Sequence[str]) -> Pairs:
        """The same pairs, of a memory with further columns: what `write` added to its units under these names.

        It is unchanged where no unit has the first of them for these two languages.
        """
        if not self.memory:
            return self
        stored = {
            TMX: tmx_output.stored,
            PO: po_output.stored,
            XLIFF: xliff_output.stored,
        }[self.form](self.memory)
        cells = [stored.get(unit, {}) for unit in self.units]
        sides = self._sides()
        foreign = {stated for unit in cells if (stated := unit.get(LANGUAGES, sides)) != sides}
        if foreign:
            cells = [{} if unit.get(LANGUAGES) in foreign else unit for unit in cells]
            named = " and ".join(sorted(foreign))
            logger.info("%s: its %s of %s is not that of %s", self.memory, names[0], named, sides)
        if not any(names[0] in unit for unit in cells):
            return self
        rows = [
            [*row, *(unit.get(name, "") for name in names)]
            for row, unit in zip(self.rows, cells, strict=True)
        ]
        return self._replace(named=True, names=[*self.names, *names], rows=rows)

    def _called(self) -> Languages:
        source, target = (tag or language for tag, language in zip(self.tags, self.languages, strict=True))
        return source, target

    def _sides(self) -> str:
        """What the memory calls the two sides, source first: "en-US pt-BR", also where "en" was asked for.

        A language that it has under several tags is called as it was asked for.
        """
        assert self.memory is not None
        stated = load(kinds, TMX[1:]).stated(self.memory) if self.form == TMX else []
        names = []
        for called in self._called():
            tags = {tag for tag in stated if called and tag_of(tag) == tag_of(called)}
            tags = tags or {tag for tag in stated if called and of_locale(tag) == of_locale(called)}
            names.append(tags.pop() if len(tags) == 1 else called or "")
        return " ".join(names)

    def _about(self, cells: dict[str, Cell], sides: str) -> dict[str, Cell]:
        """What is added to a unit. One of TMX may have further languages, so a score has its two beside it."""
        if self.form != TMX or SCORE not in cells:
            return cells
        return cells | {LANGUAGES: "" if cells[SCORE] is None else sides}

    def check_output(self, output: Path) -> None:
        """Refuse a file before the work, see `check_output`; JSON lines have no two columns of one name."""
        check_output(output, self._called(), self.form)
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice and form_of_output(output) == JSON_LINES:
            raise ConfigError(f"{output}: two columns have the name {twice[0]}, which JSON lines cannot say")

    def write(
        self,
        output: Path,
        added: Sequence[str],
        chosen: Iterable[tuple[int, Sequence[Cell]]],
        others: str = "",
        without: Sequence[str] = (),
        *,
        safe: bool = False,
    ) -> None:
        """Write some pairs with all their columns and further ones.

        A table has a first row of names if the pairs had one, or if columns are added. All of a chosen unit of a memory
        stays as it is in a file of the same form; what is added is a <prop> of TMX, with another one that names the two
        languages, or a note.

        Args:
            output: file, see `write_rows`.
            added: names of the further columns; one that is there already keeps its place and gets the new cells.
            chosen: numbers of pairs from 0, and their further cells.
            others: from a memory to its form, units without a pair are written, too, with the reason under this name.
            without: names of columns, or of what was added to a memory, that are left out.
            safe: see `write_rows`.
        """
        form = form_of_output(output)
        if self.memory and form == self.form:
            units: dict[int, Mapping[str, Cell]] = {}
            if others:
                # What an earlier run added to such a unit is of another pair.
                earlier: dict[str, Cell] = dict.fromkeys((*added, *without))
                units |= {unit: {**earlier, others: reason} for unit, reason in self.left_out.items()}
            removed, sides = dict.fromkeys(without), self._sides() if self.form == TMX else ""
            units |= {
                self.units[number]: removed | self._about(dict(zip(added, cells, strict=True)), sides)
                for number, cells in chosen
            }
            write_bytes(output, self._units_kept(self.memory, units, whole=not others))
            return
        names = [name for name in self.names if name not in without]
        old = [place for place, name in enumerate(self.names) if name not in without]
        further = [name for name in added if name not in names]

        def row(number: int, cells: Sequence[Cell]) -> list[Cell]:
            values = dict(zip(added, cells, strict=True))
            stays = (values.get(self.names[place], self.rows[number][place]) for place in old)
            return [*stays, *(values[name] for name in further)]

        write_rows(
            output,
            [*names, *further],
            (row(number, cells) for number, cells in chosen),
            languages=self._called(),
            places=[old.index(place) for place in self.places[:2]],
            named=self.named or bool(added),
            safe=safe,
        )

    def _units_kept(
        self, memory: Path, kept: Mapping[int, Mapping[str, Cell]], whole: bool
    ) -> Iterator[bytes]:
        """The memory with these units and what is added to them.

        Args:
            memory: its file.
            kept: by the units' numbers.
            whole: whether a message with several texts, a plural, stays only with all that made pairs.
        """
        match self.form:
            case ".po":
                return po_output.units_kept(memory, kept, self.units if whole else ())
            case ".xliff":
                return xliff_output.units_kept(memory, kept)
        return tmx_output.units_kept(memory, kept)


def read(
    files: Sequence[Path],
    languages: Languages = (None, None),
    columns: Sequence[str | int] = (),
    widths: Sequence[int] = (2,),
    bad: Path | None = None,
    markup: bool = True,
) -> Pairs:
    """All pairs of a table, of two files of lines, or of a translation memory.

    Args:
        files: one or two, see `source_of`.
        languages: of the two sides, e.g. en or pt-BR. Those of a memory in two languages may be left out.
        columns: see `source_of`.
        widths: see `open_table`.
        bad: file for the rows that are no pairs, see `bad_lines`; it is written before they are refused.
        markup: whether units of a memory count whose sides have different tags; else they are left out.
    Raises:
        ConfigError: see `source_of`; nobody knows a language; a memory has not two, or does not say which, or both
            sides are the same.
        DataError: a file cannot be read, or has no pair in these languages, or more than one row in a hundred is bad.
    """
    source = source_of(" ".join(map(str, files)), [*map(str, files)], columns)
    codes, tags = codes_of(languages), languages
    if source.kind in ("local", "csv") and len(files) == 1:
        table = open_table(files[0], columns, widths, languages)
        first, second, *_ = table.places
        rows, faulty = [], []
        for row in table.rows:
            if isinstance(row, BadRow):
                faulty.append(row)
            else:
                rows.append(row)
        _report(bad, source.name, faulty, len(rows) + len(faulty))
        if not rows:
            raise DataError(f"{source.name}: no row has a pair")
        pairs = _in_one_line(source.name, [SentencePair(row[first], row[second]) for row in rows])
        names = table.names or [f"column{number}" for number in range(1, len(rows[0]) + 1)]
        if not table.names:
            names[first], names[second] = SIDES
        tags = tags[0] or table.languages[0], tags[1] or table.languages[1]
        codes = codes_of(tags)
        return Pairs(pairs, codes, bool(table.names), names, rows, table.places, None, [], {}, tags)
    memory = len(files) == 1
    if memory:
        languages, tags = _languages(source, languages)
        codes = codes_of(languages)
    pairs, rows, units, left_out = [], [], [], {}
    counts: Counter[str] = Counter()
    different = 0
    if bad and Path("-") in files:
        raise ConfigError("--bad reads the text twice, and standard input only once: save it to a file first")
    if bad:
        write_bad_rows(bad, [(source, languages[0] or "", languages[1] or "")], nul=False)
    for number, item, written in _units(source, languages):
        if markup and isinstance(item, LeftOut) and item.pair:
            item = item.pair
            different += 1
        if isinstance(item, LeftOut):
            counts[item.reason] += 1
            left_out[number] = item.reason
        else:
            pairs.append(item)
            rows.append([*written])
            units.append(number)
    if counts:
        logger.info("%s: left out %s", source.name, listed(counts))
    if different:
        logger.info("%s: %d pairs have different tags on their sides, and are kept", source.name, different)
    # A unit may have made a pair of one of its texts.
    left_out = {number: left_out[number] for number in sorted({*left_out} - {*units})}
    form = "" if files[0].suffix.lower() == ".mo" else REWRITTEN.get(source.kind, "")
    rewritten = files[0] if form else None
    pairs = _in_one_line(source.name, pairs)
    return Pairs(pairs, codes, False, [*SIDES], rows, [0, 1], rewritten, units, left_out, tags, form)


def read_pairs(
    files: str | Path | Sequence[str | Path],
    languages: Sequence[str | None] = (None, None),
    columns: Sequence[str | int] = (),
) -> list[tuple[str, str]]:
    """The sentence pairs of a translation memory, of a table, or of two files of lines, in their order.

    A memory is TMX, XLIFF, PO or MO. Tags, access keys and placeholders are taken out of its text, and messages without
    a translation are left out. A table is TSV, CSV or lines of JSON. All but PO and MO may be packed (.gz, .zst).

    Args:
        files: one file, or a source and its translation, where line n of one translates line n of the other.
        languages: of the two sides, e.g. ("en", "pt-BR"). PO and MO need them, and a memory in more than two languages.
        columns: of a table, source first: names, or numbers from 1. Not needed where the first row names source and
            target, or where there are two columns without names.
    Returns:
        (source, target) of each pair. A line break in a sentence is a space.
    Raises:
        ConfigError: an option that does not fit the files; no such language, or both sides the same.
        DataError: a file cannot be read, or has no pair in these languages, or more than one row in a hundred is bad.

    >>> from pathlib import Path
    >>> import orthoglot
    >>> text = "en\\tnl\\nGood morning\\tGoedemorgen\\nThank you\\tDank je\\n"
    >>> _ = Path("words.tsv").write_text(text)
    >>> orthoglot.read_pairs("words.tsv", columns=["en", "nl"])
    [('Good morning', 'Goedemorgen'), ('Thank you', 'Dank je')]
    """
    if not isinstance(languages, list | tuple) or len(languages) != 2 or not all(map(_may_be_tag, languages)):
        raise ConfigError(f'languages is {languages!r}: give two codes, e.g. ("en", "pt-BR")')
    named = isinstance(columns, list | tuple) and (
        all(isinstance(column, str) for column in columns)
        or all(type(column) is int and column > 0 for column in columns)
    )
    if not named or len(columns) not in (0, 2) or len({*columns}) < len(columns):
        raise ConfigError(f'columns is {columns!r}: give two names, or two numbers from 1, e.g. ["en", "de"]')
    sides = languages[0], languages[1]
    paths = [files] if isinstance(files, str | Path) else [*files]
    if len(paths) not in (1, 2) or not all(isinstance(path, str | Path) and str(path) for path in paths):
        raise ConfigError(f"files is {files!r}: give one file, or a source and its translation")
    return [(pair.source, pair.target) for pair in read([*map(Path, paths)], sides, columns).pairs]


def _may_be_tag(language: object) -> bool:
    return language is None or (isinstance(language, str) and bool(language.strip()))


def _units(source: Source, languages: Languages) -> Iterator[Unit]:
    """What is read of a memory, or of two files of lines, whose text is written and encoded as it is."""
    first, second = (tag or "" for tag in languages)
    units = getattr(load(kinds, source.kind), "units", None)
    if units:
        bad, total = [], 0
        for unit in units(source, first, second):
            total += 1
            if isinstance(unit.item, SentencePair) and any(NUL in side for side in unit.item):
                left_out = bad_row(unit.number + 1, "has a NUL character", "\t".join(unit.item))
                bad.append(left_out.row)
                unit = unit._replace(item=left_out)
            yield unit
        check_few(source.name, [row for row in bad if row], len(bad), total)
        return
    for number, item in enumerate(read_source(source, first, second, nul=False)):
        yield Unit(number, item, item if isinstance(item, SentencePair) else SentencePair("", ""))


def _report(output: Path | None, name: str, bad: Sequence[BadRow], total: int) -> None:
    """Write bad rows, and refuse many of them, see `check_few`."""
    if output:
        write_bytes(output, bad_lines(name, bad))
    check_few(name, bad, len(bad), total)


def _in_one_line(name: str, pairs: list[SentencePair]) -> list[SentencePair]:
    """The pairs as they are encoded: each line break in a sentence, with the white space around it, is one space."""
    broken = [number for number, pair in enumerate(pairs) if "\n" in pair.source or "\n" in pair.target]
    for number in broken:
        pairs[number] = SentencePair(*(LINE_BREAK.sub(" ", side.strip()) for side in pairs[number]))
    if broken:
        logger.info(
            "%s: %d pairs have line breaks, which are spaces for the encoder and in .tsv", name, len(broken)
        )
    return pairs


def listed(counts: Counter[str]) -> str:
    """Counts in words, by name: 3 copy, 90 kept."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _languages(memory: Source, given: Languages) -> tuple[Languages, Languages]:
    """The languages to read a memory in, and what they are called in files that are written.

    Those that were given come first; the others are the languages that it states, or its two varieties of one.

    Raises:
        ConfigError: it does not state them, or has others, too; or both sides are the same.
    """
    stated_tags: list[str] = []
    if None in given and (stated := getattr(load(kinds, memory.kind), "stated", None)):
        stated_tags = stated(Path(memory.paths[0]))
    held = [tag for tag in stated_tags if of_locale(tag)]
    tags: dict[str, list[str]] = {}
    for tag in held:
        tags.setdefault(of_locale(tag) or tag, []).append(tag)
    names = [*tags] if len(tags) > 1 else held
    rest = [name for name in names if not any(tag and locales(tag, [name], any_script=True) for tag in given)]
    if len(rest) != given.count(None):
        about = f"it has {', '.join(stated_tags)}" if stated_tags else "it does not state both"
        raise ConfigError(
            f"{memory.name}: name its languages with --source-language and --target-language, in Python languages=; "
            f"{about}"
        )
    source, target = sides = [name or rest.pop(0) for name in given]
    if tag_of(source) == tag_of(target):
        raise ConfigError(
            f"{memory.name}: both sides are {source}: name two languages, or two varieties, e.g. pt-BR and pt-PT"
        )
    # A language that the file has under one tag keeps it.
    called = [
        tag or (tags[name][0] if len(tags.get(name, ())) == 1 else name)
        for tag, name in zip(given, sides, strict=True)
    ]
    return (source, target), (called[0], called[1])


def codes_of(languages: Languages) -> Languages:
    """The languages of tags, as models know them.

    Raises:
        ConfigError: nobody knows one.
    """
    source, target = (tag and language_of(tag) for tag in languages)
    return source, target


def form_of_output(output: Path) -> str:
    """The form that the name of a file asks for: .jsonl, .tmx, .po, .xliff or .tsv, which .txt and no ending are, too.

    Raises:
        ConfigError: it is not written: what a program then opens would not be what the name says.
    """
    suffix = (output.with_suffix("") if output.suffix.lower() in PACKED else output).suffix.lower()
    if suffix in load(kinds, "xliff").SUFFIXES:
        return XLIFF
    if suffix not in (*WRITTEN, ".txt", ""):
        raise ConfigError(f"{output}: pairs are written as .tsv, .jsonl or .tmx, not as {suffix}")
    return suffix if suffix in (JSON_LINES, TMX, PO) else TABLE


def check_output(output: Path, languages: Languages, form: str = "") -> None:
    """Refuse a file of pairs before the work.

    Args:
        output: file.
        languages: of the pairs.
        form: of the memory that they are from, if they are from one.
    Raises:
        ConfigError: its form is not written, or only from a file of the same form; or it is TMX, which names its
            languages, and one is not known.
    """
    asked = form_of_output(output)
    if asked in (PO, XLIFF) and asked != form:
        raise ConfigError(
            f"{output}: a {asked} file is written only where one is read; write .tsv, .jsonl or .tmx"
        )
    if asked == TMX and None in languages:
        raise ConfigError(f"{output}: TMX names its languages: give --source-language and --target-language")
    if asked == TMX and form != TMX and tag_of(languages[0] or "") == tag_of(languages[1] or ""):
        raise ConfigError(
            f"{output}: both sides are {languages[0]}, which TMX cannot tell apart: write .tsv or .jsonl"
        )


def write_rows(
    output: Path,
    names: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    languages: Languages,
    places: Sequence[int],
    named: bool = True,
    safe: bool = False,
) -> None:
    """Write pairs as TSV, JSON lines or TMX, as the name of the file says; .gz and .zst are packed, "-" is a TSV.

    In TSV, a tab or line break in a cell becomes a space, and numbers have six digits after the point. In TMX, other
    columns than the two sentences are <prop>.

    Args:
        output: file.
        names: of the columns.
        rows: a cell for each column; None is no text.
        languages: of the two sides, which TMX needs: codes or tags, see `bcp47`.
        places: of source and target.
        named: whether a TSV begins with the names.
        safe: whether a cell of a TSV with text that a spreadsheet takes for a formula gets an apostrophe before it.
    """
    form = form_of_output(output)
    lines: Iterable[str]
    if form == JSON_LINES:
        lines = (
            f"{{{', '.join(f'{_json(name)}: {_json(cell)}' for name, cell in zip(names, row, strict=True))}}}"
            for row in rows
        )
    elif form == TMX:
        source, target = languages
        assert source is not None
        assert target is not None
        lines = tmx_output.tmx_lines(names, rows, (bcp47(source), bcp47(target)), places)
    else:
        lines = (
            "\t".join(_tsv(value, safe) for value in row) for row in chain([names] if named else [], rows)
        )
    write_lines(output, lines)


def _tsv(cell: Cell, safe: bool) -> str:
    formula = (
        safe and isinstance(cell, str) and cell.lstrip('"').startswith(FORMULA) and not NUMBER.fullmatch(cell)
    )
    return "'" * formula + text_of(cell).translate(BLANK)


def _json(cell: Cell) -> str:
    """A cell as JSON has it: a value that JSON lines had without quotation marks is one again."""
    return cell or "null" if isinstance(cell, JsonValue) else json.dumps(cell, ensure_ascii=False)
