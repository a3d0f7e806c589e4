"""A model against the original vectors, centering and another method: known answers and an independent twin."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr
from small_checkpoint import make_pairs, write_tsv
from typer.testing import CliRunner

from orthoglot import load
from orthoglot.apply.evaluate import Estimate, Row, evaluate, read, table
from orthoglot.cli import app
from orthoglot.errors import ConfigError, DataError

PAIRS = make_pairs(50, seed=9)
TEXT = make_pairs(500)


@pytest.fixture
def model(models: dict[str, Path]) -> Path:
    """The plda on a tiny encoder."""
    return models["plda"]


def graded(path: Path) -> list[float]:
    gold = np.random.default_rng(4).normal(size=50).round(2).tolist()
    path.write_text("".join(f"{a}\t{b}\t{one}\n" for (a, b), one in zip(PAIRS, gold, strict=True)))
    return gold


def test_scores_are_those_of_numpy_and_scipy(model: Path, tmp_path: Path) -> None:
    opened = load(model, device="cpu")
    gold = graded(tmp_path / "graded.tsv")
    files = [write_tsv(tmp_path / "pairs.tsv", PAIRS), tmp_path / "graded.tsv"]
    found = {
        (row.benchmark, row.vectors, row.measure): row
        for row in evaluate(opened, [read(one) for one in files])
    }
    for name, part in (("original", "sentence"), ("model (plda)", "meaning")):
        x, y = (opened.encode([pair[side] for pair in PAIRS], part=part).astype(float) for side in (0, 1))
        x, y = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in (x, y))
        cosines, own = x @ y.T, np.arange(50)
        right = [(cosines.argmax(axis=axis) == own).mean() * 100 for axis in (1, 0)]
        scores = [found["pairs.tsv", name, measure].score for measure in ("P@1 ->", "P@1 <-", "P@1 both")]
        assert [one.value for one in scores] == pytest.approx([*right, np.mean(right)])
        rank = found["graded.tsv", name, "spearman"].score
        assert rank.value == pytest.approx(100 * spearmanr(cosines.diagonal(), gold).statistic, abs=0.5)
        assert all(one.low <= one.value <= one.high for one in [*scores, rank])
        assert rank.high - rank.low > 20
    gain = found["pairs.tsv", "model (plda)", "P@1 both"]
    base = found["pairs.tsv", "original", "P@1 both"]
    assert base.minus_original is None
    assert gain.minus_original.value == pytest.approx(gain.score.value - base.score.value)
    assert gain.minus_original.low > 0  # the languages' offset hides translations from the original vectors


def test_other_methods_are_fitted_on_text_without_the_benchmark(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened = load(model / "encoder", device="cpu")
    benchmark = read(write_tsv(tmp_path / "pairs.tsv", PAIRS))
    clean = write_tsv(tmp_path / "clean.tsv", TEXT[:200])
    # A translation of a benchmark's sentence that is far off would move the means.
    leaked = write_tsv(tmp_path / "leaked.tsv", [*TEXT[:200], *((a, TEXT[0][0]) for a, _ in PAIRS)])
    options: dict[str, Any] = {"method": "whitening", "languages": ("en", "gn")}
    with caplog.at_level(logging.INFO):
        rows = [evaluate(opened, [benchmark], text=[text], **options) for text in (clean, leaked)]
    assert rows[0] == rows[1]
    assert "50 of 250 pairs of text are in a benchmark" in caplog.text
    both = {row.vectors: row for row in rows[0] if row.measure == "P@1 both"}
    assert list(both) == ["original", "centering", "whitening"]
    assert both["centering"].minus_original.low > 0
    with pytest.raises(DataError, match="0 pairs of text outside the benchmarks"):
        evaluate(opened, [benchmark], text=[tmp_path / "pairs.tsv"])


def test_what_a_benchmark_may_be(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_tsv(tmp_path / "a.tsv", [*PAIRS[:10], ("", "b"), PAIRS[0], (PAIRS[1][0], "other")])
    with caplog.at_level(logging.INFO):
        assert read(path).source == [pair[0] for pair in PAIRS[:10]]
    assert "2 of 12 pairs are left out" in caplog.text
    assert "10 pairs are few" in caplog.text
    caplog.clear()
    read(write_tsv(tmp_path / "a.tsv", PAIRS[:30]))
    assert "pairs are few" not in caplog.text
    for line, message in (
        ("a", "1 columns"),
        ("a\tb", "1 pairs"),
        ("a\tb\tc", "the grades"),
        ("a\tb\tc\td", "line 1 has 4 columns, not 2 or 3"),
        ("a\tb\tnan", "finite"),
    ):
        path.write_text(f"{line}\n")
        with pytest.raises(DataError, match=message):
            read(path)


def test_columns_of_a_benchmark_are_named(tmp_path: Path) -> None:
    """A third column with a name is no grade unless it is asked for."""
    path, rows = tmp_path / "a.tsv", [(f"{n / 9}", *pair) for n, pair in enumerate(PAIRS[:30])]
    path.write_text("".join("\t".join(row) + "\n" for row in [("score", "source", "target"), *rows]))
    sides = [a for a, _ in PAIRS[:30]], [b for _, b in PAIRS[:30]]
    assert read(path)[1:] == (*sides, None, ("source", "target"))
    assert read(path, ("en", None)).languages == ("en", "target")
    gold = read(path, columns=["target", "source", "score"]).gold
    assert gold is not None
    assert gold.tolist() == [n / 9 for n in range(30)]
    (tmp_path / "encoder.json").touch()
    given = ["evaluate", str(tmp_path), "--benchmark", str(path), "--columns", "1"]
    error = CliRunner().invoke(app, given).exception
    assert "write 2 or 3, by number" in str(error)


def test_the_command_prints_a_table_or_json(model: Path, tmp_path: Path) -> None:
    text = write_tsv(tmp_path / "text.tsv", TEXT[:200])
    benchmark = write_tsv(tmp_path / "pairs.tsv", PAIRS)
    given = ["evaluate", str(model), "--benchmark", str(benchmark), "--threads", "1", "--method", "whitening"]
    table = CliRunner().invoke(app, [*given, "--text", str(text)])
    lines = [line.split(" | ") for line in table.stdout.splitlines()]
    assert [line[2] for line in lines[2::3]] == ["original", "centering", "whitening", "model (plda)"]
    names = [line[1].removeprefix("P@1 ") for line in lines[2:5]]
    assert names == ["source -> target", "target -> source", "source <-> target"]
    output = tmp_path / "found.json"
    assert CliRunner().invoke(app, [*given, "--json", "-o", str(output)]).exit_code == 0
    found = json.loads(output.read_text())
    assert len(found) == 6
    assert set(found[3]["minus_original"]) == {"value", "low", "high"}
    assert f"{found[3]['score']['value']:.1f} [" in table.stdout


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    (tmp_path / "encoder.json").touch()
    for given, message in (
        ([str(tmp_path)], "give --benchmark"),
        (
            [str(tmp_path), "--benchmark", "absent.tsv", "--text", "a", "--method", "sed"],
            "nearest known: seed",
        ),
    ):
        error = CliRunner().invoke(app, ["evaluate", *given]).exception
        assert isinstance(error, ConfigError)
        assert message in str(error)


def test_a_name_breaks_no_table() -> None:
    estimate = Estimate(50.0, 40.0, 60.0)
    row = Row("a|b", "model", "P@1 both", estimate, None, 10)
    assert table([row]).splitlines()[2].startswith("| a\\|b | P@1 source <-> target | model |")
