"""Tables that a script writes into a page are those of the committed records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import coverage_of_calibrate
import detection
import own_mean
import pairs_needed
import pytest

RESULTS = Path(__file__).parents[2] / "docs/results"


@pytest.mark.parametrize(
    ("table", "record", "page"),
    [
        (own_mean.table, "own-mean.csv", "own-mean.md"),
        (coverage_of_calibrate.table, "coverage.csv", "mining.md"),
        (pairs_needed.table, "pairs-needed.csv", "pairs-needed.md"),
        (detection.table, "detection.csv", "scoring.md"),
    ],
)
def test_the_table_on_the_page_is_that_of_the_records(
    table: Callable[[Path], str], record: str, page: str
) -> None:
    assert table(RESULTS / record) in (RESULTS / page).read_text(encoding="utf-8")
