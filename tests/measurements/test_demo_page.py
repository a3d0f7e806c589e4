"""The page of the demo holds the numbers of a run, and none that somebody typed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import demo_page
import pandas as pd
import pytest

RECORD = demo_page.PAGE.with_name("demo.csv")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A copy of the page."""
    return shutil.copy(demo_page.PAGE, tmp_path / "README.md")


def test_the_page_is_what_the_command_writes(page: Path) -> None:
    demo_page.write(RECORD, page)
    assert page.read_text() == demo_page.PAGE.read_text()
    assert page.with_name("demo.csv").read_bytes() == RECORD.read_bytes()


def test_another_run_changes_the_page(page: Path, tmp_path: Path) -> None:
    run = pd.read_csv(RECORD)
    oracle = (run["encoder"] == "me5-small-4bit") & (run["method"] == "oracle")
    run.loc[oracle, ["language", "language_low", "language_high"]] = [25.6, 24.0, 27.2]
    run.to_csv(tmp_path / "corner.csv", index=False)
    demo_page.write(tmp_path / "corner.csv", page)
    assert "| me5-small-4bit | ORACLE |" in page.read_text()
    assert "25.6 [24.0, 27.2]" in page.read_text()
    assert "25.6 [24.0, 27.2]" not in demo_page.PAGE.read_text()


def test_a_page_without_the_place_of_a_table_is_refused(page: Path) -> None:
    page.write_text(page.read_text().replace("<!-- table: software -->", ""))
    with pytest.raises(SystemExit, match="has 0 places for the table software"):
        demo_page.write(RECORD, page)


def test_a_run_of_a_part_is_refused(page: Path, tmp_path: Path) -> None:
    run = pd.read_csv(RECORD)
    run[run["encoder"] != "me5-small-4bit"].to_csv(tmp_path / "corner.csv", index=False)
    with pytest.raises(SystemExit, match="no numbers of me5-small-4bit"):
        demo_page.write(tmp_path / "corner.csv", page)


def test_no_score_stands_outside_the_tables() -> None:
    text = re.sub(r"<!-- table.*?<!-- end -->", "", demo_page.PAGE.read_text(), flags=re.DOTALL)
    assert re.findall(r"\d+\.\d+ \[", text) == []
