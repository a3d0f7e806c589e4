"""Text of one's own: warnings and errors before any job, and how it is shared."""

from __future__ import annotations

from pathlib import Path

import pytest
from workspace import Workspace

UNREAD = "corpora.own: text that no encoder of presets.mini reads"
MISSING = "corpora.own: texts/own.qac does not exist; put it there or correct the entry"


@pytest.fixture(scope="module")
def with_text(fresh: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """`fresh` with text of two languages, one of which has no file."""
    workspace = fresh.copy(tmp_path_factory.mktemp("own_text") / "w")
    (workspace.folder / "texts/own.qab").write_text("".join(f"line {n}\n" for n in range(9)))
    workspace.edit(
        presets__mini__corpora=["mini", "own"],
        presets__mini__ablations=[],
        corpora__own={
            "kind": "text",
            "languages": ["qab", "qac"],
            "files": "texts/own.{language}",
            "licence": "own",
        },
    )
    return workspace


def test_text_that_nobody_reads_is_prepared_with_one_warning(with_text: Workspace) -> None:
    told = with_text.run("snakemake", "--cores", "2", "data/mini/text/qab").stdout
    assert told.count(UNREAD) == 1
    assert "done: data/mini/text/qab" in told


def test_a_missing_file_stops_those_who_ask_for_it_before_any_job(with_text: Workspace) -> None:
    assert "shard" not in with_text.jobs_due("stage_encoders")
    result = with_text.run("snakemake", "--cores", "2", "stage_corpora", check=False)
    assert result.returncode
    assert MISSING in result.stdout
    assert "done: " not in result.stdout
    assert "localrule" not in result.stdout


def test_own_pairs_are_shared_by_dvc_and_a_clone_can_compute_with_them(
    fresh: Workspace, tmp_path: Path
) -> None:
    owner = fresh.copy(tmp_path / "owner")
    (owner.folder / "texts/own.tsv").write_text("".join(f"one {n}\teins {n}\n" for n in range(50)))
    entry = {"kind": "local", "pairs": ["en-de"], "files": ["texts/own.tsv"], "licence": "own"}
    owner.edit(presets__mini__corpora=["mini", "own"], corpora__own=entry)
    owner.run("dvc", "add", "-q", "texts/own.tsv")
    owner.run("dvc", "remote", "add", "-q", "-d", "store", str(tmp_path / "store"))
    owner.run("dvc", "repro", "-q", "corpora")
    owner.commit("own text")
    owner.run("dvc", "push", "-q", "corpora", "texts/own.tsv.dvc")

    owner.run("git", "clone", "-q", str(owner.folder), str(tmp_path / "clone"))
    clone = Workspace(tmp_path / "clone", owner.programs)
    assert not (clone.folder / "texts/own.tsv").exists()
    clone.run("dvc", "pull", "-q", "corpora", "texts/own.tsv.dvc")
    assert clone.jobs_due("stage_corpora") == {}
    clone.edit(presets__mini__cleaning__min_characters=3)
    due = clone.jobs_due("stage_corpora")
    assert due["prepare"] > 1
    assert "data/mini/bitext/en-de" in clone.jobs_run("dvc", "repro", "corpora")
