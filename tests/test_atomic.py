"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import pytest

from orthoglot.atomic import building, link, replacing


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
