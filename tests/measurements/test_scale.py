"""docs/scale.md has the table that its command prints."""

from __future__ import annotations

from pathlib import Path

import pytest
import scale

PAGE = Path(__file__).parents[2] / "docs/scale.md"


def test_the_table_of_the_page_is_what_the_command_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["scale.py"])
    scale.main()
    table = capsys.readouterr().out
    assert table.count("\n") == 10
    assert table in PAGE.read_text(encoding="utf-8")
