"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import pytest

from orthoglot.atomic import building, copy_folder, link, replacing, reserve
from orthoglot.file_lock import locked


def test_a_device_that_is_full_is_named() -> None:
    with pytest.raises(OSError, match="/dev/full"), replacing(Path("/dev/full")) as partial:
        partial.write_text("x")


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()

    def fail(path: Path) -> None:
        with replacing(path) if path.is_file() else building(path) as partial:
            (partial / "new" if partial.is_dir() else partial).write_text("new")
            raise ValueError("broken")

    for name in ("file", "folder"):
        with pytest.raises(ValueError, match="broken"):
            fail(tmp_path / name)
    assert (tmp_path / "file").read_text() == "old"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


def test_what_replaces_a_pipe_is_written_into_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as readers:
        content = readers.submit(pipe.read_text)
        with replacing(pipe) as partial:
            partial.write_text("new")
        assert content.result(10) == "new"
    assert pipe.is_fifo()
    assert [*tmp_path.iterdir()] == [pipe]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_a_lock_of_another_user_is_waited_for(tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp())  # pytest's own folders are closed to others
    lock = folder / "lock"
    code = (
        "import os, sys; from pathlib import Path; from orthoglot.file_lock import locked; os.setuid(65534)\n"
        "with locked(Path(sys.argv[1]), Path('folder')):\n    print('in', flush=True)"
    )
    command = [sys.executable, "-c", code, str(lock)]
    try:
        folder.chmod(0o1777)  # as /tmp: nobody removes another user's file
        with locked(lock, folder):
            other = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert other.stderr is not None
            assert f"folder: in use by process {os.getpid()}" in other.stderr.readline()
            assert other.poll() is None
        assert other.communicate(timeout=60) == ("in\n", "")
        assert other.returncode == 0
        lock.touch(0o644)  # what a killed process of the first user leaves
        assert subprocess.run(command, capture_output=True, timeout=60).stdout == b"in\n"
    finally:
        shutil.rmtree(folder)


def test_an_output_that_cannot_be_written_is_named_as_the_user_named_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file")
    (tmp_path / "folder").mkdir()

    def make(path: Path) -> None:
        with building(path):
            pass

    def write(path: Path) -> None:
        with replacing(path) as partial:
            partial.open()

    for path, way, error in (
        (tmp_path / "folder", write, IsADirectoryError),
        (tmp_path / "folder" / "x", write, FileNotFoundError),
        (tmp_path / "file", make, NotADirectoryError),
        (tmp_path / "file" / "below", make, NotADirectoryError),
    ):
        with pytest.raises(error) as caught:
            way(path)
        assert caught.value.filename == str(path)


def test_a_file_in_the_place_of_a_folder_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file")
    worked = False
    with pytest.raises(NotADirectoryError), building(tmp_path / "file"):
        worked = True
    assert not worked
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a file system can only be mounted as root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_space_that_a_full_disk_lacks_is_an_error_with_what_was_needed(full_disk: Path) -> None:
    with (full_disk / "small").open("wb") as file:
        file.truncate(200_000)
    reserve(full_disk / "small")
    assert (full_disk / "small").stat().st_blocks * 512 >= 200_000
    with (full_disk / "large").open("wb") as file:
        file.truncate(3_000_000)
    with pytest.raises(OSError, match=r"needs 3\.0 MB on this disk, 0\.8 MB are free: '.*/large'"):
        reserve(full_disk / "large")
    assert [path.name for path in full_disk.iterdir()] == ["small"]


def test_a_folder_that_a_full_disk_does_not_hold_is_one_error(full_disk: Path, tmp_path: Path) -> None:
    source = tmp_path / "encoder"
    (source / "pooling").mkdir(parents=True)
    for name in ("a", "b", "pooling/c"):
        (source / name).write_bytes(b"0" * 600_000)
    copy_folder(source, tmp_path / "copy")
    assert (tmp_path / "copy/pooling/c").stat().st_size == 600_000
    with pytest.raises(OSError, match=r"needs 1\.8 MB on this disk, 1\.0 MB are free: '.*/model'"):
        copy_folder(source, full_disk / "model")


def test_a_full_disk_names_the_file_that_did_not_fit(full_disk: Path) -> None:
    with (
        pytest.raises(OSError, match=r"No space left on device: '.*/disk/pairs\.tsv'"),
        replacing(full_disk / "pairs.tsv") as partial,
    ):
        partial.write_bytes(b"0" * 2_000_000)
    assert not list(full_disk.iterdir())


def test_what_the_system_refuses_is_said_with_the_size_where_no_disk_can_be_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    (tmp_path / "x").write_bytes(b"0" * 2_000_000)
    with pytest.raises(OSError, match=r"needs 2\.0 MB on this disk, [\d,.]+ MB are free: '.*/x'"):
        reserve(tmp_path / "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("linked", [True, False])
def test_a_link_is_there_at_every_moment_and_leaves_nothing_else(
    linked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise OSError("this disk has no links")

    if not linked:
        monkeypatch.setattr(os, "link", no_links)
    file, place = tmp_path / "file", tmp_path / "there" / "place"
    place.parent.mkdir()
    file.write_text("x" * 1000)
    missing = []
    running = True

    def look() -> None:
        while running:
            try:
                if len(place.read_bytes()) != 1000:
                    missing.append("part")
            except FileNotFoundError:
                missing.append("all")

    link(file, place)
    watcher = Thread(target=look)
    watcher.start()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: link(file, place), range(400)))
    running = False
    watcher.join()
    assert not missing
    assert [path.name for path in place.parent.iterdir()] == ["place"]
    assert place.samefile(file) is linked
