"""Curves in the files of other tools, read back by those tools or as they lie."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from orthoglot.errors import ConfigError
from orthoglot.training.curves import Curves

POINTS = [
    {"step": 50.0, "train.xtr": 2.5, "learning_rate": 0.1},
    {"step": 100.0, "train.xtr": 1.5, "learning_rate": 0.2},
]


def test_dvclive_files_hold_every_point(tmp_path: Path) -> None:
    curves = Curves(tmp_path / "curves", ["dvclive"])
    for point in POINTS:
        curves.add(point)
    lines = (tmp_path / "curves/dvclive/plots/metrics/train/xtr.tsv").read_text().split()
    assert lines == ["step", "xtr", "50", "2.5", "100", "1.5"]
    assert not list(tmp_path.rglob("dvc.yaml"))


def test_tensorboard_reads_every_point(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    curves = Curves(tmp_path / "curves", ["tensorboard"])
    for point in POINTS:
        curves.add(point)
    events = accumulator.EventAccumulator(str(tmp_path / "curves/tensorboard")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("train/xtr")] == [(50, 2.5), (100, 1.5)]


def test_a_resumed_training_begins_its_files_anew(tmp_path: Path) -> None:
    for _ in range(2):
        curves = Curves(tmp_path / "curves", ["dvclive"])
        curves.add(POINTS[0])
    lines = (tmp_path / "curves/dvclive/plots/metrics/train/xtr.tsv").read_text().splitlines()
    assert len(lines) == 2


def test_a_tool_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("torch.utils.tensorboard"):
            raise ImportError(name)
        return found(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match="tensorboard is not installed: pip install tensorboard"):
        Curves(tmp_path / "curves", ["tensorboard"])
