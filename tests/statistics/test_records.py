"""Records hold only what a task can have measured, and every command reads them through one function."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from generated_records import a_run
from typer.testing import CliRunner

from orthoglot import receipts
from orthoglot.cli import app
from orthoglot.errors import DataError, one_line
from orthoglot.statistics.records import Record, read_records, write_records
from orthoglot.statistics.resampling import Scores
from orthoglot.statistics.summary import Key, read_scores, write_scores
from orthoglot.study.report.frame import Measured, frame

ROOT = Path(__file__).parents[2]


def record(**changes: Any) -> Record:
    values: dict[str, Any] = {
        **{"task": "heldout", "dataset": "test", "subset": "all", "view": "meaning", "encoder": "e"},
        **{"method": "seed", "seed": 1, "metric": "P@1", "value": 50.0, "low": 40.0, "high": 60.0},
        **{"n": 100, "facts": {"confidence": "0.95"}},
    }
    return Record(**(values | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"value": 1006.9},
        {"value": -0.1},
        {"value": float("nan")},
        {"value": float("inf"), "high": None},
        {"high": float("nan")},
        {"low": -80.0},
        {"low": 70.0},
        {"value": "50"},
        {"value": None},
        {"value": True},
        {"seed": 1.5},
        {"n": "100"},
        {"task": 7},
        {"view": "meanin"},
        {"n": -1},
        {"facts": "chance:0.1"},
        {"facts": {"chance": "0,1"}},
        {"facts": {"candidates": 57}},
        {"facts": {"metric": "P@1"}},
        {"metric": "pearson", "value": -101.0, "low": None, "high": None},
        {"metric": "kl-d", "value": -1.0, "low": None, "high": None},
        {"metric": "kl-d", "value": float("inf"), "low": None, "high": None},
        {"metric": "pr", "value": 1.1, "low": None, "high": None},
        {"metric": "norm:meaning", "value": -1.0, "low": None, "high": None},
        {"metric": "r2:meaning", "value": 101.0, "low": None, "high": None},
        {"metric": "hubness", "value": float("nan"), "low": None, "high": None},
        {"metric": "difference-P@1:original", "value": -101.0, "low": None, "high": None},
        {"metric": "p-P@1:original", "value": 1.1, "low": None, "high": None},
    ],
)
def test_what_no_task_can_have_measured_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"no record|is not from|is empty"):
        record(**changes)


@pytest.mark.parametrize(
    ("metric", "value", "low", "high"),
    [
        ("P@1", 100.00004, 99.0, 100.0),
        ("r2:meaning", -250.0, -300.0, -200.0),
        ("language_share", 0.1, -0.3, 0.9),
        ("pearson", -20.0, -100.0, 3.0),
        ("length-ratio:gold", -99.0, None, None),
        ("kl-d:full/d", 5e6, None, None),
        ("ch-i:ratio", 28.4, 0.0, 40.0),
        ("pr:both-signs", 0.4, 0.3, 0.5),
        ("hubness", -1.1, -2.0, 30.0),
        ("norm:language", 1.2, 1.1, 1.3),
        ("cosine:spread", 12.0, 11.0, 13.0),
        ("difference-P@1:original", -100.0, -100.0, -90.0),
        ("difference-abs-pearson:original", 150.0, None, None),
        ("difference-hubness:original", 1e5, None, None),
        ("sign-P@1:original", 1.0, None, None),
    ],
)
def test_what_a_task_can_measure_is_taken(
    metric: str, value: float, low: float | None, high: float | None
) -> None:
    assert record(metric=metric, value=value, low=low, high=high).value == value


def test_committed_records_are_read() -> None:
    committed = (ROOT / "measurements").rglob("*.parquet")
    smallest = min(committed, key=lambda path: path.stat().st_size)
    assert Measured(read_records(smallest)).methods


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "its last line without its end": lambda content: content[:-1],
    "not UTF-8": lambda content: content.replace(b"heldout", b"held\xffut", 1),
    "deep": lambda content: b"[" * 100_000 + b"\n",
    "a value out of range": lambda content: content.replace(b'"value": 50.0', b'"value": 1006.9', 1),
    "NaN": lambda content: content.replace(b'"value": 50.0', b'"value": NaN', 1),
    "the same number twice": lambda content: content + content[: content.index(b"\n") + 1],
    "a whole line less": lambda content: content[content.index(b"\n") + 1 :],
    "a digit": lambda content: content.replace(b'"value": 50.0', b'"value": 90.0', 1),
}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The folder of a report, with its receipt, as a job leaves it."""
    folder = tmp_path / "results"
    folder.mkdir()
    write_records(folder / "records.jsonl", [record(), *(record(seed=seed) for seed in (2, None))])
    frame(read_records(folder / "records.jsonl")).to_parquet(folder / "records.parquet", index=False)
    receipts.write(folder, "0123456789abcdef")
    return folder


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("receipt", [True, False])
def test_damaged_lines_are_refused(damage: str, receipt: bool, results: Path) -> None:
    path = results / "records.jsonl"
    if not receipt:
        (results / "receipt/0123456789abcdef.json").unlink()
        if damage in ("a whole line less", "a digit"):
            pytest.skip("without a receipt these are sound records")
    assert read_records(path)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(DataError, match=r"records\.jsonl") as raised:
        read_records(path)
    assert len(one_line(raised.value)) <= 1000


@pytest.mark.parametrize("name", ["records.jsonl", "records.parquet"])
@pytest.mark.parametrize(
    "command",
    [
        ["study", "results", "{folder}"],
        ["study", "results", "{file}", "--advice"],
        ["study", "table", "oracle", "{file}", "{out}"],
        ["study", "table", "claims", "{file}", "{out}"],
        ["study", "compare", "{file}", "{file}"],
        ["study", "compare", "{folder}", "{folder}"],
    ],
    ids=lambda command: " ".join(command[:3]),
)
def test_no_command_shows_a_result_that_is_not_as_its_job_wrote_it(
    command: list[str], name: str, results: Path, tmp_path: Path
) -> None:
    write_records(results / "records.jsonl", a_run(["labse"]))
    frame(read_records_without_receipt(results)).to_parquet(results / "records.parquet", index=False)
    (results / "receipt/0123456789abcdef.json").unlink()
    (results / "receipt").rmdir()
    receipts.write(results, "0123456789abcdef")
    if "{folder}" in command and name == "records.parquet":
        pytest.skip("of a folder the lines are read")
    places = {"folder": results, "file": results / name, "out": tmp_path / "out"}
    words = [word.format(**places) for word in command]
    content = bytearray((results / name).read_bytes())
    content[len(content) // 2] ^= 1
    (results / name).write_bytes(content)
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, DataError), done.output
    assert f"{name}: is damaged; make {results} again" in str(done.exception)
    assert not done.stdout
    assert not (tmp_path / "out").exists()


def read_records_without_receipt(folder: Path) -> list[Record]:
    lines = (folder / "records.jsonl").read_text().splitlines()
    return [Record.of(json.loads(line)) for line in lines]


def test_a_folder_called_receipt_that_is_none_is_nobodys_result(tmp_path: Path) -> None:
    (tmp_path / "receipt").mkdir()
    (tmp_path / "receipt/of-the-shop.pdf").write_text("7 EUR")
    write_records(tmp_path / "records.jsonl", [record()])
    assert read_records(tmp_path / "records.jsonl") == [record()]


def test_scores_are_compared_with_their_receipt_and_damaged_ones_named(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    key = Key("tatoeba", "t", "en->de", "meaning", 1)
    write_scores(path, {key: Scores(np.ones(9, dtype=np.int8), np.arange(9, dtype=np.uint64))})
    assert read_scores(path)[key].values.sum() == 9
    receipts.write(tmp_path, "0123456789abcdef")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\x01")
    with pytest.raises(DataError, match=r"scores\.npz: is damaged"):
        read_scores(path)
    (tmp_path / "receipt/0123456789abcdef.json").unlink()
    for damaged in (b"", content[:40], content[:-40]):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"scores\.npz: holds no scores"):
            read_scores(path)
