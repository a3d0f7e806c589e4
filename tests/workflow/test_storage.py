"""What an object store says of a folder is not believed where it leads out of the folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import storage
from orthoglot import receipts


def write(folder: Path, name: str) -> None:
    """A receipt that names one file."""
    content: dict[str, object] = {"key": "k", "files": {name: [0, ""]}, "inputs": {}, "parts": {}}
    content["sha256"] = receipts._sha256(receipts._json(content))
    place = receipts.path(folder, "k")
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(content))


@pytest.mark.parametrize("name", ["../other/file", "/etc/file", "a/../../file"])
def test_a_receipt_that_names_a_file_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    write(tmp_path, name)
    with pytest.raises(OSError, match="outside the folder"):
        storage._files(tmp_path)


def test_files_of_the_folder_are_carried(tmp_path: Path) -> None:
    write(tmp_path, "seed1/weights.safetensors")
    assert storage._files(tmp_path) == ["seed1/weights.safetensors"]


def test_without_a_receipt_nothing_is(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no readable receipt"):
        storage._files(tmp_path)
