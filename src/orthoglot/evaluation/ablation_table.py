"""EMS's Table XIV with the variants of this run beside it: Markdown, HTML, CSV and JSON."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from orthoglot.evaluation.ablation import (
    EMS,
    TIME,
    WHY,
    Outcome,
    Spread,
    ablation_claims,
    outcomes,
    parameters,
    read_variants,
)
from orthoglot.evaluation.paper_tables import EMPTY, TEMPLATE, Section, claim_tables, told_of
from orthoglot.evaluation.papers import WHOLE
from orthoglot.evaluation.report import render
from orthoglot.evaluation.summary import NWAY
from orthoglot.evaluation.table_files import csv_text, json_text, plain, save
from orthoglot.evaluation.tables import Cell, Table, markdown

STEM = "ems-table"
# What Table XIV calls them; other variants are ours or from its Tables IV to VI.
NAMES = {
    EMS: "EMS",
    "without-language-token": "− language token",
    "without-contrastive": "− contrastive",
    "without-xtr": "− XTR",
    "without-contrastive-mlp": "− contrastive MLP",
    "shared-output-embedding": "shared output embedding",
    "ugt": "XTR → UGT",
    "labse-ems-vanilla": "LaBSE-EMS-vanilla",
    "labse-ems-mlp": "LaBSE-EMS-MLP (Table IV)",
    "labse-ems-joint": "LaBSE-EMS-joint",
    "a100": "A100, batch 200",
}
HEADINGS = {
    "tatoeba-58": "Tatoeba 58",
    "tatoeba-43": "> 300k (43)",
    "tatoeba-15": "< 300k (15)",
    "flores-182": "FLORES 182",
    "flores-240": "FLORES 240",
    "training": "s / 1k steps",
}
SAME = "Seeds, intervals and marks as above."
Column = tuple[str, str, str, str]
logger = logging.getLogger(__name__)


def write_ablation(
    evaluations: Sequence[Path], encoders: Sequence[Path], encoder: str, confidence: float, output: Path
) -> None:
    """Write ems-table.md, .html, .csv and .json into a folder.

    The CSV has one row a cell, the JSON the same cells, the claims and each variant's number of parameters.

    Args:
        evaluations: folders .../<variant>/seed<k>/<anything> with records.jsonl.
        encoders: their encoders, .../<variant>/seed<k>/<anything>.
        encoder: whose variants these are.
        confidence: of the intervals over seeds.
        output: folder; files of these names are replaced, each whole or not at all.
    Raises:
        DataError: a folder that does not say its seed, variants of different seeds, or records that are damaged.
    """
    found = outcomes(read_variants(evaluations), confidence)
    sizes = {folder.parents[1].name: parameters(folder) for folder in encoders}
    tested = ablation_claims(found, encoder, confidence)
    here = [one for one in found if one.direction == WHOLE]
    paper = [one for one in found if one.direction != WHOLE]
    how = _how(found, confidence)
    levels = Section(
        _grid("Table XIV: ablation", how, paper, {"published": _published, "measured": _measured}),
        _with_sizes(_grid("Table XIV: whole data sets of this run", SAME, here, {"": _measured}), sizes),
    )
    rivals = [one for one in paper if one.variant != EMS]
    costs = Section(
        _grid(
            "Table XIV: less EMS",
            f"Printed number less EMS's; measured number less EMS's of the same seed. {SAME}",
            rivals,
            {"published": _published_difference, "measured": _difference},
        ),
        _grid(
            "Less EMS: whole data sets of this run",
            SAME,
            [one for one in here if one.variant != EMS],
            {"": _difference},
        ),
    )
    title = "EMS (2024): published and measured"
    lead = _lead(paper, encoder)
    claimed = claim_tables(tested)
    page = render(TEMPLATE, title=title, lead=lead, sections=[levels, costs], claims=claimed)
    shown = [*levels, *costs, *claimed]
    text = f"# {title}\n\n{lead}\n\n" + "\n".join(filter(None, (markdown(one, ()) for one in shown)))
    cells = [_flat(one) for one in found]
    told = {"cells": cells, "claims": [told_of(claim) for claim in tested], "parameters": sizes}
    save(output / f"{STEM}.md", text)
    save(output / f"{STEM}.html", page)
    save(output / f"{STEM}.csv", csv_text([_row(cell) for cell in cells]))
    save(output / f"{STEM}.json", json_text(told))
    logger.info("%s: %d cells", output / f"{STEM}.html", len(cells))


def _how(found: Sequence[Outcome], confidence: float) -> str:
    """How the numbers were made, and what the cells' small print means."""
    seeds = next((list(one.measured.by_seed) for one in found if one.measured), [])
    n = f"{len(seeds)} seeds ({', '.join(map(str, seeds))})"
    interval = f"[Student's {confidence:.0%} interval over them]" if len(seeds) > 1 else "no interval"
    told = [
        f"Measured: P@1 in percent, both directions, mean over {n}, {interval}; sentences and training text are "
        "taken as fixed. ≠: over some of the paper's languages only. Colour: interval and all seeds on "
        "one side of 0."
    ]
    reasons = dict.fromkeys(one.reason for one in found if one.reason)
    told += [f"{reason.capitalize()}: {WHY[reason]}." for reason in reasons]
    partial: dict[str, None] = {}
    for one in found:
        if one.over and one.missing:
            partial[f"{_heading(_column(one))} was measured on {_members(one.over)}."] = None
    return " ".join([*told, *partial])


def _members(over: Sequence[str]) -> str:
    """Languages where English is the other one of each, else how many of how many languages."""
    if all(member.startswith("en-") for member in over):
        return " ".join(member.removeprefix("en-") for member in over)
    return "all pairs of " + " ".join(sorted({code for member in over for code in member.split("-")}))


def _lead(paper: Sequence[Outcome], encoder: str) -> str:
    here = sum(one.measured is not None for one in paper)
    variants = {one.variant for one in paper if one.measured is not None}
    told = [
        f"Variants of {encoder}: {here} cells of Table XIV were measured here, of {len(variants)} variants."
    ]
    counted = Counter(one.reason for one in paper if one.reason)
    told += [f"{count} could not: {reason} ({WHY[reason]})." for reason, count in counted.most_common()]
    return " ".join(told)


def _grid(
    title: str, note: str, found: Sequence[Outcome], kinds: dict[str, Callable[[Outcome], Cell]]
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
                rows.append([Cell(NAMES.get(variant, variant)), *([Cell(kind)] if kind else []), *shown])
    labels = ["Variant", *([""] if all(kinds) else [])]
    return Table(title, note, [*labels, *map(_heading, columns)], rows)


def _with_sizes(table: Table, sizes: dict[str, int | None]) -> Table:
    by_name = {NAMES.get(variant, variant): size for variant, size in sizes.items()}
    rows = []
    for row in table.rows:
        size = by_name.get(row[0].text)
        rows.append([*row, EMPTY if size is None else Cell(f"{size:,}")])
    return table._replace(columns=[*table.columns, "Parameters at use"], rows=rows)


def _column(one: Outcome) -> Column:
    return one.task, one.dataset, one.direction, one.metric


def _heading(column: Column) -> str:
    task, dataset, direction, _ = column
    if direction == WHOLE:
        return f"{task}, all of {dataset} here"
    return HEADINGS.get(dataset) or f"MLDoc {direction.replace('->', '→')}"


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
