"""What was read, dropped and kept of a preset's corpora, as tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orthoglot.evaluation.tables import Cell, Table

# The content of a counts.json.
Counts = Mapping[str, Any]


def read_counts(path: Path) -> dict[str, Any]:
    """The counts of a prepared folder, or those of a counts.json; `pair` is the folder's name unless they tell it."""
    file = path / "counts.json" if path.is_dir() else path
    return {"pair": file.parent.name, **json.loads(file.read_text(encoding="utf-8"))}


def pairs_table(counts: Sequence[Counts]) -> Table:
    """Language pair by pairs read, dropped by reason, kept by split."""
    rows = [
        (one["pair"], _read(one), *dropped, *(one["kept"][split] for split in ("train", "valid", "test")))
        for one, dropped in zip(counts, _dropped(counts), strict=True)
    ]
    columns = ["Pair", "Read", *_reasons(counts), "Train", "Valid", "Test"]
    note = "Sentence pairs. Read = dropped by each reason + train + valid + test."
    return Table("Corpora", note, columns, [list(map(_cell, row)) for row in rows])


def text_table(counts: Sequence[Counts]) -> Table:
    """Language by corpora, sentences read, dropped by reason, kept."""
    rows = [
        (one["language"], ", ".join(sorted(one["in"])), _read(one), *dropped, sum(one["shards"]))
        for one, dropped in zip(counts, _dropped(counts), strict=True)
    ]
    columns = ["Language", "Corpora", "Read", *_reasons(counts), "Kept"]
    note = (
        "Sentences without translations. Read = dropped by each reason + kept; held out are held-out sentences of "
        "the pairs."
    )
    return Table("Text", note, columns, [list(map(_cell, row)) for row in rows])


def _read(counts: Counts) -> int:
    return sum(counts["in"].values())


def _names(counts: Sequence[Counts]) -> list[str]:
    return sorted({reason for one in counts for reason in one["dropped"]})


def _reasons(counts: Sequence[Counts]) -> list[str]:
    return [f"− {reason.replace('_', ' ')}" for reason in _names(counts)]


def _dropped(counts: Sequence[Counts]) -> list[list[int]]:
    return [[one["dropped"].get(reason, 0) for reason in _names(counts)] for one in counts]


def _cell(value: str | int) -> Cell:
    return Cell(value if isinstance(value, str) else f"{value:,}")
