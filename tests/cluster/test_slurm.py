"""The miniature workflow through a real Slurm of two nodes: the bytes of a local run, also where jobs are lost."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from engine_runs import digests, folders
from real_run import LINKED
from slurm_cluster import GPUS, SlurmCluster, missing
from small_checkpoint import write_checkpoint
from texts_to_divide import FOLDER, write_corpora
from texts_to_mine import mining_model, write_texts
from workspace import Workspace

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.skipif(
        find_spec("snakemake_executor_plugin_slurm") is None, reason="pip install -e '.[slurm]'"
    ),
]
ACCOUNTED = pytest.mark.skipif(bool(missing(accounting=True)), reason=missing(accounting=True))
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
def local(fresh: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """After a run without Slurm."""
    workspace = fresh.copy(tmp_path_factory.mktemp("local") / "w")
    workspace.run(*LOCAL)
    return workspace


@pytest.fixture(scope="module")
def expected(local: Workspace) -> dict[str, str]:
    """Digests of what a local run makes."""
    return digests(local)


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


def test_a_job_of_all_methods_of_an_encoder_goes_on_after_it_was_cancelled(
    fresh: Workspace, expected: dict[str, str], cluster: SlurmCluster, tmp_path: Path
) -> None:
    workspace = fresh.copy(tmp_path / "w")
    grouped = "--groups", "decompose=methods", "evaluate=methods", "--group-components", "methods=20"
    command = *cluster.inside, *WITHOUT, *grouped, "--retries", "0"
    process = workspace.start(*command)
    while process.poll() is None and not list(workspace.folder.glob("evaluations/mini/*/*/receipt/*.json")):
        time.sleep(0.1)
    (group,) = cluster.jobs("RUNNING")
    cluster.cancel(group)
    first = workspace.done_in(process.finish())
    assert process.returncode
    methods = re.compile("evaluations/|models/mini/decomposers/")
    kept = {folder for folder in folders(workspace) if methods.match(folder)}
    again = workspace.done_in(workspace.run(*command).stdout)
    assert kept
    assert not kept & {*again}
    assert digests(workspace) == expected
    assert cluster.submitted() == len([folder for folder in first + again if not methods.match(folder)]) + 2


def test_trainings_take_the_cores_of_all_their_processes_and_other_encoders_those_of_the_profile(
    fresh: Workspace, cluster: SlurmCluster, tmp_path: Path
) -> None:
    workspace, together = fresh.copy(tmp_path / "w"), ("ems-mini", "emma-x-mini")
    write_checkpoint(workspace.folder / "texts/linked")
    workspace.edit(
        presets__mini__encoders=[*together, "linked"],
        encoders__linked=LINKED,
        **{f"encoders__{name}__processes": 2 for name in together},
    )
    local, targets = workspace.copy(tmp_path / "local"), ("stage_encoders", "embeddings/mini/linked")
    local.run("snakemake", "--cores", "8", *targets)
    workspace.run(*cluster.inside, *WITHOUT, "--", *targets)
    assert digests(workspace) == digests(local)
    asked = cluster.run("scontrol", "show", "jobs")
    assert "NumCPUs=8 " in asked
    assert asked.count("TRES=cpu=2,mem=32000M,node=1,") == len(together)


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


def run_with_losses(
    workspace: Workspace, cluster: SlurmCluster, draw: random.Random, folder: str, after: int, *words: str
) -> list[str]:
    """Give a command until it ends well, while half of `LOST` jobs are cancelled or killed; which ones they were.

    One is lost when `after` more results are in the folder.
    """
    lost: list[str] = []
    for _ in range(20):
        process = workspace.start(*cluster.inside, *WITHOUT, *words)
        while process.poll() is None:
            running = cluster.jobs("RUNNING")
            done = len(list(workspace.folder.glob(f"{folder}/**/receipt/*.json")))
            if running and len(lost) < LOST // 2 and done >= after * len(lost):
                lost.append(draw.choice(running))
                (cluster.kill if draw.random() < 0.5 else cluster.cancel)(lost[-1])
            time.sleep(draw.uniform(1, 6))
        text = process.finish()
        if process.returncode == 0:
            break
    assert process.returncode == 0, text
    return lost


def test_mining_whose_jobs_are_cancelled_or_killed_gives_the_bytes_of_one_command(
    fresh: Workspace, cluster: SlurmCluster, tmp_path: Path
) -> None:
    workspace, draw = fresh.copy(tmp_path / "w"), random.Random(2)
    mining_model(workspace.folder / "texts/model")
    texts = "texts/en text.txt", "texts/gn.txt"
    write_texts(*(workspace.folder / text for text in texts), 8_500)
    given = f"source={texts[0]}", f"target={texts[1]}", "parts=2", "model=texts/model", "device=cpu"
    # The losses are spread over the fifteen jobs before the last.
    lost = run_with_losses(workspace, cluster, draw, "mining", 4, "mined", "--config", *given)
    assert len(lost) >= 3
    command = "orthoglot", "mine", *texts, "--model", "texts/model", "--device", "cpu", "--threads", "1"
    workspace.run(*command, "-o", "one.tsv")
    pairs = (workspace.folder / "mined/mini/pairs.tsv").read_bytes()
    assert pairs == (workspace.folder / "one.tsv").read_bytes()


def test_a_language_pair_in_parts_whose_jobs_are_cancelled_or_killed_has_the_bytes_of_one_job(
    fresh: Workspace, cluster: SlurmCluster, tmp_path: Path
) -> None:
    workspace, draw = fresh.copy(tmp_path / "w"), random.Random(3)
    write_corpora(workspace, 60_000)
    one = workspace.copy(tmp_path / "one")
    workspace.edit(presets__mini__pair_parts={"en-de": 3})
    lost = run_with_losses(workspace, cluster, draw, "preparing", 0, "--", FOLDER)
    assert len(lost) == LOST // 2
    one.run(*LOCAL, "--", FOLDER)
    names = {path.name for path in (one.folder / FOLDER).iterdir() if path.is_file()}
    assert {"counts.json", "train-00000.tsv.zst", "valid-00000.tsv.zst"} <= names
    for name in names:
        assert (workspace.folder / FOLDER / name).read_bytes() == (one.folder / FOLDER / name).read_bytes()
    assert not (workspace.folder / "preparing/mini/en-de").exists()


def test_a_million_by_a_million_sentences_are_mined_by_cells(
    fresh: Workspace, cluster: SlurmCluster, tmp_path: Path
) -> None:
    workspace, lines = fresh.copy(tmp_path / "w"), 1_000_000
    mining_model(workspace.folder / "texts/model")
    texts = "texts/en.txt", "texts/gn.txt"
    write_texts(*(workspace.folder / text for text in texts), lines)
    given = (
        f"source={texts[0]}",
        f"target={texts[1]}",
        "parts=4",
        "cells=10000",
        "model=texts/model",
        "device=cpu",
    )
    done = workspace.done_in(workspace.run(*cluster.inside, *WITHOUT, "mined", "--config", *given).stdout)
    assert cluster.submitted() == len(done) == 7 * 4 + 4
    about = json.loads((workspace.folder / "mined/mini/pairs.tsv.json").read_text())
    assert 0.2 < about["recall"] < 1  # of the four nearest, among vectors that are all near each other
    right = 0
    with (workspace.folder / "mined/mini/pairs.tsv").open() as pairs:
        for _, source, target in (line.rstrip("\n").split("\t") for line in pairs):
            right += target == source.replace("a", "b")
    assert right > 0.95 * 0.75 * lines


@ACCOUNTED
def test_a_cluster_with_accounting_takes_methods_as_arrays_of_jobs(
    fresh: Workspace, expected: dict[str, str], tmp_path: Path
) -> None:
    workspace = fresh.copy(tmp_path / "w")
    arrays = "--slurm-array-jobs", "decompose,evaluate", "--jobs", "1000"
    with SlurmCluster(tmp_path / "slurm", accounting=True) as cluster:
        done = workspace.done_in(workspace.run(*cluster.inside, *SLURM, *arrays).stdout)
        rows = cluster.sacct("jobid,state,account", "--allocations")
        submitted = cluster.submitted()
    assert digests(workspace) == expected
    assert {(state, account) for _, state, account in rows} == {("COMPLETED", "root")}
    assert len(rows) == len(done) > 15
    tasks = [number for number, _, _ in rows if "_" in number]
    assert len(tasks) >= 3
    assert submitted == len(rows) - len(tasks) + len({number.partition("_")[0] for number in tasks})


@ACCOUNTED
def test_a_training_asks_for_a_gpu_of_one_node_for_each_of_its_processes(
    local: Workspace, tmp_path: Path
) -> None:
    """Slurm counts what it takes for GPUs; the training itself fails for want of them."""
    workspace, encoder = local.copy(tmp_path / "w"), "models/mini/encoders/ems-mini"
    with SlurmCluster(tmp_path / "slurm", accounting=True) as cluster:
        command = *cluster.inside, *SLURM, "--retries", "0", "--", encoder
        workspace.edit(device="cuda", **{"encoders__ems-mini__processes": GPUS})
        workspace.run(*command, check=False)
        job, *steps = cluster.sacct("nnodes,ncpus,alloctres")
        workspace.edit(**{"encoders__ems-mini__processes": GPUS + 1})
        text = workspace.run(*command, check=False).stdout
    for nodes, cores, granted in (job, steps[-1]):
        assert (nodes, cores) == ("1", str(GPUS))
        assert f"gres/gpu={GPUS}" in granted.split(",")
    assert "Requested node configuration is not available" in text
