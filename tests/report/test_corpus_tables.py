"""What was read, dropped and kept of pairs and of text: every number in its column, and every line adds up."""

from __future__ import annotations

from typing import Any

from orthoglot.report.corpus_tables import pairs_table, text_table
from orthoglot.report.tables import Table

PAIRS: list[dict[str, Any]] = [
    {
        "pair": "en-de",
        "in": {"a": 1000, "b": 234},
        "dropped": {"too_long": 30, "benchmark": 4},
        "kept": {"train": 1000, "valid": 100, "test": 100},
    },
    {"pair": "en-gn", "in": {"a": 9}, "dropped": {}, "kept": {"train": 7, "valid": 1, "test": 1}},
]
TEXT: list[dict[str, Any]] = [
    {"language": "gn", "in": {"web": 5, "books": 2000}, "dropped": {"held_out": 3}, "shards": [2000, 2]},
    {"language": "qu", "in": {"web": 10}, "dropped": {"benchmark": 1, "held_out": 2}, "shards": [7]},
]


def told(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_pairs_by_reason_and_split() -> None:
    table = pairs_table(PAIRS)
    assert table.columns == ["Pair", "Read", "− benchmark", "− too long", "Train", "Valid", "Test"]
    assert told(table) == [
        ["en-de", "1,234", "4", "30", "1,000", "100", "100"],
        ["en-gn", "9", "0", "0", "7", "1", "1"],
    ]


def test_text_by_language_with_its_corpora() -> None:
    table = text_table(TEXT)
    assert table.columns == ["Language", "Corpora", "Read", "− benchmark", "− held out", "Kept"]
    assert told(table) == [
        ["gn", "books, web", "2,005", "0", "3", "2,002"],
        ["qu", "web", "10", "1", "2", "7"],
    ]
    assert "held-out sentences of the pairs" in table.note
