"""The miniature workflow through a real Slurm of one node: the bytes of a local run, also where jobs are lost."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from engine_runs import digests
from real_run import LINKED
from slurm_cluster import SlurmCluster, missing
from small_checkpoint import write_checkpoint
from workspace import Workspace

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.skipif(
        find_spec("snakemake_executor_plugin_slurm") is None, reason="pip install -e '.[slurm]'"
    ),
]
# Jobs that are lost on purpose.
LOST = 8
LOCAL = "snakemake", "--cores", "2"
# Asked every two seconds, where the plug-in waits 40 before it asks for the first time.
OFTEN = "--slurm-init-seconds-before-status-checks", "2", "--seconds-between-status-checks", "2"
SLURM = "snakemake", "--profile", "profiles/slurm", *OFTEN
# As the last lines of the profile have it.
WITHOUT = *SLURM, "--slurm-no-account", "--slurm-status-command", "squeue"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The miniature workflow, nothing run."""
    return Workspace.make(tmp_path_factory.mktemp("mini") / "fresh")


@pytest.fixture(scope="module")
def expected(fresh: Workspace, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Digests of what a local run makes."""
    workspace = fresh.copy(tmp_path_factory.mktemp("local") / "w")
    workspace.run(*LOCAL)
    return digests(workspace)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SlurmCluster]:
    with SlurmCluster(tmp_path / "slurm") as running:
        yield running


def test_all_of_mini_has_the_bytes_of_a_local_run(
    fresh: Workspace, expected: dict[str, str], cluster: SlurmCluster, tmp_path: Path
) -> None:
    workspace = fresh.copy(tmp_path / "w")
    text = workspace.run(*cluster.inside, *WITHOUT).stdout
    assert cluster.submitted() == len(workspace.done_in(text)) > 15
    assert digests(workspace) == expected
    assert cluster.jobs() == []
    assert "Nothing to be done" in workspace.run(*LOCAL).stdout
    assert "up to date" in workspace.run("dvc", "status").stdout


def test_the_methods_of_an_encoder_may_be_one_job_of_the_cluster(
    fresh: Workspace, expected: dict[str, str], cluster: SlurmCluster, tmp_path: Path
) -> None:
    workspace = fresh.copy(tmp_path / "w")
    grouped = "--groups", "decompose=methods", "evaluate=methods", "--group-components", "methods=20"
    text = workspace.run(*cluster.inside, *WITHOUT, *grouped).stdout
    methods = re.findall(r"done: (?:evaluations|models/mini/decomposers)/", text)
    assert cluster.submitted() == len(workspace.done_in(text)) - len(methods) + 1
    assert digests(workspace) == expected


def test_an_encoder_trained_elsewhere_takes_the_cores_of_the_profile(
    fresh: Workspace, cluster: SlurmCluster, tmp_path: Path
) -> None:
    workspace, vectors = fresh.copy(tmp_path / "w"), "embeddings/mini/linked"
    write_checkpoint(workspace.folder / "texts/linked")
    workspace.edit(presets__mini__encoders=["linked"], encoders__linked=LINKED)
    local = workspace.copy(tmp_path / "local")
    local.run("snakemake", "--cores", "8", vectors)
    workspace.run(*cluster.inside, *WITHOUT, "--", vectors)
    assert digests(workspace) == digests(local)
    assert "NumCPUs=8 " in cluster.run("scontrol", "show", "jobs")


def test_jobs_that_are_cancelled_or_killed_change_no_byte(
    fresh: Workspace, expected: dict[str, str], cluster: SlurmCluster, tmp_path: Path
) -> None:
    workspace, draw, done = fresh.copy(tmp_path / "w"), random.Random(1), 0
    lost: list[str] = []
    # A job that is lost more often than the profile tries again ends the run; the same command goes on.
    for _ in range(20):
        process = workspace.start(*cluster.inside, *WITHOUT)
        while process.poll() is None:
            running = cluster.jobs("RUNNING")
            if running and len(lost) < LOST:
                lost.append(draw.choice(running))
                (cluster.kill if draw.random() < 0.5 else cluster.cancel)(lost[-1])
                if len(lost) == LOST // 2:
                    cluster.restart_controller()
            time.sleep(draw.uniform(3, 10))
        text = process.finish()
        done += len(workspace.done_in(text))
        if process.returncode == 0:
            break
    assert process.returncode == 0, text
    assert digests(workspace) == expected
    # One that ends just before it is killed is not lost.
    assert len(lost) == LOST
    assert cluster.submitted() >= done + LOST // 2


@pytest.mark.skipif(bool(missing(accounting=True)), reason=missing(accounting=True))
def test_a_cluster_with_accounting(fresh: Workspace, expected: dict[str, str], tmp_path: Path) -> None:
    workspace = fresh.copy(tmp_path / "w")
    with SlurmCluster(tmp_path / "slurm", accounting=True) as cluster:
        text = workspace.run(*cluster.inside, *SLURM).stdout
        assert cluster.submitted() == len(workspace.done_in(text)) > 15
        accounts = cluster.run(
            "sacct", "--allocations", "--noheader", "--parsable2", "--format=state,account"
        )
    assert digests(workspace) == expected
    assert set(accounts.split()) == {"COMPLETED|root"}
