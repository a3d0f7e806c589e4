"""Sentence pairs of a user's files, with all that stands beside them, and back into files."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from orthoglot.errors import ConfigError
from orthoglot.formats import kinds, po_output, tmx_output, xliff_output
from orthoglot.formats.base import Source
from orthoglot.formats.cells import Cell, text_of
from orthoglot.formats.sources import PACKED, read_source, source_of
from orthoglot.languages import canonical
from orthoglot.registry import load
from orthoglot.text.bitext import BLANK, SIDES, LeftOut, SentencePair, open_table, write_bytes, write_lines

Languages = tuple[str | None, str | None]
JSON_LINES, TMX, TABLE = ".jsonl", ".tmx", ".tsv"
# Forms of a memory whose units are left out or get notes, by the kind that reads them.
PO, XLIFF = ".po", ".xliff"
REWRITTEN = {"tmx": TMX, "po": PO, "xliff": XLIFF}
# Forms that are read and not written: a name that ends with one is a mistake.
NOT_WRITTEN = (".csv", ".mo")

logger = logging.getLogger(__name__)


class Pairs(NamedTuple):
    """Sentence pairs in the order of their files.

    Attributes:
        pairs: source and translation.
        languages: of the two sides, as far as they are known.
        named: whether a first row of a table has names of columns.
        names: these, or source, target, column3.
        rows: all cells of each pair, those of other columns included.
        places: of the columns that were asked for, source first.
        memory: the file of a translation memory, else None.
        units: the number of each pair among the units of a translation memory, from 0.
        left_out: why a unit made no pair, by its number.
        form: of the memory, in which it can be written again: ".tmx", ".po" or ".xliff"; "" of another file.
    """

    pairs: list[SentencePair]
    languages: Languages
    named: bool
    names: list[str]
    rows: list[list[str]]
    places: list[int]
    memory: Path | None
    units: list[int]
    left_out: dict[int, str]
    form: str = ""

    def with_columns(self, names: Sequence[str]) -> Pairs:
        """The same pairs, of a memory with further columns: what `write` added to its units under these names.

        It is unchanged where no unit has the first of them.
        """
        if not self.memory:
            return self
        stored = {
            TMX: tmx_output.stored,
            PO: po_output.stored,
            XLIFF: xliff_output.stored,
        }[self.form](self.memory)
        cells = [stored.get(unit, {}) for unit in self.units]
        if not any(names[0] in one for one in cells):
            return self
        rows = [
            [*row, *(one.get(name, "") for name in names)] for row, one in zip(self.rows, cells, strict=True)
        ]
        return self._replace(named=True, names=[*self.names, *names], rows=rows)

    def check_output(self, output: Path) -> None:
        """Refuse a file before the work, see `check_output`; JSON lines have no two columns of one name."""
        check_output(output, self.languages, self.form)
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
    ) -> None:
        """Write some pairs with all their columns and further ones.

        A table has a first row of names if the pairs had one, or if columns are added. From a memory to the same form,
        all of a chosen unit stays as it is; what is added is a <prop> of TMX, or a note.

        Args:
            output: file, see `write_rows`.
            added: names of the further columns; one that is there already keeps its place and gets the new cells.
            chosen: numbers of pairs from 0, and their further cells.
            others: from a memory to its form, units without a pair are written, too, with the reason under this name.
            without: names of columns, or of what was added to a memory, that are left out.
        """
        form = form_of_output(output)
        if self.memory and form == self.form:
            kept: dict[int, Mapping[str, Cell]] = {}
            if others:
                kept |= {unit: {others: reason} for unit, reason in self.left_out.items()}
            removed = dict.fromkeys(without)
            kept |= {
                self.units[number]: removed | dict(zip(added, cells, strict=True)) for number, cells in chosen
            }
            write_bytes(output, self._units_kept(self.memory, kept, whole=not others))
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
            languages=self.languages,
            places=[old.index(place) for place in self.places[:2]],
            named=self.named or bool(added),
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
    markup: bool = True,
) -> Pairs:
    """All pairs of a table, of two files of lines, or of a translation memory.

    Args:
        files: one or two, see `source_of`.
        languages: of the two sides. Those of a memory in two languages may be left out.
        columns: see `source_of`.
        widths: see `open_table`.
        markup: whether units of a memory count whose sides have different tags; else they are left out.
    Raises:
        ConfigError: see `source_of`; a memory has not two languages, or does not say which.
        DataError: a file cannot be read, or has no pair in these languages.
    """
    source = source_of(" ".join(map(str, files)), [*map(str, files)], columns)
    if source.kind in ("local", "csv") and len(files) == 1:
        table = open_table(files[0], columns, widths)
        first, second, *_ = table.places
        rows = [*table.rows]
        pairs = [SentencePair(row[first], row[second]) for row in rows]
        names = table.names or [f"column{number}" for number in range(1, len(rows[0]) + 1)]
        if not table.names:
            names[first], names[second] = SIDES
        return Pairs(pairs, languages, bool(table.names), names, rows, table.places, None, [], {})
    memory = len(files) == 1
    if memory:
        languages = _languages(source, languages)
    pairs, units, left_out = [], [], {}
    different = 0
    for number, item in enumerate(read_source(source, languages[0] or "", languages[1] or "")):
        if markup and isinstance(item, LeftOut) and item.pair:
            item = item.pair
            different += 1
        if isinstance(item, LeftOut):
            left_out[number] = item.reason
        else:
            pairs.append(item)
            units.append(number)
    if left_out:
        logger.info("%s: left out %s", source.name, listed(Counter(left_out.values())))
    if different:
        logger.info("%s: %d pairs have different tags on their sides, and are kept", source.name, different)
    form = "" if files[0].suffix.lower() == ".mo" else REWRITTEN.get(source.kind, "")
    rows = [[*pair] for pair in pairs]
    rewritten = files[0] if form else None
    return Pairs(pairs, languages, False, [*SIDES], rows, [0, 1], rewritten, units, left_out, form)


def listed(counts: Counter[str]) -> str:
    """Counts in words, by name: 3 copy, 90 kept."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _languages(memory: Source, given: Languages) -> tuple[str, str]:
    """The languages of a memory, those that were given first; the others are those that it states."""
    wanted = [code and canonical(code) for code in given]
    held: list[str] = []
    if None in wanted:
        stated = getattr(load(kinds, memory.kind), "stated", None)
        held = stated(Path(memory.paths[0])) if stated else []
    rest = [code for code in held if code not in wanted]
    if len(rest) != wanted.count(None):
        about = f"it has {', '.join(held)}" if held else "it does not state both"
        raise ConfigError(
            f"{memory.name}: name its languages with --source-language and --target-language; {about}"
        )
    source, target = (code or rest.pop(0) for code in wanted)
    return source, target


def form_of_output(output: Path) -> str:
    """The form that the name of a file asks for: .jsonl, .tmx, .po, .xliff, or else .tsv."""
    suffix = (output.with_suffix("") if output.suffix in PACKED else output).suffix
    if suffix in NOT_WRITTEN:
        raise ConfigError(f"{output}: pairs are written as .tsv, .jsonl or .tmx, not as {suffix}")
    if suffix in load(kinds, "xliff").SUFFIXES:
        return XLIFF
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


def write_rows(
    output: Path,
    names: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    languages: Languages,
    places: Sequence[int],
    named: bool = True,
) -> None:
    """Write pairs as TSV, JSON lines or TMX, as the name of the file says; .gz and .zst are packed, "-" is a TSV.

    In TSV, a tab or line break in a cell becomes a space, and numbers have six digits after the point. In TMX, other
    columns than the two sentences are <prop>.

    Args:
        output: file.
        names: of the columns.
        rows: a cell for each column; None is no text.
        languages: of the two sides, which TMX needs.
        places: of source and target.
        named: whether a TSV begins with the names.
    """
    form = form_of_output(output)
    lines: Iterable[str]
    if form == JSON_LINES:
        lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows)
    elif form == TMX:
        source, target = languages
        assert source is not None
        assert target is not None
        lines = tmx_output.tmx_lines(names, rows, (source, target), places)
    else:
        lines = (
            "\t".join(text_of(value).translate(BLANK) for value in row)
            for row in chain([names] if named else [], rows)
        )
    write_lines(output, lines)
