"""The verbs that read a report's records: table, claims, recommend."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_cli import error_line, run

from orthoglot.statistics.records import Record, write_records


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """LaBSE's Tatoeba accuracy, undivided and by SEED."""
    facts = {"source": "tatoeba", "checkpoint": "LaBSE", "partners": "none", "terms": ""}
    found = [
        Record(
            *("tatoeba", "tatoeba", subset, view, "labse", method, seed, "P@1"),
            *(value, value - 1, value + 1, 9, facts | {"architecture": method}),
        )
        for method, view, value in (("original", "sentence", 90.0), ("seed", "meaning", 95.0))
        for subset in ("en->de", "de->en", "all")
        for seed in (1, None)
    ]
    path = tmp_path / "records.jsonl"
    write_records(path, found)
    return path


def test_table_writes_its_files(records: Path, tmp_path: Path) -> None:
    result = run("study", "table", "oracle", str(records), str(tmp_path / "out"))
    assert result.returncode == 0, result.stderr
    kinds = ("csv", "html", "json", "md")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"oracle-table.{kind}" for kind in kinds
    ]
    assert (
        "| labse | original | sentence | difference | -9.20 to 99.20 ≠ |"
        in (tmp_path / "out/oracle-table.md").read_text()
    )


def test_claims_writes_its_files(records: Path, tmp_path: Path) -> None:
    assert run("study", "table", "claims", str(records), str(tmp_path / "out")).returncode == 0
    assert sorted(path.suffix for path in (tmp_path / "out").iterdir()) == [".html", ".json", ".md"]


def test_recommend_prints_a_table_for_each_use(records: Path) -> None:
    result = run("study", "results", "--advice", str(records))
    assert result.returncode == 0, result.stderr
    assert "### Best method for retrieval" in result.stdout
    assert "| seed | 1.00 | 95.00 | – | – |" in result.stdout
    assert "| original | 2.00 | 90.00 | -5.00 [-7.00, -3.00] | yes |" in result.stdout
    assert "No advice for scoring" in result.stdout


@pytest.mark.parametrize(
    ("text", "status", "cause"),
    [
        (None, 1, "No such file"),
        ("not a record\n", 4, "line 1 is not a record"),
        ("", 4, "no record to read"),
        ('{"task": "sts"}\n', 4, "line 1 is not a record (it lacks dataset, subset, view"),
    ],
)
def test_records_that_are_none_are_one_line(
    tmp_path: Path, text: str | None, status: int, cause: str
) -> None:
    path = tmp_path / "records.jsonl"
    if text is not None:
        path.write_text(text)
    result = run("study", "table", "seed", str(path), str(tmp_path / "out"))
    assert result.returncode == status
    assert cause in error_line(result)
    assert not (tmp_path / "out").exists()


def test_an_unknown_paper_is_a_configuration_error(records: Path, tmp_path: Path) -> None:
    result = run("study", "table", "dream", str(records), str(tmp_path / "out"))
    assert result.returncode == 2
    assert "no paper called dream; there are oracle, seed" in error_line(result)
