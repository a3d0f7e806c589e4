"""Results in an object store, a real S3 server: on a real Slurm whose node shares no file, and between two folders."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from engine_runs import digests
from slurm_cluster import SlurmCluster, missing
from workspace import Workspace

PLUGINS = "snakemake_storage_plugin_s3", "snakemake_executor_plugin_cluster_generic"
ABSENT = [name.replace("_", "-") for name in PLUGINS if find_spec(name) is None]


def no_server() -> str:
    """Why there can be no S3 server here; empty if there can."""
    if shutil.which("rclone") is None:
        return "rclone absent"
    helped = subprocess.run(["rclone", "serve", "s3", "--help"], capture_output=True, check=False)
    return "" if helped.returncode == 0 else "rclone has no `serve s3`: it is older than 1.65"


pytestmark = [
    pytest.mark.skipif(bool(ABSENT), reason=f"pip install {' '.join(ABSENT)}"),
    pytest.mark.skipif(bool(no_server()), reason=no_server()),
]
SOURCE, MADE = "data/mini/invented/mini", "data/mini/benchmarks/mini-sts"
PREFIX = "--default-storage-prefix", "s3://bucket/study"
LOCAL = "snakemake", "--cores", "2", "--default-storage-provider", "s3", *PREFIX
SLURM = "snakemake", "--profile", "profiles/slurm-s3", "--seconds-between-status-checks", "2", *PREFIX
# In a copy of the node's mounts, without the one that hides the workspace.
BESIDE = "unshare", "--mount", "sh", "-c", 'umount "$0" && cd "$0" && exec "$@"'


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the objects of a study, in the only bucket of a server on the loopback address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (tmp_path / "store/bucket").mkdir(parents=True)
    # What the test removes behind its back is to be seen a second later.
    options = "--addr", address, "--auth-key", "name,secret", "--dir-cache-time", "1s"
    command = "rclone", "serve", "s3", str(tmp_path / "store"), *options
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name, value in {
        "ENDPOINT_URL": f"http://{address}",
        "ACCESS_KEY": "name",
        "SECRET_KEY": "secret",
    }.items():
        monkeypatch.setenv(f"SNAKEMAKE_STORAGE_S3_{name}", value)
    deadline = time.monotonic() + 60
    host, _, port = address.partition(":")
    while True:
        with socket.socket() as asked:
            if asked.connect_ex((host, int(port))) == 0:
                break
        assert server.poll() is None, "the server ended"
        assert time.monotonic() < deadline, "the server did not come within a minute"
        time.sleep(0.1)
    yield tmp_path / "store/bucket/study"
    server.kill()
    server.wait()


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The miniature workflow, nothing run."""
    return Workspace.make(tmp_path_factory.mktemp("mini") / "fresh")


@pytest.fixture(scope="module")
def expected(fresh: Workspace, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Digests of what a local run makes."""
    workspace = fresh.copy(tmp_path_factory.mktemp("local") / "w")
    workspace.run("snakemake", "--cores", "2", "--", MADE)
    return digests(workspace)


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_node_that_shares_no_file_leaves_the_bytes_of_a_local_run_in_the_store(
    fresh: Workspace, expected: dict[str, str], bucket: Path, tmp_path: Path
) -> None:
    workspace, node = fresh.copy(tmp_path / "w"), tmp_path / "node"
    node.mkdir()
    with SlurmCluster(tmp_path / "slurm") as cluster:
        cluster.run("mount", "--bind", str(node), str(workspace.folder))
        beside = *cluster.inside, *BESIDE, str(workspace.folder)
        assert workspace.jobs_run(*beside, *SLURM, "--", MADE) == [MADE, SOURCE]
        assert cluster.submitted() == 2
        assert "Nothing to be done" in workspace.run(*beside, *SLURM, "--", MADE).stdout
    assert digests(Workspace(bucket)) == expected
    assert not any(node.iterdir())
    assert not (workspace.folder / MADE).exists()
    # Brought home, they are results as any others.
    shutil.copytree(bucket, workspace.folder, dirs_exist_ok=True)
    assert "Nothing to be done" in workspace.run("snakemake", "--cores", "2", "--", MADE).stdout


def test_a_result_comes_whole_from_the_store_or_not_at_all(
    fresh: Workspace, expected: dict[str, str], bucket: Path, tmp_path: Path
) -> None:
    here, there, third = (fresh.copy(tmp_path / name) for name in ("here", "there", "third"))
    assert here.jobs_run(*LOCAL, "--", MADE) == [MADE, SOURCE]
    shutil.rmtree(bucket / MADE)
    assert there.jobs_run(*LOCAL, "--", MADE) == [MADE]
    assert digests(there) == digests(Workspace(bucket)) == expected
    shutil.rmtree(bucket / MADE)
    next((bucket / SOURCE).glob("similarity/*")).unlink()
    failed = third.run(*LOCAL, "--", MADE, check=False)
    assert failed.returncode != 0
    assert f"Failed to retrieve storage object from {SOURCE}/receipt/" in failed.stdout
    assert digests(third) == {}
    # What is removed from the store is made again.
    shutil.rmtree(bucket / SOURCE)
    assert third.jobs_run(*LOCAL, "--", MADE) == [MADE, SOURCE]
    assert digests(Workspace(bucket)) == expected


def test_another_result_of_a_folder_leaves_nothing_of_the_first(
    fresh: Workspace, bucket: Path, tmp_path: Path
) -> None:
    workspace = fresh.copy(tmp_path / "w")
    workspace.run(*LOCAL, "--", SOURCE)
    workspace.edit(corpora__mini__languages={"qab": 350, "qac": 300})
    workspace.run(*LOCAL, "--", SOURCE)
    assert digests(Workspace(bucket)) == digests(workspace)
    assert len(os.listdir(bucket / SOURCE / "receipt")) == 1
