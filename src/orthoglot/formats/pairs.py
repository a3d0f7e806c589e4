"""Sentence pairs of a user's files, with all that stands beside them, and back into files."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from orthoglot.errors import ConfigError, DataError
from orthoglot.formats import kinds
from orthoglot.formats.base import Source, Unit
from orthoglot.formats.cells import Cell
from orthoglot.formats.forms import source_of
from orthoglot.formats.rows import (
    JSON_LINES,
    PO,
    TMX,
    XLIFF,
    Languages,
    check_output,
    codes_of,
    form_of_output,
    write_rows,
)
from orthoglot.formats.sources import bad_lines, read_source, write_bad_rows
from orthoglot.languages import locales, of_locale, tag_of
from orthoglot.registry import load
from orthoglot.text.bitext import NUL, SIDES, BadRow, LeftOut, SentencePair, bad_row, write_bytes
from orthoglot.text.tables import check_few, open_table

# What `orthoglot score` adds, and the <prop> of TMX that names the two languages of a score.
SCORE, LANGUAGES = "score", "languages"
# Forms of a memory whose units are left out or get notes, by the kind that reads them.
REWRITTEN = {"tmx": TMX, "po": PO, "xliff": XLIFF}
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
    memory: Path | None = None  # the file of a translation memory that can be written again
    units: Sequence[int] = ()  # the number of each pair among the units of a translation memory, from 0
    left_out: Mapping[int, str] = {}  # why a unit made no pair, by its number
    # what the two sides are called in files that are written, e.g. pt-BR; their languages where it is None
    tags: Languages = (None, None)
    form: str = ""  # form of that memory: ".tmx", ".po" or ".xliff"

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
        stored = self._output().stored(self.memory)
        cells: list[dict[str, str]] = [stored.get(unit, {}) for unit in self.units]
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

    def _output(self) -> Any:
        """The module that writes memories of this form."""
        return import_module(f"orthoglot.formats.{self.form[1:]}_output")

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
            output: The file, see `write_rows`.
            added: Names of the further columns; one that is there already keeps its place and gets the new cells.
            chosen: Numbers of pairs from 0, and their further cells.
            others: The name under which a memory of the same form gets the reasons of its units without a pair; they
                are left out if it is empty.
            without: Names of columns, or of what was added to a memory, that are left out.
            safe: See `write_rows`.
        """
        form = form_of_output(output)
        if self.memory and form == self.form:
            notes: dict[int, Mapping[str, Cell]] = {}
            if others:
                # What an earlier run added to such a unit is of another pair.
                earlier: dict[str, Cell] = dict.fromkeys((*added, *without))
                notes |= {unit: {**earlier, others: reason} for unit, reason in self.left_out.items()}
            removed, sides = dict.fromkeys(without), self._sides() if self.form == TMX else ""
            notes |= {
                self.units[number]: removed | self._about(dict(zip(added, cells, strict=True)), sides)
                for number, cells in chosen
            }
            if self.form == PO and not others:
                # A message with several texts, a plural, stays only with all that made pairs.
                content = self._output().units_kept(self.memory, notes, needed=self.units)
            else:
                content = self._output().units_kept(self.memory, notes)
            write_bytes(output, content)
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
        files: One or two, see `source_of`.
        languages: The languages of the two sides, e.g. en or pt-BR. Those of a memory in two languages may be left out.
        columns: See `source_of`.
        widths: See `open_table`.
        bad: The file for the rows that are no pairs, see `bad_lines`; it is written before they are refused.
        markup: Whether units of a memory count whose sides have different tags; else they are left out.
    Raises:
        ConfigError: see `source_of`; nobody knows a language; a memory has not two, or does not say which, or both
            sides are the same.
        DataError: a file cannot be read, or has no pair in these languages, or more than one row in a hundred is bad.
    """
    source = source_of(" ".join(map(str, files)), [*map(str, files)], columns)
    codes, tags = codes_of(languages), languages
    if source.kind in ("local", "csv") and len(files) == 1:
        return _read_table(source.name, files[0], languages, columns, widths, bad)
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
    return Pairs(
        pairs=_in_one_line(source.name, pairs),
        languages=codes,
        named=False,
        names=[*SIDES],
        rows=rows,
        places=[0, 1],
        memory=files[0] if form else None,
        units=units,
        left_out=left_out,
        tags=tags,
        form=form,
    )


def _read_table(
    name: str,
    path: Path,
    languages: Languages,
    columns: Sequence[str | int],
    widths: Sequence[int],
    bad: Path | None,
) -> Pairs:
    """All pairs of a table, see `read`."""
    table = open_table(path, columns, widths, languages)
    first, second, *_ = table.places
    rows, faulty = [], []
    for row in table.rows:
        if isinstance(row, BadRow):
            faulty.append(row)
        else:
            rows.append(row)
    if bad:
        write_bytes(bad, bad_lines(name, faulty))
    check_few(name, faulty, len(faulty), len(rows) + len(faulty))
    if not rows:
        raise DataError(f"{name}: no row has a pair")
    names = table.names or [f"column{number}" for number in range(1, len(rows[0]) + 1)]
    if not table.names:
        names[first], names[second] = SIDES
    tags = languages[0] or table.languages[0], languages[1] or table.languages[1]
    return Pairs(
        pairs=_in_one_line(name, [SentencePair(row[first], row[second]) for row in rows]),
        languages=codes_of(tags),
        named=bool(table.names),
        names=names,
        rows=rows,
        places=table.places,
        tags=tags,
    )


def read_pairs(
    files: str | Path | Sequence[str | Path],
    languages: Sequence[str | None] = (None, None),
    columns: Sequence[str | int] = (),
) -> list[tuple[str, str]]:
    """The sentence pairs of a translation memory, of a table, or of two files of lines, in their order.

    A memory is TMX, XLIFF, PO or MO. Tags, access keys and placeholders are taken out of its text, and messages without
    a translation are left out. A table is TSV, CSV or lines of JSON. All but PO and MO may be packed (.gz, .zst).

    Args:
        files: One file, or a source and its translation, where line n of one translates line n of the other.
        languages: The languages of the two sides, e.g. ("en", "pt-BR"). PO and MO need them, and a memory in more than
            two languages.
        columns: The columns of a table, source first: names, or numbers from 1. Not needed where the first row names
            source and target, or where there are two columns without names.
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
    two = isinstance(languages, list | tuple) and len(languages) == 2
    if not two or not all(tag is None or (isinstance(tag, str) and tag.strip()) for tag in languages):
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
    """The languages to read a memory in, and what written files call them.

    Languages that were given come first; the memory states the others, or has two varieties of one language.

    Raises:
        ConfigError: it does not state them, or has more; or both sides are the same.
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
