"""The page on few pairs prints its records."""

from __future__ import annotations

from pathlib import Path

import few_pairs

RESULTS = Path(__file__).parents[2] / "docs/results"


def test_the_table_on_the_page_is_that_of_the_records() -> None:
    assert few_pairs.table(RESULTS / "few-pairs.csv") in (RESULTS / "few-pairs.md").read_text(
        encoding="utf-8"
    )
