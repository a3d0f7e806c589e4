"""Which decomposers the report says are the undivided vector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orthoglot.errors import DataError
from orthoglot.report.notes import choice_notes

IDENTITY = {
    "shrinkage": 1.0,
    "power": 0.0,
    "centre": "none",
    "validation": {"chosen": 0.9, "lowest": 0.9, "nearest": 0.9},
}


def written(folder: Path, method: str, details: dict[str, Any]) -> Path:
    folder.mkdir(parents=True)
    text = json.dumps({"encoder": "e", "method": method, "details": details})
    (folder / "decomposer.json").write_text(text)
    return folder


def test_only_the_undivided_vector_is_noted_and_each_once(tmp_path: Path) -> None:
    chosen: dict[str, dict[str, Any]] = {
        "discriminant": IDENTITY,
        "with-mean": {**IDENTITY, "centre": "overall"},
        "filtered": {**IDENTITY, "power": 0.25},
        "shrunk": {**IDENTITY, "shrinkage": 0.9},
        "given": {name: value for name, value in IDENTITY.items() if name != "validation"},
        "whitening": {"shrinkage": 1.0},
        "meat": {"stopped": "patience"},
    }
    folders = [
        written(tmp_path / method / f"seed{seed}", method, details)
        for method, details in chosen.items()
        for seed in (1, 2)
    ]
    reason = "as held-out pairs showed no gain by dividing it (shrinkage 1, power 0"
    assert choice_notes(folders) == [
        f"discriminant on e: its meaning part is the undivided vector, {reason}).",
        f"with-mean on e: its meaning part is the undivided vector less the mean of all languages, {reason}).",
    ]


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "decomposer.json").write_text("{}")
    with pytest.raises(DataError, match="not a decomposer"):
        choice_notes([tmp_path])
