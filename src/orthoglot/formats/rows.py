"""Rows of sentence pairs into files: tables, lines of JSON, new translation memories."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from orthoglot.errors import ConfigError
from orthoglot.formats.cells import Cell, text_of
from orthoglot.formats.forms import ENDINGS
from orthoglot.languages import bcp47, language_of, tag_of
from orthoglot.text.bitext import BLANK, write_lines
from orthoglot.text.json_lines import JsonValue
from orthoglot.text.tables import ending_of

Languages = tuple[str | None, str | None]
# Forms of files that are written; the last two only where such a file was read.
TABLE, JSON_LINES, TMX, PO, XLIFF = ".tsv", ".jsonl", ".tmx", ".po", ".xliff"
# How cells begin that spreadsheets compute, or pass to other programs; a number is none of them.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


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
    suffix = ending_of(output)
    if suffix in ("", ".txt"):
        return TABLE
    if ENDINGS.get(suffix) == "xliff":
        return XLIFF
    if suffix not in (TABLE, JSON_LINES, TMX, PO):
        raise ConfigError(f"{output}: pairs are written as .tsv, .jsonl or .tmx, not as {suffix}")
    return suffix


def check_output(output: Path, languages: Languages, form: str = "") -> None:
    """Refuse a file of pairs before the work.

    Args:
        output: The file.
        languages: The languages of the pairs.
        form: The form of the memory that they are from, if they are from one.
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
        output: The file.
        names: The names of the columns.
        rows: A cell for each column; None is no text.
        languages: The languages of the two sides, which TMX needs: codes or tags, see `bcp47`.
        places: The columns of source and target.
        named: Whether a TSV begins with the names.
        safe: Whether a cell of a TSV with text that a spreadsheet takes for a formula gets an apostrophe before it.
    """
    form = form_of_output(output)
    lines: Iterable[str]
    if form == JSON_LINES:
        lines = (
            "{"
            + ", ".join(f"{_json(name)}: {_json(cell)}" for name, cell in zip(names, row, strict=True))
            + "}"
            for row in rows
        )
    elif form == TMX:
        from orthoglot.formats import tmx_output

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
