"""Snakemake and DVC agree on what is done, whoever did it: one test per situation."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from workspace import Workspace


def digests(workspace: Workspace) -> dict[str, str]:
    """SHA-256 of every result file."""
    return {
        str(path.relative_to(workspace.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for top in ("data", "models", "embeddings", "evaluations", "results")
        for path in sorted((workspace.folder / top).rglob("*"))
        if path.is_file() and path.name != ".gitignore"
    }


def test_snakemake_makes_the_report_and_dvc_agrees(finished: Workspace) -> None:
    assert (finished.folder / "results/report.html").stat().st_size > 10_000
    metrics = json.loads((finished.folder / "results/metrics.json").read_text())
    assert set(metrics["ems-mini"]) == {"original", "centering", "dream", "dream+oracle"}
    assert "up to date" in finished.run("dvc", "status").stdout
    assert finished.jobs_due() == {}


def test_dvc_repro_after_snakemake_runs_no_job(done: Workspace) -> None:
    assert done.jobs_run("dvc", "repro") == []


def test_dvc_repro_does_the_same_work_and_snakemake_then_runs_no_job(
    fresh: Workspace, finished: Workspace, tmp_path: Path
) -> None:
    repro = fresh.copy(tmp_path / "w")
    assert len(repro.jobs_run("dvc", "repro")) == len(list(finished.folder.glob(".jobs/**/*.json"))) - 0
    assert repro.jobs_due() == {}
    assert digests(repro) == digests(finished)


def test_experiment_with_another_loss_runs_only_what_depends_on_it(done: Workspace) -> None:
    run = done.jobs_run("dvc", "exp", "run", "-S", "loss=oracle")
    assert run == [
        "evaluations/mini/ems-mini/oracle",
        "models/mini/decomposers/ems-mini/oracle/seed1",
        "results",
    ]
    assert done.jobs_due() == {}
    assert done.jobs_run("dvc", "repro") == []
    assert "oracle" in json.loads((done.folder / "results/metrics.json").read_text())["ems-mini"]
    assert "loss" in done.run("dvc", "params", "diff").stdout
    assert "oracle" in done.run("dvc", "metrics", "diff").stdout
    assert "oracle" in done.run("dvc", "exp", "show", "--csv").stdout
    assert "html" in done.run("dvc", "plots", "show").stdout


def test_checkout_after_an_experiment_leaves_nothing_to_do(done: Workspace) -> None:
    done.run("dvc", "exp", "run", "-S", "loss=oracle")
    done.run("git", "reset", "--hard", "-q")
    done.run("dvc", "checkout", "-q")
    assert done.jobs_due() == {}
    assert done.jobs_run("dvc", "repro") == []


def test_applied_experiment_leaves_nothing_to_do_and_the_way_back_reruns_only_the_rest(
    done: Workspace,
) -> None:
    done.run("dvc", "exp", "run", "-n", "other", "-S", "presets.mini.decomposition.learning_rate=0.002")
    done.run("git", "reset", "--hard", "-q")
    done.run("dvc", "checkout", "-q")
    done.run("dvc", "exp", "apply", "other")
    assert done.jobs_due() == {}
    assert done.jobs_run("dvc", "repro") == []
    # A -> B -> checkout of A -> edit to B again: the outputs are A's, so B is due once more
    done.run("git", "reset", "--hard", "-q")
    done.run("dvc", "checkout", "-q")
    done.edit(presets__mini__decomposition__learning_rate=0.002)
    assert done.jobs_due() == {"decompose": 2, "evaluate": 2, "report": 1}


def test_clone_and_pull_leave_nothing_to_do_and_an_edit_makes_its_dependents_due(
    done: Workspace, tmp_path: Path
) -> None:
    done.run("dvc", "remote", "add", "-d", "store", str(tmp_path / "store"))
    done.commit("remote")
    done.run("dvc", "push", "-q")
    done.run("git", "clone", "-q", str(done.folder), str(tmp_path / "clone"))
    clone = Workspace(tmp_path / "clone")
    clone.run("dvc", "pull", "-q")
    assert clone.jobs_due() == {}
    assert clone.jobs_run("dvc", "repro") == []
    clone.edit(presets__mini__evaluation__resamples=90)
    assert clone.jobs_due() == {"evaluate": 4, "report": 1}
    clone.edit(presets__mini__evaluation__resamples=100)
    assert clone.jobs_due() == {}


def test_changed_code_makes_exactly_its_dependents_due(done: Workspace) -> None:
    def append(module: str, text: str) -> None:
        with open(done.folder / "src/orthoglot" / module, "a") as handle:
            handle.write(text)

    append("evaluation/report.py", "\n# a comment changes nothing\n")
    assert done.jobs_due() == {}
    append("evaluation/report.py", "\nCHANGED = 1\n")
    assert done.jobs_due() == {"report": 1}
    append("objectives/oracle.py", "\nCHANGED = 1\n")
    assert done.jobs_due() == {"decompose": 1, "evaluate": 1, "report": 1}
    assert "src" in done.run("dvc", "status").stdout


def test_unknown_loss_stops_before_any_job_and_names_the_known_ones(done: Workspace) -> None:
    for command in (
        ("dvc", "exp", "run", "-S", "loss=orakle"),
        ("snakemake", "--cores", "2"),
    ):
        result = done.run(*command, check=False)
        assert result.returncode != 0
        assert "unknown name 'orakle'; nearest known: oracle; known: all, centering, dream" in result.stdout
        assert "done:" not in result.stdout


def test_killed_run_resumes_and_ends_with_the_same_bytes(
    fresh: Workspace, finished: Workspace, tmp_path: Path
) -> None:
    killed = fresh.copy(tmp_path / "w")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        ["snakemake", "--cores", "2"],
        cwd=killed.folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while not list(killed.folder.glob("checkpoints/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (killed.folder / "results/receipt.json").exists()
    killed.run("snakemake", "--cores", "2")
    assert digests(killed) == digests(finished)


def test_deleted_or_cut_output_is_made_again(done: Workspace, finished: Workspace) -> None:
    shutil.rmtree(done.folder / "evaluations/mini/ems-mini/dream")
    due = done.jobs_due()
    # Snakemake looks at the report again; its verb finds the receipt in order and leaves it as it is.
    assert due == {"evaluate": 1, "report": 1}
    vectors = done.folder / "embeddings/mini/ems-mini/vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-8])
    assert done.jobs_due()["embed"] == 1
    done.run("snakemake", "--cores", "2")
    assert digests(done) == digests(finished)
    assert done.jobs_due() == {}
