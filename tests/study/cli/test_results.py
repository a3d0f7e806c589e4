"""`orthoglot study results`: the table, and which model it exports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from generated_records import over_seeds
from typer.testing import CliRunner

from orthoglot.catalogue import shipped
from orthoglot.cli import app
from orthoglot.errors import ConfigError, DataError
from orthoglot.statistics.records import write_records
from orthoglot.study.cli.results import _authors_rates
from orthoglot.study.config import load

MEANING = {"original": 80.0, "centering": 90.0, "meat": 85.0, "dream": 70.0}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Results of an encoder, and decomposers of every method but the undivided vector."""
    records = []
    for method, value in MEANING.items():
        for view in ("sentence",) if method == "original" else ("meaning", "language"):
            records += over_seeds("e", method, view, "heldout", "test", "all", "P@1", values=[value])
        if method != "original":
            (tmp_path / "models/decomposers/e" / method / "seed1").mkdir(parents=True)
    signed = [replace(one, facts={**one.facts, "confidence": "0.9"}) for one in records]
    (tmp_path / "results").mkdir()
    write_records(tmp_path / "results/records.jsonl", signed)
    return tmp_path


def invoke(run: Path, *options: str) -> Any:
    return CliRunner().invoke(app, ["study", "results", str(run / "results"), *options])


def test_the_table_and_the_path_of_the_report(run: Path) -> None:
    lines = invoke(run).stdout.splitlines()
    assert "90 % interval" in lines[1]
    assert any("meat" in line and "85.0" in line for line in lines)
    assert lines[-1] == f"report: {run / 'results/report.html'}"


def test_the_best_method_that_one_map_can_hold_is_exported(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Path] = []

    def export(model: Path, output: Path, **given: Any) -> None:
        tried.append(model)
        if "centering" in str(model):
            raise ConfigError(
                "method centering: maps each language its own way; choose it by --language: a, b"
            )
        output.mkdir()

    monkeypatch.setattr("orthoglot.apply.export.export", export)
    options = ("--models", str(run / "models"), "--output", str(run / "model"))
    said = invoke(run, *options)
    home = run / "models/decomposers/e"
    assert tried == [home / "centering/seed1", home / "meat/seed1"]
    assert said.stdout.splitlines()[-2:] == [
        f"use now: {run / 'model'}, the meaning vectors of meat on e",
        "         not centering, although it does better: maps each language its own way",
    ]


def test_nothing_to_export_is_one_line(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def export(*given: Any, **named: Any) -> None:
        raise ConfigError("one map holds none")

    monkeypatch.setattr("orthoglot.apply.export.export", export)
    said = invoke(run, "--models", str(run / "models"), "--output", str(run / "model"))
    assert isinstance(said.exception, ConfigError)
    assert "one map holds none" in str(said.exception)
    elsewhere = invoke(run, "--models", str(run / "absent"), "--output", str(run / "model"))
    assert isinstance(elsewhere.exception, ConfigError)
    assert "absent holds no such decomposer" in str(elsewhere.exception)
    alone = invoke(run, "--models", "models")
    assert "--models and --output go together" in str(alone.exception)


def test_advice_exports_no_model(run: Path) -> None:
    both = invoke(run, "--advice", "--models", str(run / "models"), "--output", str(run / "model"))
    assert str(both.exception) == "--advice exports no model: give --models without it"
    assert not (run / "model").exists()


def test_a_folder_without_a_report_is_one_line(tmp_path: Path) -> None:
    error = CliRunner().invoke(app, ["study", "results", str(tmp_path)]).exception
    assert isinstance(error, DataError)
    assert "holds no report yet: run snakemake first" in str(error)


def test_the_rates_of_the_papers_are_known_by_the_terms_of_a_method() -> None:
    meat = "meat.adversarial=1,meat.cross_reconstruction=1,meat.language=1,meat.reconstruction=1"
    rates = _authors_rates()
    assert rates[frozenset(meat.split(","))] == "1e-05"
    # One rate for each: two recipes with the same terms and other rates would hide one another.
    recipes = [name for name in load(shipped()).methods if name.endswith("-recipe")]
    assert len(rates) == len(recipes)
