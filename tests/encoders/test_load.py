"""Which files make an encoder the encoder it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from orthoglot.encoders.folder import identity


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
