"""The page's table: means over subsets with their intervals."""

from __future__ import annotations

import csv
from pathlib import Path

ALL = "all"


def table(path: Path) -> str:
    """A line for each task, text and measure of scores.csv."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["subset"] == ALL and row["low"]]
    heads = ["Task", "Text", "Subsets", "Measure", "Encoder's own vector", "Ready model", "Gain"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    pairs = zip(rows[::2], rows[1::2], strict=True)
    for own, meaning in pairs:
        cells = [shown(own, "value"), shown(meaning, "value"), shown(meaning, "gain", "+")]
        lines.append(
            f"| {' | '.join([*(own[name] for name in ('task', 'text', 'subsets', 'measure')), *cells])} |"
        )
    return "\n".join(lines)


def shown(row: dict[str, str], name: str, sign: str = "") -> str:
    """A value and its interval."""
    ends = ("low", "high") if name == "value" else ("gain_low", "gain_high")
    value, low, high = (f"{float(row[end]):{sign}.1f}" for end in (name, *ends))
    return f"{value} [{low}, {high}]"
