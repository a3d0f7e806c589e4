"""Files and folders that appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from orthoglot.atomic import building, replacing


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match="broken"), replacing(tmp_path / "file") as partial:
        partial.write_text("new")
        raise ValueError("broken")
    with pytest.raises(ValueError, match="broken"), building(tmp_path / "folder") as partial:
        (partial / "new").write_text("new")
        raise ValueError("broken")
    assert (tmp_path / "file").read_text() == "old"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


def test_an_output_that_cannot_be_written_is_named_as_the_user_named_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file")
    (tmp_path / "folder").mkdir()
    for path, way in (
        (tmp_path / "folder", replacing),
        (tmp_path / "file" / "below", building),
    ):
        with pytest.raises(OSError) as caught, way(path):
            pass
        assert caught.value.filename == str(path)
    missing = tmp_path / "folder" / "x"
    with pytest.raises(FileNotFoundError) as gone, replacing(missing) as partial:
        partial.read_text()
    assert gone.value.filename == str(missing)
