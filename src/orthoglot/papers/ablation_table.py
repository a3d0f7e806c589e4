"""A paper's ablation with the variants of this run beside it: Markdown, HTML, CSV and JSON."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from orthoglot.papers.ablation import (
    TIME,
    WHY,
    Outcome,
    Spread,
    ablation_claims,
    outcomes,
    parameters,
    read_variants,
)
from orthoglot.papers.ablation_claims import ABLATION_PAPERS, AblationPaper
from orthoglot.papers.comparison import WHOLE
from orthoglot.papers.tables import EMPTY, TEMPLATE, Section, claim_tables, told_of
from orthoglot.report.page import render
from orthoglot.report.table_files import csv_text, json_text, plain, save
from orthoglot.report.tables import Cell, Table, markdown
from orthoglot.statistics.records import ALL
from orthoglot.tasks.registry import NWAY

SAME = "Seeds, intervals and marks as above."
Column = tuple[str, str, str, str, str]
logger = logging.getLogger(__name__)


def write_ablation(
    evaluations: Sequence[Path],
    encoders: Sequence[Path],
    *,
    paper: str,
    encoder: str,
    long_tail: Collection[str],
    confidence: float,
    output: Path,
) -> None:
    """Write <paper>-table.md, .html, .csv and .json into a folder.

    The CSV has one row a cell, the JSON the same cells, the claims and each variant's number of parameters.

    Args:
        evaluations: folders .../<variant>/seed<k>/<anything> with records.jsonl.
        encoders: their encoders, .../<variant>/seed<k>/<anything>.
        paper: one of `ABLATION_PAPERS`.
        encoder: whose variants these are.
        long_tail: languages of which there is little text.
        confidence: of the intervals over seeds.
        output: folder; files of these names are replaced, each whole or not at all.
    Raises:
        DataError: a folder that does not say its seed, variants of different seeds, or records that are damaged.
    """
    about = ABLATION_PAPERS[paper]
    found = outcomes(paper, read_variants(evaluations), long_tail, confidence)
    sizes = {folder.parents[1].name: parameters(folder) for folder in encoders}
    tested = ablation_claims(paper, found, encoder, confidence)
    how = _how(found, confidence)
    printed = {table: [one for one in found if one.table == table] for table in about.tables}
    sections = [
        *(_section(about, table, how, cells) for table, cells in printed.items()),
        _whole(about, long_tail, sizes, [one for one in found if one.direction == WHOLE]),
    ]
    claimed = claim_tables(tested)
    title = f"{about.title}: published and measured"
    lead = _lead([one for one in found if one.table], encoder)
    page = render(TEMPLATE, title=title, lead=lead, sections=sections, claims=claimed)
    shown = [*(table for section in sections for table in section), *claimed]
    text = f"# {title}\n\n{lead}\n\n" + "\n".join(filter(None, (markdown(one, ()) for one in shown)))
    flat = [_flat(one) for one in found]
    told = {"cells": flat, "claims": [told_of(claim) for claim in tested], "parameters": sizes}
    stem = f"{paper}-table"
    save(output / f"{stem}.md", text)
    save(output / f"{stem}.html", page)
    save(output / f"{stem}.csv", csv_text([_row(cell) for cell in flat]))
    save(output / f"{stem}.json", json_text(told))
    logger.info("%s: %d cells", output / f"{stem}.html", len(flat))


def _section(about: AblationPaper, table: str, how: str, cells: Sequence[Outcome]) -> Section:
    """A table of the paper: what was printed and measured, and both less the base variant."""
    less = f"less {about.name(about.base)}"
    rivals = [one for one in cells if one.variant != about.base]
    note = f"Printed number {less}'s; measured number {less}'s of the same seed. {SAME}"
    levels = {"published": _published, "measured": _measured}
    differences = {"published": _published_difference, "measured": _difference}
    return Section(
        _grid(about, f"Table {table}: {about.tables[table]}", _legend(about, how, cells), cells, levels),
        _grid(about, f"Table {table}: {less}", note, rivals, differences),
    )


def _whole(
    about: AblationPaper, long_tail: Collection[str], sizes: dict[str, int | None], cells: Sequence[Outcome]
) -> Section:
    """The data sets of the run."""
    title = "Whole data sets of this run"
    rivals = [one for one in cells if one.variant != about.base]
    parts = (
        f"Long tail: directions from or to {', '.join(long_tail)}; head: the others. " if long_tail else ""
    )
    levels = _grid(about, title, parts + SAME, cells, {"": _measured})
    return Section(
        _with_sizes(levels, about, sizes),
        _grid(about, f"{title}: less {about.name(about.base)}", SAME, rivals, {"": _difference}),
    )


def _how(found: Sequence[Outcome], confidence: float) -> str:
    """How the numbers were made, and what the cells' small print means."""
    seeds = next((list(one.measured.by_seed) for one in found if one.measured), [])
    n = f"{len(seeds)} seeds ({', '.join(map(str, seeds))})"
    interval = f"[Student's {confidence:.0%} interval over them]" if len(seeds) > 1 else "no interval"
    return (
        f"Measured: P@1 in percent, both directions unless told otherwise, mean over {n}, {interval}; sentences "
        "and training text are taken as fixed. ≠: over some of the paper's languages only. Colour: interval and all "
        "seeds on one side of 0."
    )


def _legend(about: AblationPaper, how: str, cells: Sequence[Outcome]) -> str:
    """How the numbers were made, and which reasons, languages and doubts the cells speak of."""
    reasons = dict.fromkeys(one.reason for one in cells if one.reason)
    told = [f"{reason.capitalize()}: {WHY[reason]}." for reason in reasons]
    further: dict[str, None] = {}
    for one in cells:
        heading = _heading(about, _column(one))
        if one.over and one.missing:
            further[f"{heading} was measured on {_members(one.over)}."] = None
        if one.note:
            further[f"{heading}: {one.note}."] = None
    return " ".join([how, *told, *further])


def _members(over: Sequence[str]) -> str:
    """Languages where English is the other one of each, else how many of how many languages."""
    if all(member.startswith("en-") for member in over):
        return " ".join(member.removeprefix("en-") for member in over)
    return "all pairs of " + " ".join(sorted({code for member in over for code in member.split("-")}))


def _lead(paper: Sequence[Outcome], encoder: str) -> str:
    here = sum(one.measured is not None for one in paper)
    variants = {one.variant for one in paper if one.measured is not None}
    told = [
        f"Variants of {encoder}: {here} cells of the paper's tables were measured here, of {len(variants)} variants."
    ]
    counted = Counter(one.reason for one in paper if one.reason)
    told += [f"{count} could not: {reason} ({WHY[reason]})." for reason, count in counted.most_common()]
    return " ".join(told)


def _grid(
    about: AblationPaper,
    title: str,
    note: str,
    found: Sequence[Outcome],
    kinds: Mapping[str, Callable[[Outcome], Cell]],
) -> Table:
    """Variants in the order of the paper; a line for each kind of number that a variant has."""
    columns = list(dict.fromkeys(map(_column, found)))
    groups: dict[str, dict[Column, Outcome]] = {}
    for one in found:
        groups.setdefault(one.variant, {})[_column(one)] = one
    rows = []
    for variant, cells in groups.items():
        for kind, show in kinds.items():
            shown = [show(cells[column]) if column in cells else EMPTY for column in columns]
            if any(cell.text != EMPTY.text for cell in shown):
                rows.append([Cell(about.name(variant)), *([Cell(kind)] if kind else []), *shown])
    labels = ["Variant", *([""] if all(kinds) else [])]
    return Table(title, note, [*labels, *(_heading(about, column) for column in columns)], rows)


def _with_sizes(table: Table, about: AblationPaper, sizes: dict[str, int | None]) -> Table:
    by_name = {about.name(variant): size for variant, size in sizes.items()}
    rows = []
    for row in table.rows:
        size = by_name.get(row[0].text)
        rows.append([*row, EMPTY if size is None else Cell(f"{size:,}")])
    return table._replace(columns=[*table.columns, "Parameters at use"], rows=rows)


def _column(one: Outcome) -> Column:
    return one.task, one.dataset, one.subset, one.direction, one.metric


def _heading(about: AblationPaper, column: Column) -> str:
    task, dataset, subset, direction, _ = column
    if direction == WHOLE:
        return f"{task}, {subset} of {dataset} here"
    return about.headings[dataset, direction] if subset == ALL else subset.removeprefix("en-")


def _published(one: Outcome) -> Cell:
    return EMPTY if one.published is None else Cell(_text(one, one.published))


def _measured(one: Outcome) -> Cell:
    return Cell(EMPTY.text, one.reason) if one.measured is None else _spread(one, one.measured)


def _published_difference(one: Outcome) -> Cell:
    return EMPTY if one.published_difference is None else Cell(_text(one, one.published_difference, "+"))


def _difference(one: Outcome) -> Cell:
    if one.difference is None:
        return Cell(EMPTY.text, one.reason)
    cell = _spread(one, one.difference, "+")
    return cell._replace(tone={1: "good", -1: "bad"}.get(one.difference.sign, ""))


def _spread(one: Outcome, found: Spread, sign: str = "") -> Cell:
    ends = [] if found.low is None or found.high is None else [found.low, found.high]
    small = [f"[{', '.join(_text(one, end, sign) for end in ends)}]"] if ends else []
    # A pair of languages is two of the paper's directions.
    unit = " pairs" if one.task == NWAY else ""
    small += [f"≠ {len(one.over)} of {len(one.over) + len(one.missing)}{unit}"] if one.missing else []
    return Cell(_text(one, found.value, sign), " ".join(small))


def _text(one: Outcome, value: float, sign: str = "") -> str:
    digits = 0 if one.task == TIME else 2
    return f"{round(value, digits) + 0.0:{sign}.{digits}f}"


def _flat(one: Outcome) -> dict[str, Any]:
    """An outcome as plain values; seeds are told as text, as JSON has no other keys."""
    values = {name: value for name, value in asdict(one).items() if name not in ("measured", "difference")}
    for name in ("measured", "difference"):
        found: Spread | None = getattr(one, name)
        value, low, high, by_seed = found or (None, None, None, {})
        values |= {name: value, f"{name}_low": low, f"{name}_high": high}
        values[f"{name}_by_seed"] = {str(seed): round(value, 6) for seed, value in by_seed.items()}
    return plain(values)


def _row(cell: dict[str, Any]) -> dict[str, Any]:
    return {
        name: " ".join(f"{seed}:{found}" for seed, found in value.items())
        if isinstance(value, dict)
        else value
        for name, value in cell.items()
    }
