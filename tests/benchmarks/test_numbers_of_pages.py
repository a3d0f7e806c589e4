"""Every score in a table of these pages is in a committed record, of the method that the table names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from orthoglot.report.queries import spread

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs/results"
# The folders of records of each page; a page without any has no score in a table.
RECORDS = {
    "real.md": ("real", "evaluation"),
    "evaluation.md": ("evaluation",),
    "discriminant.md": (),
}
NUMBER = r"[+-]?\d+\.\d"
SCORE = re.compile(rf"({NUMBER})(?:\\\*)?(?: \[({NUMBER}), ({NUMBER})\])?(?: ± ({NUMBER}))?")
# Of a method's name, what the pages say otherwise.
CHOSEN = {"langsae, chosen": "langsae-chosen"}


@cache
def known(folders: tuple[str, ...]) -> dict[str, set[tuple[str, ...]]]:
    """By method every value alone, with its interval, and with what other trainings change, as a page rounds them."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for file in (file for folder in folders for file in sorted((RESULTS / folder).glob("*.parquet"))):
        table = pd.read_parquet(file)
        if "seed" in table:
            table = spread(table)
        for row in table.itertuples():
            own = found.setdefault(row.method, set())
            value = rounded(row.value)
            own.add((value,))
            if pd.notna(row.low):
                ends = (value, rounded(row.low), rounded(row.high))
                own.add(ends)
                if pd.notna(reach := getattr(row, "reach", None)):
                    own.add((*ends, rounded(reach)))
    return found


def rounded(number: float) -> str:
    return f"{round(number, 1) + 0.0:.1f}"


def plain(number: str) -> str:
    """A number of a page without the sign + and without a minus before 0."""
    return f"{float(number) + 0.0:.1f}"


def scores(text: str) -> Iterator[tuple[list[str], tuple[str, ...], str]]:
    """Of each score in a table: its row's first two cells and its column's heading; its numbers; the line."""
    heading: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            heading = []
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        heading = heading or cells
        for name, cell in zip(heading, cells, strict=True):
            if score := SCORE.fullmatch(cell):
                numbers = tuple(map(plain, filter(None, score.groups())))
                yield [*cells[:2], name.partition(",")[0]], numbers, line


def untraced(text: str, of: dict[str, set[tuple[str, ...]]]) -> list[str]:
    """The lines with a score that no record of the method has that the row or the column names."""
    lines = []
    for names, numbers, line in scores(text):
        row, second, column = (CHOSEN.get(name, name) for name in names)
        named = [name for name in (f"{row} at {second}", row, column) if name in of]
        if not any(numbers in of[name] for name in named[:1] or of):
            lines.append(line)
    return lines


@pytest.mark.parametrize("page", RECORDS)
def test_every_score_of_a_table_has_a_record(page: str) -> None:
    text = (RESULTS / page).read_text(encoding="utf-8")
    assert untraced(text, known(RECORDS[page])) == []


@pytest.mark.parametrize("page", RECORDS)
def test_every_score_with_an_interval_in_the_text_has_a_record(page: str) -> None:
    every = set().union(*known(RECORDS[page]).values())
    text = "\n".join(
        line for line in (RESULTS / page).read_text(encoding="utf-8").splitlines() if line[:1] != "|"
    )
    found = [
        tuple(map(plain, score)) for score in re.findall(rf"({NUMBER}) \[({NUMBER}), ({NUMBER})\]", text)
    ]
    assert [score for score in found if score not in every] == []


def test_the_table_of_alignment_is_its_records() -> None:
    records = pd.read_csv(RESULTS / "alignment.csv").groupby(["text", "pair"], sort=False)
    ways = ["lengths (Gale and Church)", "sentence, ratio", "meaning, ratio", "meaning, distance"]
    page = (RESULTS / "alignment.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith(("| Acts", "| NTREX"))]
    for row, ((text, pair), of_pair) in zip(rows, records, strict=True):
        by_way = of_pair.set_index("way").loc[ways]
        cells = [f"{one.f1:.1f} [{one.low:.1f}, {one.high:.1f}]" for one in by_way.itertuples()]
        name = {"bible": "Acts and Hebrews", "ntrex": "NTREX"}[text]
        assert row == f"| {' | '.join([name, pair, *cells])} |"


def test_a_score_without_a_record_is_found() -> None:
    of = {"seed": {("91.0",), ("91.0", "90.5", "91.4")}, "dream": {("88.8",)}}
    table = "| Method | P@1 |\n|---|---|\n| seed | {} |\n"
    assert untraced(table.format("91.0 [90.5, 91.4]"), of) == []
    assert untraced(table.format("91.0"), of) == []
    for wrong in ("91.0 [90.5, 91.5]", "91.0 [90.5, 91.4] ± 0.3", "91.1", "88.8"):
        assert untraced(table.format(wrong), of) == [f"| seed | {wrong} |"]
    assert untraced("| Text | seed |\n|---|---|\n| Tatoeba | 88.8\\* |\n", of) == ["| Tatoeba | 88.8\\* |"]


def test_the_pages_have_scores() -> None:
    counts = {page: sum(1 for _ in scores((RESULTS / page).read_text())) for page in RECORDS}
    assert counts["real.md"] > 700
    assert counts["evaluation.md"] > 700
