"""Results through a real SSH server: what breaks, is missing, damaged or full, and a clone that needs a part."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml
from engine_runs import digests, flip
from sftp_server import SftpServer
from workspace import Workspace

pytestmark = pytest.mark.skipif(find_spec("dvc_ssh") is None, reason="pip install -e '.[remote]'")
PUSH = "dvc", "push"
# Without names of stages, it ends with an error where not all of them have run.
PULL = "dvc", "pull", "--with-deps", "embeddings"
CONNECTION = "Connection (lost|closed|not open)"
VECTORS = "embeddings/mini/ems-mini/vectors.npy"
SETTINGS = """\
[core]
    remote = store
['remote "store"']
    url = {url}
    keyfile = {key}
    verify = {verify}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The miniature workflow up to the vectors of its encoder, run for real and committed."""
    workspace = Workspace.make(tmp_path_factory.mktemp("remote") / "ran")
    workspace.run("snakemake", "--cores", "2", "stage_embeddings")
    workspace.commit("results")
    return workspace


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SftpServer]:
    with SftpServer(tmp_path_factory.mktemp("server") / "served") as running:
        yield running


@pytest.fixture(scope="module")
def pushes(ran: Workspace, server: SftpServer) -> list[tuple[CompletedProcess[str], int]]:
    """The same push three times: it breaks, the remote is full, it completes; and how many files each sent."""
    connect(ran, server)
    size = sum(path.stat().st_size for path in (ran.folder / ".dvc/cache").rglob("*") if path.is_file())
    found = []
    for server.before_break, server.room in ((size // 2, None), (None, size // 10), (None, None)):
        server.written.clear()
        found.append((ran.run(*PUSH, check=False), len(server.written)))
    return found


def connect(workspace: Workspace, server: SftpServer, verify: bool = True) -> None:
    """What `dvc remote add --local` and `dvc remote modify --local` write."""
    text = SETTINGS.format(url=server.url, key=server.key, verify=str(verify).lower())
    (workspace.folder / ".dvc/config.local").write_text(text)


@pytest.fixture
def clone(
    ran: Workspace, server: SftpServer, pushes: list[tuple[CompletedProcess[str], int]], tmp_path: Path
) -> Workspace:
    """A clone of what was run and pushed, nothing pulled."""
    ran.run("git", "clone", "-q", str(ran.folder), str(tmp_path / "clone"))
    workspace = Workspace(tmp_path / "clone", ran.programs)
    connect(workspace, server)
    server.read.clear()
    return workspace


def objects(folder: Path) -> dict[str, str]:
    """SHA-256 of every object of a cache or remote, by its name there."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".tmp"
    }


def object_of(workspace: Workspace, file: str) -> str:
    """The name in a cache or remote of the object of a file."""
    md5 = hashlib.md5((workspace.folder / file).read_bytes()).hexdigest()
    return f"files/md5/{md5[:2]}/{md5[2:]}"


def objects_of(workspace: Workspace, *stages: str) -> set[str]:
    """Names of all objects of the outputs of stages, by dvc.lock and the lists of folders in the cache."""
    locked = yaml.safe_load((workspace.folder / "dvc.lock").read_text())["stages"]
    lists = {one["md5"] for stage in stages for one in locked[stage]["outs"]}
    found = set(lists)
    for md5 in lists:
        listed = json.loads((workspace.folder / f".dvc/cache/files/md5/{md5[:2]}/{md5[2:]}").read_text())
        found |= {entry["md5"] for entry in listed}
    return {f"files/md5/{md5[:2]}/{md5[2:]}" for md5 in found}


def assert_refused(result: CompletedProcess[str], cause: str) -> None:
    """The command failed, with the cause and without a traceback."""
    assert result.returncode
    assert re.search(f"^ERROR: .* - {cause}$", result.stdout, re.M), result.stdout
    assert "Traceback" not in result.stdout


def test_a_push_that_breaks_or_finds_no_room_is_completed_by_the_same_command(
    ran: Workspace, server: SftpServer, pushes: list[tuple[CompletedProcess[str], int]]
) -> None:
    (broken, _), (full, _), (complete, sent) = pushes
    assert_refused(broken, CONNECTION)
    assert_refused(full, "No space left on device")
    assert complete.returncode == 0, complete.stdout
    expected = objects(ran.folder / ".dvc/cache")
    assert 0 < sent < len(expected)  # what was there before is not sent again
    assert objects(server.store) == expected


def test_a_clone_pulls_one_stage_alone_or_with_those_before_and_has_nothing_to_do(
    clone: Workspace, ran: Workspace, server: SftpServer
) -> None:
    def fetched() -> set[str]:
        return {path.removeprefix("/store/") for path in server.read}

    clone.run("dvc", "pull", "embeddings")
    assert fetched() == objects_of(ran, "embeddings") != set(objects(server.store))
    assert clone.jobs_due("stage_embeddings") == {}
    assert clone.jobs_run("dvc", "repro", "--allow-missing", "embeddings") == []
    assert not (clone.folder / "data").exists()
    clone.run(*PULL)
    assert fetched() == objects_of(ran, "corpora", "encoders", "embeddings")
    assert clone.jobs_run("dvc", "repro", "embeddings") == []
    assert digests(clone) == digests(ran)


def test_a_pull_that_breaks_is_completed_by_the_same_command(
    clone: Workspace, ran: Workspace, server: SftpServer
) -> None:
    size = sum(path.stat().st_size for path in server.store.rglob("*") if path.is_file())
    server.before_break = size // 2
    assert_refused(clone.run(*PULL, check=False), CONNECTION)
    assert not list(clone.folder.rglob("*.tmp"))
    clone.run(*PULL)
    assert digests(clone) == digests(ran)


def test_an_object_that_is_missing_is_named_and_a_push_brings_it_back(
    clone: Workspace, ran: Workspace, server: SftpServer
) -> None:
    lost = object_of(ran, VECTORS)
    (server.store / lost).unlink()
    refused = clone.run(*PULL, check=False)
    assert_refused(refused, ".* No such file or directory")
    assert f"failed to transfer '{lost.removeprefix('files/md5/').replace('/', '')}'" in refused.stdout
    # DVC asks for the list of the folder alone.
    assert "Everything is up to date" in ran.run(*PUSH).stdout
    for path in server.store.rglob("*.dir"):
        if lost.removeprefix("files/md5/").replace("/", "") in path.read_text():
            path.unlink()
    ran.run(*PUSH)
    assert objects(server.store) == objects(ran.folder / ".dvc/cache")
    clone.run(*PULL)
    assert digests(clone) == digests(ran)


def test_a_damaged_object_is_refused_until_it_is_whole(
    clone: Workspace, ran: Workspace, server: SftpServer
) -> None:
    damaged = server.store / object_of(ran, VECTORS)
    whole = damaged.read_bytes()
    flip(damaged)
    refused = clone.run(*PULL, check=False)
    assert refused.returncode == 1
    assert "Checkout failed for following targets:\nembeddings/mini\n" in refused.stdout
    assert not (clone.folder / VECTORS).exists()
    damaged.write_bytes(whole)
    clone.run(*PULL)
    assert digests(clone) == digests(ran)


def test_without_verify_the_receipt_finds_what_dvc_accepts(
    clone: Workspace, ran: Workspace, server: SftpServer
) -> None:
    # DVC's own setting: it does not compare digests of what it pulls. The receipt has to find the damage.
    connect(clone, server, verify=False)
    damaged = server.store / object_of(ran, VECTORS)
    whole = damaged.read_bytes()
    flip(damaged)
    clone.run(*PULL)
    damaged.write_bytes(whole)
    assert "up to date" in clone.run("dvc", "status", "embeddings").stdout
    assert clone.jobs_due("stage_embeddings") == {"embed": 1}
