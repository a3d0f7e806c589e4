"""Two runs side by side, of files, of folders with scores, and of revisions."""

from __future__ import annotations

import io
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from generated_records import over_seeds
from typer.testing import CliRunner

from orthoglot import receipts
from orthoglot.cli import app
from orthoglot.errors import DataError
from orthoglot.statistics.records import ALL, write_records
from orthoglot.statistics.resampling import Scores
from orthoglot.statistics.settings import ResamplingSettings
from orthoglot.statistics.summary import Key, Scored, summarise, write_scores
from orthoglot.study.cli.compare import compared, read_run
from orthoglot.study.report.frame import frame

SETTINGS = ResamplingSettings(resamples=200, confidence=0.95, seed=1)
KEYS = np.arange(300, dtype=np.uint64)


def hits(share: float, seed: int = 1) -> np.ndarray:
    """The same sentences are the easy ones in every run."""
    return (np.random.default_rng(seed).random(len(KEYS)) < share).astype(np.int8)


def evaluation(root: Path, method: str, share: float, keys: np.ndarray = KEYS) -> None:
    """Records and scores of two tasks, as `evaluate` writes them."""
    folder = root / "e" / method
    folder.mkdir(parents=True)
    gold = np.random.default_rng(2).normal(size=len(KEYS))
    noise = np.random.default_rng(3).normal(size=len(KEYS))
    scored: Scored = {
        Key("tatoeba", "t", way, "meaning", 1): Scores(hits(share), keys) for way in ("de->en", "en->de")
    }
    graded = Key("sts", "s", "en-de", "meaning", 1, "correlation")
    scored[graded] = Scores(np.column_stack([share * gold + noise, gold]), keys)
    facts: dict[Key, dict[str, object]] = {key: {} for key in scored}
    records = summarise(scored, facts, SETTINGS, encoder="e", method=method, made={})
    write_records(folder / "records.jsonl", records)
    write_scores(folder / "scores.npz", scored)


def run(*arguments: object) -> pd.DataFrame:
    found = CliRunner().invoke(
        app, ["study", "compare", *map(str, arguments), "--csv"], catch_exceptions=False
    )
    return pd.read_csv(io.StringIO(found.stdout))


def test_folders_with_scores_are_compared_sentence_by_sentence(tmp_path: Path) -> None:
    for name, share in (("a", 0.5), ("b", 0.6)):
        evaluation(tmp_path / name, "dream", share)
    table = run(tmp_path / "a", tmp_path / "b")
    assert list(zip(table["task"], table["metric"], strict=True)) == [
        ("tatoeba", "P@1"),
        ("sts", "pearson"),
        ("sts", "spearman"),
    ]
    assert set(table["interval"]) == {"paired"}
    first = table.iloc[0]
    assert first["method"] == "dream"
    assert first["difference"] == pytest.approx(first["B"] - first["A"])
    assert first["A"] == pytest.approx(100 * hits(0.5).mean())
    d = hits(0.6).astype(float) - hits(0.5)
    reach = 1.96 * 100 * d.std() / np.sqrt(len(d))
    assert (first["high"] - first["low"]) / 2 == pytest.approx(reach, rel=0.1)
    records = [tmp_path / name / "e" / "dream" / "records.jsonl" for name in "ab"]
    apart = run(*records)
    assert set(apart["interval"]) == {"apart"}
    wide = apart.iloc[0]
    assert wide["high"] - wide["low"] > 2 * (first["high"] - first["low"])
    mine, other = (read_run(str(path)).numbers.iloc[0] for path in records)
    assert wide["high"] == pytest.approx(other["high"] - mine["low"])


def test_results_of_two_runs_are_paired_by_the_scores_that_they_were_made_of(tmp_path: Path) -> None:
    key = "0" * 16
    for name, share in (("a", 0.5), ("b", 0.6)):
        root = tmp_path / name
        evaluation(root / "evaluations", "dream", share)
        made = "evaluations/e/dream"
        receipts.write(root / made, key)
        (root / "results").mkdir()
        shutil.copy(root / made / "records.jsonl", root / "results")
        receipts.write(root / "results", key, {made: (key, receipts.contents(root / made, key))})
    folders = tmp_path / "a/results", tmp_path / "b/results"
    paired = run(*folders)
    assert set(paired["interval"]) == {"paired"}
    pd.testing.assert_frame_equal(paired, run(tmp_path / "a/evaluations", tmp_path / "b/evaluations"))
    # Scores of another evaluation than the one that the report read.
    shutil.rmtree(tmp_path / "b/evaluations")
    evaluation(tmp_path / "b/evaluations", "dream", 0.7)
    receipts.write(tmp_path / "b/evaluations/e/dream", key)
    assert set(run(*folders)["interval"]) == {"apart"}
    shutil.rmtree(tmp_path / "a/evaluations")
    assert set(run(*folders)["interval"]) == {"apart"}


@pytest.mark.parametrize("name", ["scores.npz", "records.jsonl"])
@pytest.mark.parametrize("folder", [False, True])
def test_a_file_that_a_receipt_lists_and_that_is_gone_is_an_error(
    name: str, folder: bool, tmp_path: Path
) -> None:
    key = "0" * 16
    made = "evaluations/e/dream"
    for root, share in ((tmp_path / "a", 0.5), (tmp_path / "b", 0.6)):
        evaluation(root / "evaluations", "dream", share)
        evaluation(root / "evaluations", "seed", share)
        for method in ("dream", "seed"):
            receipts.write(root / f"evaluations/e/{method}", key)
        (root / "results").mkdir()
        shutil.copy(root / made / "records.jsonl", root / "results")
        receipts.write(root / "results", key, {made: (key, receipts.contents(root / made, key))})
    (tmp_path / "a" / made / name).unlink()
    if folder:
        (tmp_path / "a" / made / name).mkdir()
    fault = "is a folder in the place of a file" if folder else "is absent"
    for place in ("evaluations", "evaluations/e/dream", "results"):
        with pytest.raises(DataError, match=rf"dream/{name}: {fault}"):
            run(tmp_path / "a" / place, tmp_path / "b" / place)


def test_other_sentences_are_not_paired(tmp_path: Path) -> None:
    evaluation(tmp_path / "a", "dream", 0.5)
    evaluation(tmp_path / "b", "dream", 0.5, KEYS + np.uint64(7))
    assert set(run(tmp_path / "a", tmp_path / "b")["interval"]) == {"apart"}


def test_rows_are_filtered_and_what_one_side_has_is_counted_and_listed(tmp_path: Path) -> None:
    for name, methods in (("a", ("dream", "meat")), ("b", ("dream", "seed", "oracle"))):
        for method in methods:
            evaluation(tmp_path / name, method, 0.5)
    found = CliRunner().invoke(
        app, ["study", "compare", str(tmp_path / "a"), str(tmp_path / "b"), "--task", "tatoeba"]
    )
    assert "sts" not in found.output
    assert "only in A: 1\n  tatoeba t meaning e meat P@1" in found.output
    assert "only in B: 2" in found.output
    table = run(tmp_path / "a", tmp_path / "b", "--method", "dream", "--view", "meaning")
    assert (len(table), set(table["method"])) == (3, {"dream"})


def test_parquet_is_read_as_the_lines_are(tmp_path: Path) -> None:
    records = over_seeds("e", "dream", "meaning", "tatoeba", "t", ALL, "P@1", values=[50, 52])
    records.append(replace(records[-1], metric="difference-P@1:original", seed=None))
    write_records(tmp_path / "records.jsonl", records)
    frame(records).to_parquet(tmp_path / "records.parquet", index=False)
    one, two = (read_run(str(tmp_path / f"records.{kind}")) for kind in ("jsonl", "parquet"))
    pd.testing.assert_frame_equal(one.numbers, two.numbers)
    assert list(one.numbers.index) == [("tatoeba", "t", "meaning", "e", "dream", "P@1")]
    assert compared(one, two)["difference"].tolist() == [0]


COMMIT = "git -c user.name=a -c user.email=a@b.c commit -qm run"


def called(*commands: str) -> None:
    for command in commands:
        subprocess.run(command.split(), check=True, capture_output=True)


def test_a_revision_is_read_through_dvc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("results").mkdir()
    for share in (0.5, 0.6):
        evaluation(tmp_path / str(share), "dream", share)
    records = [tmp_path / str(share) / "e" / "dream" / "records.jsonl" for share in (0.5, 0.6)]
    called("git init -q", "dvc init -q")
    for source in records:
        Path("results/records.jsonl").write_bytes(source.read_bytes())
        called("dvc add -q results/records.jsonl", "git add results .dvc", COMMIT)
    pd.testing.assert_frame_equal(read_run("HEAD~1").numbers, read_run(str(records[0])).numbers)
    table = run("HEAD~1", "HEAD")
    assert table["difference"].iloc[0] == pytest.approx(100 * (hits(0.6).mean() - hits(0.5).mean()))
    for file in Path(".dvc/cache").rglob("*"):
        if file.is_file():
            file.unlink()
    with pytest.raises(DataError, match="dvc pull"):
        read_run("HEAD~1")
    with pytest.raises(DataError, match="nowhere"):
        read_run("nowhere")


def test_a_revision_whose_records_are_damaged_in_dvcs_cache_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    evaluation(tmp_path / "made", "dream", 0.5)
    Path("results").mkdir()
    content = (tmp_path / "made/e/dream/records.jsonl").read_bytes()
    Path("results/records.jsonl").write_bytes(content)
    receipts.write(Path("results"), "0123456789abcdef")
    called("git init -q", "dvc init -q", "dvc add -q results/records.jsonl results/receipt")
    called("git add results .dvc", COMMIT)
    assert len(read_run("HEAD").numbers)
    (stored,) = (
        file for file in Path(".dvc/cache").rglob("*") if file.is_file() and file.read_bytes() == content
    )
    stored.chmod(0o644)
    stored.write_bytes(content.replace(b'"value": 5', b'"value": 4', 1))
    with pytest.raises(DataError, match=r"HEAD: results/records\.jsonl: is damaged"):
        read_run("HEAD")
