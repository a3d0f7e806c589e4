"""Killed runs, failures and damaged results: nothing of them is recorded, and all is made again; with stub verbs."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

import pytest
import yaml
from engine_runs import SNAKEMAKE, VECTORS, digests, failing_log, flip, folders, release, start_waiting
from workspace import Workspace


@pytest.mark.parametrize(
    ("engine", "folder", "alone"),
    [
        ("snakemake --cores 2", "models/mini/encoders/ems-mini", False),
        ("snakemake --cores 2", "results", False),
        ("snakemake --cores 2", "models/mini/encoders/ems-mini", True),
        ("dvc repro", "embeddings/mini/ems-mini", False),
        ("dvc repro", "models/mini/encoders/ems-mini", True),
    ],
)
def test_killed_run_is_continued_by_the_same_command_to_the_same_bytes(
    engine: str, folder: str, alone: bool, fresh: Workspace, finished: Workspace, tmp_path: Path
) -> None:
    killed = fresh.copy(tmp_path / "w")
    process = start_waiting(killed, folder, *engine.split())
    process.kill_all(alone=alone)
    before = folders(killed)
    assert folder not in before
    if alone:  # what it started goes on, and is waited for
        again = killed.start(*engine.split())
        time.sleep(1)
        release(killed)
        text = again.finish()
        assert again.returncode == 0, text
    else:
        release(killed)
        assert not set(killed.jobs_run(*engine.split())) & set(before)
    assert digests(killed) == digests(finished)
    assert killed.jobs_due() == {}
    assert not list(killed.folder.rglob("*.partial"))


@pytest.mark.parametrize("killed", [False, True])
def test_a_second_run_in_a_folder_waits_and_goes_on_with_what_the_first_left(
    killed: bool, fresh: Workspace, finished: Workspace, tmp_path: Path
) -> None:
    workspace = fresh.copy(tmp_path / "w")
    first = start_waiting(workspace, "embeddings/mini/ems-mini", *SNAKEMAKE)
    second = workspace.start(*SNAKEMAKE)
    second.wait_for("another run is at work in this folder: waiting for its end")
    if killed:
        first.kill_all()
    release(workspace)
    done = [workspace.done_in(process.finish()) for process in (first, second)]
    assert second.returncode == 0
    assert sorted([*done[0], *done[1]]) == folders(finished)  # no job ran twice
    assert bool(done[1]) == killed
    assert digests(workspace) == digests(finished)
    assert workspace.jobs_due() == {}


def test_what_only_looks_does_not_wait_for_a_run_at_work(fresh: Workspace, tmp_path: Path) -> None:
    workspace = fresh.copy(tmp_path / "w")
    first = start_waiting(workspace, "data/mini/invented/mini", *SNAKEMAKE)
    for option in ("--dry-run", "--list", "--dag", "--summary", "--unlock"):
        assert workspace.run(*SNAKEMAKE, option).returncode == 0
    assert first.poll() is None
    first.kill_all()


@pytest.mark.parametrize("content", ["", None])
def test_a_damaged_dvc_lock_is_named_once_the_results_are_complete(
    content: str | None, done: Workspace, finished: Workspace
) -> None:
    lock = done.folder / "dvc.lock"
    lock.unlink()
    if content is None:
        lock.mkdir()
    else:
        lock.write_text(content)
    (done.folder / "results/report.html").unlink()
    text = done.run(*SNAKEMAKE).stdout
    assert re.search(r"DVC did not record them \(.*dvc\.lock.*\); restore dvc\.lock from git", text)
    assert digests(done) == digests(finished)


def test_a_failure_is_one_line_with_its_cause(done: Workspace, finished: Workspace) -> None:
    done.edit(presets__mini__decomposition__learning_rate=0.002)
    process = start_waiting(done, "models/mini/decomposers/ems-mini/dream", *SNAKEMAKE)
    # The jobs that wait have compared it; those that start now have not.
    flip(done.folder / VECTORS)
    release(done)
    text = process.finish()
    assert process.returncode
    failed = re.findall(r"^failed: (\S+); (logs/\S+\.log): (.*)", text, re.M)
    assert failed
    for folder, log, cause in failed:
        assert Path(log).is_relative_to(f"logs/{Path(folder).parent}")
        assert cause.startswith(f"{VECTORS}: is damaged")
    earlier = "models/mini/decomposers/ems-mini/dream/receipt"
    assert os.listdir(done.folder / earlier) == os.listdir(finished.folder / earlier)


def test_a_failure_does_not_name_the_log_of_an_earlier_run(done: Workspace, tmp_path: Path) -> None:
    shutil.rmtree(done.folder / "embeddings/mini/ems-mini")
    (log,) = (done.folder / "logs/embeddings/mini").glob("*.log")
    # The job stops before it writes.
    text = done.run(*SNAKEMAKE, check=False, PATH=f"{failing_log(tmp_path, '')}:{done.path}").stdout
    assert "failed: embeddings/mini/ems-mini; it wrote no log" in text
    assert log.name not in text


@pytest.mark.parametrize("keep_time", [False, True])
def test_a_flipped_byte_is_not_recorded_but_made_again(
    keep_time: bool, done: Workspace, finished: Workspace
) -> None:
    flip(done.folder / VECTORS, keep_time=keep_time)
    (done.folder / "results/report.html").unlink()
    assert done.jobs_due() == {"embed": 1, "report": 1}
    done.run(*SNAKEMAKE)
    assert digests(done) == digests(finished)
    assert done.run("dvc", "status", "--quiet").returncode == 0
    assert done.run("git", "diff", "--stat", "dvc.lock").stdout == ""


def test_damage_during_a_run_is_not_recorded(done: Workspace) -> None:
    done.edit(presets__mini__evaluation__resamples=90)
    process = start_waiting(done, "results", *SNAKEMAKE)
    # No job of this run reads it any more; and nothing asks for a result of earlier parameters.
    flip(done.folder / VECTORS, keep_time=True)
    earlier = done.folder / "evaluations/mini/ems-mini/earlier"
    shutil.copytree(done.folder / "evaluations/mini/ems-mini/dream", earlier)
    flip(earlier / "content")
    release(done)
    text = process.finish()
    assert f"{earlier.relative_to(done.folder)}/content: is damaged" in text
    recorded = yaml.safe_load((done.folder / "dvc.lock").read_text())["stages"]
    before = yaml.safe_load(done.run("git", "show", "HEAD:dvc.lock").stdout)["stages"]
    assert recorded["embeddings"]["outs"] == before["embeddings"]["outs"]
    assert recorded["evaluation"] == before["evaluation"]


def test_what_doctor_prints_as_the_remedy_works(done: Workspace, finished: Workspace) -> None:
    doctor = str(Path(Workspace.programs) / "orthoglot"), "doctor"
    assert done.run(*doctor).returncode == 0
    flip(done.folder / VECTORS, keep_time=True)
    (done.folder / "models/stray.txt").write_text("whose?")
    told = done.run(*doctor, check=False)
    assert told.returncode == 1
    assert f"{VECTORS}: is damaged" in told.stdout
    assert "models/stray.txt: is listed in no receipt" in told.stdout
    remedy = re.search(r"`orthoglot (doctor --remove)` removes embeddings/mini/ems-mini;", told.stdout)
    assert remedy
    done.run(doctor[0], *remedy[1].split(), check=False)
    (done.folder / "models/stray.txt").unlink()
    assert done.jobs_due() == {"embed": 1}
    done.run(*SNAKEMAKE)
    assert done.run(*doctor).returncode == 0
    assert digests(done) == digests(finished)


def test_results_of_damaged_vectors_are_found_after_the_vectors_were_restored(
    done: Workspace, finished: Workspace
) -> None:
    flip(done.folder / VECTORS)
    shutil.rmtree(done.folder / "evaluations/mini/ems-mini/dream")
    # Only so can damaged vectors be read at all: sizes alone are compared.
    done.run(*SNAKEMAKE, ORTHOGLOT_TRUST_FILES="1")
    doctor = str(Path(Workspace.programs) / "orthoglot"), "doctor"
    told = done.run(*doctor, check=False).stdout
    assert "evaluations/mini/ems-mini/dream: was computed with ORTHOGLOT_TRUST_FILES=1" in told
    done.run(*doctor, "--remove")
    done.run(*SNAKEMAKE)
    assert digests(done) == digests(finished)
    assert done.run(*doctor).returncode == 0


def test_deleted_cut_or_garbled_results_are_made_again(done: Workspace, finished: Workspace) -> None:
    shutil.rmtree(done.folder / "evaluations/mini/ems-mini/dream")
    # It will be what it was, so nothing after it has to run again.
    assert done.jobs_due() == {"evaluate": 1}
    vectors = done.folder / VECTORS
    vectors.write_bytes(vectors.read_bytes()[:-8])
    for receipt in done.folder.glob("data/mini/bitext/qaa-qab/receipt/*.json"):
        receipt.write_text("[]")
    (done.folder / "results/tables.md").unlink()
    assert done.jobs_due() == {"evaluate": 1, "embed": 1, "prepare": 1, "report": 1}
    done.run(*SNAKEMAKE)
    assert digests(done) == digests(finished)
    assert done.jobs_due() == {}
