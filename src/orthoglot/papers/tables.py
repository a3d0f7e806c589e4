"""The tables of ORACLE and SEED with a run's numbers beside the printed ones: Markdown, HTML, CSV and JSON."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from orthoglot.papers.claims import Claim, claims
from orthoglot.papers.comparison import NO_ENCODER, REASONS, WHOLE, Compared, beside, beyond
from orthoglot.papers.published_tables import TITLES, table_names
from orthoglot.papers.verdicts import FAILS, HOLDS
from orthoglot.report.page import render
from orthoglot.report.queries import better
from orthoglot.report.table_files import csv_text, json_text, plain, save
from orthoglot.report.tables import ARROWS, Cell, Table, markdown
from orthoglot.statistics.lookup import Measured
from orthoglot.statistics.records import ALL, P_AT_1, Record

TEMPLATE = "tables.html.j2"
PAPERS = {"oracle": "ORACLE (2024)", "seed": "SEED (2025)"}
HOW = (
    "Measured: mean over seeds [95 % interval over sentences] ± standard deviation over seeds, in the paper's "
    "scale. Difference: measured minus published. A mean over part of the languages is compared with the paper's "
    "mean over the same ones where it prints them each (small), else the difference is marked ≠: other languages."
)
EMPTY = Cell("–")
logger = logging.getLogger(__name__)


class Section(NamedTuple):
    """One table of a paper: what the paper has, then what it does not have."""

    beside: Table
    beyond: Table


def write_paper(paper: str, records: Sequence[Record], output: Path) -> None:
    """Write <paper>-table.md, .html, .csv and .json into a folder.

    The CSV has one row a cell, the JSON the same cells and the paper's claims.

    Args:
        paper: "oracle" or "seed".
        records: of one run.
        output: folder; files of these names are replaced, each whole or not at all.
    Raises:
        ConfigError: no such paper.
        DataError: no record, or damaged ones.
    """
    measured = Measured(records)
    known, further = beside(paper, measured), beyond(paper, measured)
    tested = [claim for claim in claims(records) if claim.paper == paper]
    sections = [
        Section(
            _grid(
                f"Table {table}: {TITLES[paper, table]}", HOW, [one for one in known if one.table == table]
            ),
            _grid(
                f"Table {table}: what the paper does not have",
                "Encoders and methods of this run in the paper's columns, then over the whole of each data set.",
                [one for one in further if one.table == table],
            ),
        )
        for table in table_names(paper)
    ]
    cells = [plain(vars(one)) | {"like_for_like": one.like_for_like} for one in known + further]
    title = f"{PAPERS[paper]}: published and measured"
    lead = _lead(known)
    shown = [table for section in sections for table in section] + claim_tables(tested)
    page = render(
        TEMPLATE,
        title=title,
        lead=lead,
        sections=sections,
        claims=claim_tables(tested),
    )
    text = f"# {title}\n\n{lead}\n\n" + "\n".join(filter(None, (markdown(one, ()) for one in shown)))
    told = {"cells": cells, "claims": [told_of(claim) for claim in tested]}
    stem = f"{paper}-table"
    save(output / f"{stem}.md", text)
    save(output / f"{stem}.html", page)
    save(output / f"{stem}.csv", csv_text(cells))
    save(output / f"{stem}.json", json_text(told))
    logger.info("%s: %d cells", output / f"{stem}.html", len(cells))


def write_claims(records: Sequence[Record], output: Path) -> None:
    """Write claims.md, claims.html and claims.json into a folder: every claim of both papers.

    Raises:
        DataError: no record, or damaged ones.
    """
    tested = claims(records)
    title, lead = (
        "Claims of ORACLE and SEED",
        "Directional claims of the papers against the records of one run.",
    )
    shown = claim_tables(tested)
    page = render(TEMPLATE, title=title, lead=lead, sections=[], claims=shown)
    save(output / "claims.md", f"# {title}\n\n" + "\n".join(markdown(one, ()) for one in shown if one.rows))
    save(output / "claims.html", page)
    save(output / "claims.json", json_text([told_of(claim) for claim in tested]))
    logger.info("%s: %d claims", output / "claims.html", len(tested))


def claim_tables(tested: Sequence[Claim]) -> list[Table]:
    """A table of all claims, then the cases of each that has any."""
    rows = []
    for one in tested:
        about = [one.text, one.evidence, ", ".join(one.encoders) or "every encoder"]
        rows.append([*map(Cell, about), Cell(one.verdict, "", _tone(one.verdict)), Cell(one.reason)])
    note = (
        "A claim holds if it does in every case on the encoders it is made about, and does not if one case says "
        "so. A case holds if its whole interval (95 % unless the case says otherwise) and each seed lie where "
        "the claim puts them."
    )
    columns = ["Claim", "Paper's evidence", "Made about", "Here", "Cases"]
    return [Table("Claims", note, columns, rows), *(_case_table(one) for one in tested if one.cases)]


def _case_table(claim: Claim) -> Table:
    rows = []
    for case in claim.cases:
        names = map(Cell, (case.encoder, case.data, case.quantity))
        seeds = Cell(" ".join(f"{seed:.2f}" for seed in case.seeds) or "–")
        decided = Cell(case.verdict, "", _tone(case.verdict)), Cell(case.how)
        rows.append([*names, _quantity(case.value, case.low, case.high), seeds, *decided])
    columns = ["Encoder", "Data", "Quantity", "Value", "By seed", "Verdict", "Decided by"]
    return Table(claim.text, claim.reason[:1].upper() + claim.reason[1:] + ".", columns, rows)


def _quantity(value: float | None, low: float | None, high: float | None) -> Cell:
    if value is None:
        return EMPTY
    return Cell(f"{value:.2f}", "" if low is None or high is None else f"[{low:.2f}, {high:.2f}]")


def _tone(verdict: str) -> str:
    return {HOLDS: "good", FAILS: "bad"}.get(verdict, "")


def _grid(title: str, note: str, compared: Sequence[Compared]) -> Table:
    """Rows by encoder, method and view; columns as in the paper; under the printed row what was measured."""
    columns = list(dict.fromkeys(map(_column, compared)))
    groups: dict[tuple[str, ...], list[Compared]] = {}
    for one in compared:
        groups.setdefault((one.encoder, one.method, one.view), []).append(one)
    rows = []
    for names, group in groups.items():
        view = names[2] if names[2] == "sentence" else f"{names[2]} {ARROWS[better(group[0].task, names[2])]}"
        first = [Cell(names[0]), Cell(names[1]), Cell(view)]
        if all(one.reason == NO_ENCODER for one in group):
            rows.append([*first, Cell("published"), *_row(group, columns, _unmatched)])
            continue
        if any(one.published is not None or one.note for one in group):
            rows.append([*first, Cell("published"), *_row(group, columns, _published)])
        here: dict[tuple[str, str], list[Compared]] = {}
        for one in group:
            here.setdefault((one.encoder_here, one.method_here), []).append(one)
        for (encoder, method), cells in here.items():
            reading = "" if (encoder, method) == names[:2] or not method else f"{encoder}, {method}"
            rows.append([*first, Cell("measured", reading), *_row(cells, columns, _measured)])
            if any(one.difference is not None for one in cells):
                rows.append([*first, Cell("difference", reading), *_row(cells, columns, _difference)])
    headings = ["Encoder", "Method", "View", "", *(heading(column) for column in columns)]
    return Table(title, " ".join([note, *_legend(compared)]), headings, rows)


def _column(one: Compared) -> tuple[str, ...]:
    return one.dataset, one.subset, one.direction, one.metric


def _row(cells: Sequence[Compared], columns: Sequence[tuple[str, ...]], show: Any) -> list[Cell]:
    by_column = {_column(one): one for one in cells}
    return [show(by_column[column]) if column in by_column else EMPTY for column in columns]


def heading(column: tuple[str, ...]) -> str:
    """Of a column, given by data set, subset, direction and metric."""
    dataset, subset, direction, metric = column
    if direction == WHOLE:
        return f"all of {dataset} here" + ("" if metric == P_AT_1 else f", {metric}")
    name = f"mean of {dataset}" if subset == ALL else subset
    way = {"": "", "both": ", both ways"}.get(direction, f", {direction.replace('->', '→')}")
    return (
        name + (way if subset == ALL else "") + ("" if metric == P_AT_1 or subset != ALL else f", {metric}")
    )


def _text(one: Compared, value: float, signed: bool = False) -> str:
    sign = "+" if signed else ""
    return (
        f"{round(value, 3) + 0.0:{sign}.3f}" if one.scale == "-1..1" else f"{round(value, 2) + 0.0:{sign}.2f}"
    )


def _published(one: Compared) -> Cell:
    return EMPTY if one.published is None else Cell(_text(one, one.published))


def _unmatched(one: Compared) -> Cell:
    return Cell(_published(one).text, one.reason)


def _measured(one: Compared) -> Cell:
    if one.measured is None:
        return Cell("–", one.reason)
    small = (
        [] if one.low is None or one.high is None else [f"[{_text(one, one.low)}, {_text(one, one.high)}]"]
    )
    small += [] if one.sd is None else [f"± {_text(one, one.sd)}"]
    small += [f"{len(one.over)} of {len(one.over) + len(one.missing)}"] if one.missing else []
    return Cell(_text(one, one.measured), " ".join(small))


def _difference(one: Compared) -> Cell:
    if one.difference is None:
        return EMPTY
    against = "" if one.like is None else f"to {_text(one, one.like)}"
    return Cell(_text(one, one.difference, signed=True), against if one.like_for_like else "≠")


def _legend(compared: Sequence[Compared]) -> list[str]:
    """Which reasons, languages and doubts the cells speak of."""
    reasons = dict.fromkeys(one.reason for one in compared if one.reason)
    told = [f"{reason.capitalize()}: {REASONS[reason]}." for reason in reasons]
    partial: dict[str, None] = {}
    for one in compared:
        if one.over and one.missing:
            have, lack = (" ".join(_short(member) for member in some) for some in (one.over, one.missing))
            partial[f"{one.dataset} was measured on {have}; not on {lack}."] = None
    told += partial
    if any(one.averaged for one in compared):
        told.append("The interval of a mean over part of a data set is at least as wide as it should be.")
    doubts: dict[str, list[Compared]] = {}
    for one in compared:
        if one.note:
            doubts.setdefault(one.note, []).append(one)
    return told + [f"{_doubted(some)}: {note}." for note, some in doubts.items()]


def _doubted(some: Sequence[Compared]) -> str:
    """Which cells a note is about: one by name, several by their columns."""
    one = some[0]
    if len(some) == 1:
        return f"{one.encoder} {one.method} {one.view}, {heading(_column(one))}"
    return " and ".join(dict.fromkeys(one.dataset if one.subset == ALL else one.subset for one in some))


def _short(member: str) -> str:
    """A pair with English by its other language: "en-de" is "de"; "en-en" stays."""
    return member if member == "en-en" else member.removeprefix("en-")


def _lead(known: Sequence[Compared]) -> str:
    here = [one for one in known if one.measured is not None]
    like = sum(one.like_for_like for one in here)
    missing = Counter(one.reason for one in known if one.reason)
    told = [f"{len(here)} cells of the paper's tables were measured here, {like} over the same languages."]
    told += [f"{count} could not: {reason} ({REASONS[reason]})." for reason, count in missing.most_common()]
    return " ".join(told)


def told_of(claim: Claim) -> dict[str, Any]:
    """A claim with its cases, for JSON."""
    return claim._asdict() | {"cases": [plain(case._asdict()) for case in claim.cases]}
