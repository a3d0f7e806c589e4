"""A paper's tables with the numbers of a run, and its claims: Markdown, HTML, CSV and JSON."""

from __future__ import annotations

import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from orthoglot.atomic import replacing
from orthoglot.drawing.page import render
from orthoglot.errors import DataError
from orthoglot.receipts import holds
from orthoglot.statistics.records import ALL, Record, read_records
from orthoglot.study.papers.claims import Outcome, claim_tables, evaluate_claims
from orthoglot.study.papers.matching import SENTENCE, Run
from orthoglot.study.papers.measured import (
    NO_DATA,
    REASONS,
    WHOLE,
    PaperCell,
    absent,
    cells,
    further_cells,
    whole_cells,
)
from orthoglot.study.papers.oracle_figure_6 import gap_figure, gap_table, gaps
from orthoglot.study.papers.published import (
    DECOMPOSER_PAPERS,
    P_AT_1,
    SUITES,
    TIME,
    Coverage,
    Paper,
    Printed,
    load_paper,
)
from orthoglot.study.report.comparisons import ORIGINAL
from orthoglot.study.report.corpus_tables import language_table, seen
from orthoglot.study.report.emma_x_figure_2 import NOTE, ROWS, panels
from orthoglot.study.report.frame import Measured, Name, Number
from orthoglot.study.report.page import LANGUAGES, TEXT_MAPS_FILE
from orthoglot.study.report.queries import GEOMETRY, SHAPES, better
from orthoglot.study.report.table import ARROWS, EMPTY, Cell, Table, markdown
from orthoglot.study.report.task_tables import examples_table
from orthoglot.study.tasks import registry
from orthoglot.study.tasks.examples import EXAMPLES, read_examples
from orthoglot.study.tasks.projections import TextMap, read_text_maps
from orthoglot.study.tasks.registry import NWAY

TEMPLATE = Path(__file__).with_name("table.html.j2")
Show = Callable[[PaperCell], Cell]
logger = logging.getLogger(__name__)


class Section(NamedTuple):
    """A table, one that is folded away below it, and a figure above it."""

    table: Table
    more: Table | None = None
    figure: Markup | None = None


def write_paper(run: Run, output: Path) -> None:
    """Write <paper>-table.md, .html, .csv and .json into a folder.

    The CSV has one row a cell, the JSON the same cells, the paper's claims, the lines of its figure of gaps, and what
    is known of the encoders' sizes. Files of these names are replaced, each whole or not at all.
    """
    paper = run.paper
    known, further, whole = cells(run), further_cells(run), whole_cells(run)
    tested = evaluate_claims(run)
    sections = [_section(run, table, known, further) for table in paper.tables]
    sections += [Section(_example_table(run, table, task)) for table, task in paper.examples.items()]
    if paper.coverage:
        sections.append(Section(_coverage_table(run, paper.coverage)))
    changes = gaps(run)
    if paper.panels:
        sections.append(Section(gap_table(run, changes), figure=gap_figure(changes)))
    if paper.maps:
        sections += [_map_section(run, text, drawn) for text, drawn in run.maps.items()] or [_no_maps(run)]
    if whole:
        sections.append(_whole_section(run, whole))
    rows = [_plain(cell.row()) for cell in known + further + whole]
    content = {
        "cells": rows,
        "claims": [outcome.row() for outcome in tested],
        "gaps": [gap.row() for gap in changes],
        "parameters": run.parameters,
        "hardware": run.hardware,
    }
    stem = f"{paper.name}-table"
    lead = _lead(known + further if paper.suite else known)
    _write(output, stem, f"{paper.title}: published and measured", lead, sections, tested, content)
    flat = [
        {name: " ".join(value) if isinstance(value, list) else value for name, value in row.items()}
        for row in rows
    ]
    _save(output / f"{stem}.csv", pd.DataFrame(flat).to_csv(index=False, lineterminator="\n"))
    logger.info("table: %s, %d cells", (output / f"{stem}.html").resolve(), len(rows))


def write_results(paper: str, results: Path, output: Path) -> None:
    """Write the tables of a paper on decomposers or of a suite.

    Args:
        paper: Its name.
        results: A report's folder, or its records, which the examples, languages and maps lie beside.
        output: A folder.
    Raises:
        ConfigError: no such paper.
        DataError: no record, or a damaged file.
    """
    about = load_paper(paper, (*DECOMPOSER_PAPERS, *SUITES))
    folder = results if results.is_dir() else results.parent
    path = folder / LANGUAGES
    try:
        languages, known = [], {}
        if holds(path):
            coverage = json.loads(path.read_text(encoding="utf-8"))
            languages, known = coverage["languages"], coverage["known"]
    except (ValueError, LookupError, TypeError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    maps: dict[str, dict[str, TextMap]] = {}
    for name, text_map in read_text_maps(folder / TEXT_MAPS_FILE).items():
        text, _, encoder = name.partition("/")
        maps.setdefault(text, {})[encoder] = text_map
    run = Run(
        about,
        Measured(read_records(results)),
        examples=read_examples(folder / EXAMPLES),
        languages=languages,
        known=known,
        maps=maps,
    )
    write_paper(run, output)


def write_claims(records: Sequence[Record], output: Path) -> None:
    """Write claims.md, claims.html and claims.json into a folder: every claim of the papers on decomposers.

    Raises:
        DataError: no record, or damaged ones.
    """
    papers, measured = [load_paper(name) for name in DECOMPOSER_PAPERS], Measured(records)
    tested = [outcome for paper in papers for outcome in evaluate_claims(Run(paper, measured))]
    title = f"Claims of {' and '.join(paper.title for paper in papers)}"
    lead = "Directional claims of the papers, tested on the records of one run."
    _write(output, "claims", title, lead, [], tested, [outcome.row() for outcome in tested])
    logger.info("%s: %d claims", output / "claims.html", len(tested))


def _write(
    output: Path,
    stem: str,
    title: str,
    lead: str,
    sections: Sequence[Section],
    tested: Sequence[Outcome],
    content: object,
) -> None:
    """The tables and claims as Markdown and HTML, and `content` as JSON."""
    claimed = claim_tables(tested)
    shown = [*(table for section in sections for table in section[:2] if table), *claimed]
    page = render(TEMPLATE, title=title, lead=lead, sections=sections, claims=claimed)
    text = json.dumps(_plain(content), indent=1, ensure_ascii=False, allow_nan=False)
    _save(output / f"{stem}.md", f"# {title}\n\n{lead}\n\n{markdown(shown)}")
    _save(output / f"{stem}.html", page)
    _save(output / f"{stem}.json", f"{text}\n")


def _plain(value: Any) -> Any:
    """Numbers rounded for a file; JSON has no infinity, which a ratio to nothing has."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else str(value)
    return value


def _save(path: Path, text: str) -> None:
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _section(run: Run, table: str, known: Sequence[PaperCell], further: Sequence[PaperCell]) -> Section:
    """A table of the paper with what the run adds and what variants change."""
    paper_cells = [cell for cell in known if cell.printed.table == table]
    others = [cell for cell in further if cell.printed.table == table]
    title = f"Table {table}: {run.paper.tables[table]}"
    kinds: dict[str, Show] = {
        "published": lambda cell: _published(cell, cell.printed.value),
        "measured": lambda cell: _number(cell, cell.measured),
        "difference": _difference,
    }
    if run.paper.suite or run.paper.base:
        paper_cells += others
    section = Section(_grid(run, title, _how(run, paper_cells), paper_cells, kinds))
    if run.paper.suite:
        return section
    if run.paper.base:
        return section._replace(more=_changes(run, f"Table {table}", paper_cells))
    note = "Encoders and methods of this run in the paper's columns."
    return section._replace(
        more=_grid(run, f"Table {table}: what the paper does not have", note, others, kinds)
    )


def _coverage_table(run: Run, printed: Coverage) -> Table:
    """The paper's encoders and those of the run, by the languages of both."""
    languages = list(dict.fromkeys((*printed.languages, *run.languages)))
    known = {
        f"{name}, published": {code: code not in unseen for code in printed.languages}
        for name, unseen in printed.unseen.items()
    }
    known |= {name: seen(languages, run.known.get(name, ())) for name in run.encoders}
    table = language_table(languages, known)
    return table._replace(title=f"Table {printed.table}: {table.title}")


def _example_table(run: Run, table: str, task: str) -> Table:
    """Sentences of this run for a paper's table of sentences; grey where there are none."""
    shown = [example for example in run.examples if example.task == task]
    listing = examples_table(task, shown)
    if not shown:
        listing = listing._replace(columns=["Examples"], rows=[[absent(NO_DATA)]])
    return listing._replace(title=f"Table {table}: {listing.title}", note=f"Of this run. {listing.note}")


def _map_section(run: Run, text: str, maps: Mapping[str, TextMap]) -> Section:
    """The paper's figure of maps for one text of the run, above the numbers of the same vectors."""
    rows = []
    for encoder in maps:
        row = [Cell(encoder)]
        for metric in SHAPES:
            shape = run.over([(Name(encoder, ORIGINAL, SENTENCE, GEOMETRY, text, metric), ALL)])
            row.append(EMPTY if shape is None else Cell(f"{shape.value:.3g}"))
        rows.append(row)
    columns = ["Encoder", *(f"{kind}, {name}" for kind, name in zip(ROWS, SHAPES.values(), strict=True))]
    title = f"Figure {run.paper.maps}: {text} by encoder"
    note = f"{NOTE} Numbers: of all sentences and languages."
    return Section(Table(title, note, columns, rows), figure=panels(maps))


def _no_maps(run: Run) -> Section:
    title = f"Figure {run.paper.maps}: a text in many languages by encoder"
    return Section(Table(title, "The task `geometry` draws it.", ["Maps"], [[absent(NO_DATA)]]))


def _whole_section(run: Run, whole: Sequence[PaperCell]) -> Section:
    title, tail = "Whole data sets of this run", ", ".join(run.long_tail)
    note = f"Long tail: directions from or to {tail}; head: the others. " if tail else ""
    kinds: dict[str, Show] = {"measured": lambda cell: _number(cell, cell.measured)}
    levels = _grid(run, title, f"{note}Intervals and marks as above.", whole, kinds)
    if run.parameters:
        sizes = {_row_heading(run, cell)[0]: run.parameters.get(cell.encoder) for cell in whole}
        levels.columns.append("Parameters at use")
        for row in levels.rows:
            size = sizes[row[0]]
            row.append(EMPTY if size is None else Cell(f"{size:,}"))
    return Section(levels, _changes(run, title, whole) if run.paper.base else None)


def _changes(run: Run, title: str, shown: Sequence[PaperCell]) -> Table:
    less = f"less {run.paper.variants[run.paper.base].label}"
    note = (
        f"Published number {less}'s; measured number {less}'s of the same seed. Intervals and marks as above."
    )
    rivals = [cell for cell in shown if cell.printed.encoder != run.paper.base]
    kinds: dict[str, Show] = {"published": _published_less_base, "measured": _less_base}
    return _grid(run, f"{title}: {less}", note, rivals, kinds)


def _how(run: Run, shown: Sequence[PaperCell]) -> str:
    """How the numbers were made, and what the small print means."""
    made = "Measured: mean over seeds [95 % interval over sentences] ± standard deviation over seeds"
    if run.confidence is not None:
        seeds = next((list(cell.measured.by_seed) for cell in shown if cell.measured), [])
        over_seeds = (
            f"[Student's {run.confidence:.0%} interval over them]" if len(seeds) > 1 else "no interval"
        )
        made = (
            f"Measured: mean over {len(seeds)} seeds ({', '.join(map(str, seeds))}), {over_seeds}; sentences and "
            "training text are taken as fixed. Colour: interval and all seeds on one side of 0"
        )
    return (
        f"{made}; in the paper's scale, {P_AT_1} in percent. Difference: measured minus published. A mean over part of "
        "the languages is compared with the paper's mean over the same ones where it prints each of them (small). "
        "≠: not like for like, since the languages, the number of candidates or the hardware differ. Grey: not "
        "measured here."
    )


def _grid(run: Run, title: str, note: str, shown: Sequence[PaperCell], kinds: Mapping[str, Show]) -> Table:
    """Rows by encoder, method and view, a line for each kind of number; columns as in the paper."""
    columns = list(dict.fromkeys(cell.printed.column for cell in shown))
    variants = bool(run.paper.variants)
    groups: dict[tuple[str, ...], dict[tuple[str, str], list[PaperCell]]] = {}
    for cell in shown:
        names: tuple[str, ...] = (cell.printed.encoder, cell.printed.method, cell.printed.view)
        # What the paper fine-tunes in an ablation stands in the row of what it does not.
        group = groups.setdefault(names[:1] if variants else names, {})
        group.setdefault((cell.encoder, "" if variants else cell.method), []).append(cell)
    rows = []
    for row, group in groups.items():
        first, *_ = group.values()
        for (encoder, method), row_cells in group.items():
            reading = "" if variants or (encoder, method) == row[:2] or not method else f"{encoder}, {method}"
            there = {
                "published": row_cells is first
                and any(cell.printed.value or cell.printed.note for cell in row_cells),
                "measured": bool(encoder),
                "difference": any(cell.difference is not None for cell in row_cells),
            }
            for kind, show in kinds.items():
                if there[kind]:
                    by_column = {cell.printed.column: show(cell) for cell in row_cells}
                    line = [by_column.get(column, EMPTY) for column in columns]
                    name = Cell(kind, "" if kind == "published" else reading)
                    rows.append([*_row_heading(run, first[0]), name, *line])
    lead = ["Variant"] if variants else ["Encoder", "Method", "View"]
    headings = [*lead, "", *(heading(run.paper, column) for column in columns)]
    return Table(title, " ".join([note, *_legend(run, shown)]), headings, rows)


def _row_heading(run: Run, cell: PaperCell) -> list[Cell]:
    printed = cell.printed
    if run.paper.variants:
        variant = run.paper.variants.get(printed.encoder)
        return [Cell(variant.label if variant else printed.encoder)]
    # Each metric of the geometry has its own arrow.
    plain = printed.view == SENTENCE or not registry.load(printed.task).BETTER
    view = printed.view if plain else f"{printed.view} {ARROWS[better(printed.task, printed.view)]}"
    return [Cell(printed.encoder), Cell(printed.method), Cell(view)]


def heading(paper: Paper, column: tuple[str, ...]) -> str:
    """The heading of a column (see `Printed.column`)."""
    _, dataset, subset, direction, metric, _ = column
    measure = "" if metric == P_AT_1 else f", {metric}"
    if direction == WHOLE:
        return f"{subset} of {dataset} here{measure}"
    if named := paper.headings.get(f"{dataset} {metric}"):
        return f"{subset}: {named}"
    if subset == ALL:
        printed = paper.headings.get(f"{dataset} {direction}".strip())
        way = {"": "", "both": ", both ways"}.get(direction, f", {direction.replace('->', '→')}")
        return printed or f"mean of {dataset}{way}{measure}"
    pivot, _, foreign = subset.partition("-")
    ways = {"en->xx": f"{pivot}→{foreign}", "xx->en": f"{foreign}→{pivot}"} if foreign else {}
    return f"{paper.headings.get(f'{dataset} xx', '')} {ways.get(direction, subset)}".strip()


def _text(cell: PaperCell, value: float, sign: str = "") -> str:
    digits = {"-1..1": 3, "0..1": 4, "nats": 4, "seconds": 0}.get(cell.printed.scale, 2)
    return f"{value:{sign}z.{digits}f}"


def _published(cell: PaperCell, text: str) -> Cell:
    shown = Cell(text) if text else EMPTY
    return shown if cell.encoder else _absent(cell, shown)


def _published_less_base(cell: PaperCell) -> Cell:
    less = cell.printed_less_base
    return _published(cell, "" if less is None else _text(cell, less, "+"))


def _absent(cell: PaperCell, shown: Cell = EMPTY) -> Cell:
    return shown._replace(small=cell.reason, tone="absent", hint=cell.why)


def _number(cell: PaperCell, value: Number | None, sign: str = "", sd: bool = True) -> Cell:
    """A number with its interval, its standard deviation, how much of the paper's data it is of, and the candidates."""
    if value is None:
        return _absent(cell)
    small = []
    if value.ends:
        small.append("[{}, {}]".format(*(_text(cell, end, sign) for end in value.ends)))
    if sd and value.sd is not None:
        small.append(f"± {_text(cell, value.sd)}")
    if cell.missing:
        # A pair of languages is two of the paper's directions.
        unit = " pairs" if cell.printed.task == NWAY else ""
        small.append(f"{len(cell.over)} of {len(cell.over) + len(cell.missing)}{unit}")
    if among := cell.among():
        small.append(among)
    if cell.stand_in:
        small.append(f"on {cell.stand_in}")
    return Cell(_text(cell, value.value, sign), " ".join(small))


def _difference(cell: PaperCell) -> Cell:
    if cell.difference is None:
        return EMPTY
    small = []
    if cell.like is not None:
        small.append(f"to {_text(cell, cell.like)}")
    if not cell.like_for_like:
        small.append("≠")
    return Cell(_text(cell, cell.difference, "+"), " ".join(small))


def _less_base(cell: PaperCell) -> Cell:
    shown = _number(cell, cell.less_base, "+", sd=False)
    if cell.less_base is None or cell.less_base.ends is None:
        return shown
    values = (*cell.less_base.ends, *cell.less_base.by_seed.values())
    more, less = ("bad", "good") if cell.printed.task == TIME else ("good", "bad")
    if min(values) > 0:
        return shown._replace(tone=more)
    return shown._replace(tone=less) if max(values) < 0 else shown


def _legend(run: Run, shown: Sequence[PaperCell]) -> list[str]:
    """Which reasons, languages and doubts the cells name."""
    reasons = dict.fromkeys((cell.reason, cell.why) for cell in shown if cell.reason)
    legend = [f"{reason.capitalize()}: {why}." for reason, why in reasons]
    partial = [
        f"{cell.printed.dataset} was measured on {_short(cell.over)}; not on {_short(cell.missing)}."
        for cell in shown
        if cell.over and cell.missing
    ]
    legend += dict.fromkeys(partial)
    if any(cell.measured is not None and cell.printed.task == TIME for cell in shown):
        theirs = f"; the paper's are of {run.paper.hardware}" if run.paper.hardware else ""
        legend.append(f"Seconds: all steps, without validation and saving, on {run.hardware}{theirs}.")
    if any(cell.measured is not None and cell.measured.averaged for cell in shown):
        legend.append("The interval of a mean over part of a data set is at least as wide as it should be.")
    doubts: dict[str, list[Printed]] = {}
    for cell in shown:
        if cell.printed.note:
            doubts.setdefault(cell.printed.note, []).append(cell.printed)
    for note, doubted in doubts.items():
        about = " and ".join(dict.fromkeys(heading(run.paper, printed.column) for printed in doubted))
        if len(doubted) == 1 and not run.paper.variants:
            about = f"{doubted[0].encoder} {doubted[0].method} {doubted[0].view}, {about}"
        legend.append(f"{about}: {note}.")
    return legend


def _short(members: Sequence[str]) -> str:
    """Pairs with English by their other language: "en-de" is "de"; "en-en" stays."""
    return " ".join(member if member == "en-en" else member.removeprefix("en-") for member in members)


def _lead(known: Sequence[PaperCell]) -> str:
    here = [cell for cell in known if cell.measured is not None]
    like = sum(cell.like_for_like for cell in here)
    missing = Counter(cell.reason for cell in known if cell.reason)
    lead = [
        f"{len(here)} cells of the paper's tables were measured here, {like} of them over the same languages and among "
        "as many candidates."
    ]
    lead += [f"{count} could not: {reason} ({REASONS[reason]})." for reason, count in missing.most_common()]
    return " ".join(lead)
