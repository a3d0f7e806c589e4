"""The page on few pairs prints its records."""

from __future__ import annotations

from pathlib import Path

import few_pairs

FOLDER = Path(few_pairs.__file__).parent


def test_the_table_on_the_page_is_that_of_the_records() -> None:
    assert few_pairs.table(FOLDER / "few-pairs.csv") in (FOLDER / "README.md").read_text(encoding="utf-8")
