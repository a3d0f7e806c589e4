"""What was read, dropped and kept of a preset's corpora, as tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orthoglot.report.tables import Cell, Table

KEPT = ("train", "valid", "test")
# The content of a counts.json.
Counts = Mapping[str, Any]


def read_counts(path: Path) -> dict[str, Any]:
    """The counts of a prepared folder, or those of a counts.json; `pair` is the folder's name unless they tell it."""
    file = path / "counts.json" if path.is_dir() else path
    return {"pair": file.parent.name, **json.loads(file.read_text(encoding="utf-8"))}


def pairs_table(counts: Sequence[Counts]) -> Table:
    """Language pair by pairs read, dropped by reason, kept by split."""
    reasons = _reasons(counts)
    rows = [
        (one["pair"], _read(one), *_dropped(one, reasons), *(one["kept"][split] for split in KEPT))
        for one in counts
    ]
    columns = ["Pair", "Read", *map(_titled, reasons), "Train", "Valid", "Test"]
    note = "Sentence pairs. Read = dropped by each reason + train + valid + test."
    return Table("Corpora", note, columns, [list(map(_cell, row)) for row in rows])


def text_table(counts: Sequence[Counts]) -> Table:
    """Language by corpora, sentences read, dropped by reason, kept."""
    reasons = _reasons(counts)
    rows = [
        (
            one["language"],
            ", ".join(sorted(one["in"])),
            _read(one),
            *_dropped(one, reasons),
            sum(one["shards"]),
        )
        for one in counts
    ]
    columns = ["Language", "Corpora", "Read", *map(_titled, reasons), "Kept"]
    note = (
        "Sentences without translations. Read = dropped by each reason + kept; held out are held-out sentences of "
        "the pairs."
    )
    return Table("Text", note, columns, [list(map(_cell, row)) for row in rows])


def _read(counts: Counts) -> int:
    return sum(counts["in"].values())


def _reasons(counts: Sequence[Counts]) -> list[str]:
    return sorted({reason for one in counts for reason in one["dropped"]})


def _titled(reason: str) -> str:
    return f"− {reason.replace('_', ' ')}"


def _dropped(counts: Counts, reasons: Sequence[str]) -> list[int]:
    return [counts["dropped"].get(reason, 0) for reason in reasons]


def _cell(value: str | int) -> Cell:
    return Cell(value if isinstance(value, str) else f"{value:,}")
