"""Which files make an encoder the encoder it is."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from orthoglot.encoders import folder as folders
from orthoglot.encoders.folder import identity
from orthoglot.receipts import file_digest


@pytest.mark.parametrize(
    ("name", "decisive"),
    [
        ("model.safetensors", True),
        ("config.json", True),
        ("tokenizer.json", True),
        ("tokenizer_config.json", True),
        ("sentencepiece.bpe.model", True),
        ("spiece.model", True),
        ("vocab.txt", True),
        ("merges.txt", True),
        ("added_tokens.json", True),
        ("special_tokens_map.json", True),
        ("history.jsonl", False),
    ],
)
def test_editing_a_file_changes_the_identity_if_it_decides_vectors(
    name: str, decisive: bool, tmp_path: Path
) -> None:
    (tmp_path / "encoder.json").write_text('{"kind": "mlm"}')
    (tmp_path / name).write_text("before")
    before = identity(tmp_path)
    (tmp_path / name).write_text("after")
    assert (identity(tmp_path) != before) == decisive


def test_a_folder_that_is_its_own_checkpoint_counts_twice_and_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "encoder.json").write_text('{"kind": "mlm"}')
    (tmp_path / "config.json").write_text("{}")
    read: list[Path] = []
    digest = folders.file_digest
    monkeypatch.setattr(folders, "file_digest", lambda path: read.append(path) or digest(path))
    line = f"config.json {hashlib.sha256(b'{}').hexdigest()}\n"
    assert identity(tmp_path) == hashlib.sha256(f'{{"kind": "mlm"}}{line}{line}'.encode()).hexdigest()
    assert read == [tmp_path / "config.json"]


def test_files_whose_digests_are_known_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "encoder.json").write_text('{"kind": "mlm"}')
    weights, config = tmp_path / "model.safetensors", tmp_path / "config.json"
    weights.write_text("weights")
    config.write_text("{}")
    whole, known = identity(tmp_path), {weights: file_digest(weights)}
    read: list[Path] = []
    monkeypatch.setattr(folders, "file_digest", lambda path: read.append(path) or file_digest(path))
    assert identity(tmp_path, known) == whole
    assert read == [config]
    assert identity(tmp_path, {weights: file_digest(config)}) != whole
