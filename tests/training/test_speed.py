"""The time of a training: of its steps alone, however often it was stopped, and never in its result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from kills import kill_at_saves
from torch import Tensor, nn

from orthoglot.errors import DataError
from orthoglot.training import loop, speed
from orthoglot.training.speed import Speed, listed, read_speed, write_speed
from orthoglot.training.step import Update
from orthoglot.training.training_state import Progress

STEP, VALIDATION, SAVE = 2.0, 100.0, 1000.0
EPOCHS, STEPS = 3, 4


class Clock:
    """Stands still but for what happens here."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(speed, "time", SimpleNamespace(perf_counter=lambda: self.now))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def slow_saves(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """A save takes its time, before the process is killed or goes on."""
    save = loop.Saves.now

    def slowly(self: Any) -> None:
        clock.now += SAVE
        save(self)

    monkeypatch.setattr(loop.Saves, "now", slowly)


def train(place: Path, clock: Clock, fail_after: int | None = None) -> nn.Module:
    """A training whose steps, validations and saves take as long as said above."""
    torch.manual_seed(1)
    model = nn.Linear(2, 1)

    def batches(epoch: int, first: int) -> Iterator[Tensor]:
        for step in range(first, STEPS):
            clock.now += STEP
            yield torch.full((3, 2), float(epoch + step + 1))
            if epoch * STEPS + step == fail_after:
                raise KeyboardInterrupt

    def validate() -> dict[str, float]:
        clock.now += VALIDATION
        return {"total": 0.0}

    loop.fit(
        model=model,
        updates=[
            Update(
                "all",
                lambda batch: {"total": model(batch).square().mean()},
                torch.optim.Adam(model.parameters()),
            )
        ],
        batches=batches,
        validate=validate,
        max_epochs=EPOCHS,
        patience=None,
        seed=1,
        label="test",
        checkpoint=place / "state",
        batches_per_epoch=STEPS,
        keep="last",
        speed=place / "speed",
    )
    return model


def found(place: Path) -> Speed:
    read = read_speed(place / "speed")
    assert read is not None
    return read


def test_steps_are_timed_without_validation_and_saving(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_at_saves(monkeypatch)
    slow_saves(monkeypatch, clock)
    train(tmp_path, clock)
    assert clock.now >= EPOCHS * (STEPS * (STEP + SAVE) + VALIDATION)
    one = found(tmp_path)
    assert (one.steps, one.seconds) == (EPOCHS * STEPS, EPOCHS * STEPS * STEP)
    assert one.seconds_per_1000 == 1000 * STEP
    assert one.hardware.endswith(f"torch {torch.__version__}")
    assert f"({torch.get_num_threads()} threads)" in one.hardware


def test_a_stopped_training_is_timed_as_if_it_had_not_been(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(tmp_path / "whole", clock)
    kill_at_saves(monkeypatch, 3, 8)
    slow_saves(monkeypatch, clock)
    for pause in (0.0, 10_000.0):
        clock.now += pause  # the machine was off
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / "stopped", clock)
        assert read_speed(tmp_path / "stopped/speed") is None
    clock.now += 10_000
    stopped = train(tmp_path / "stopped", clock)
    assert found(tmp_path / "stopped") == found(tmp_path / "whole")
    assert all(
        torch.equal(one, other) for one, other in zip(stopped.parameters(), whole.parameters(), strict=True)
    )


def test_steps_after_the_last_save_are_done_and_timed_again(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        kill_at_saves(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path, clock)
    with pytest.raises(KeyboardInterrupt):  # without a save since
        train(tmp_path, clock, fail_after=9)
    clock.now += 10_000
    train(tmp_path, clock)
    assert (found(tmp_path).steps, found(tmp_path).seconds) == (EPOCHS * STEPS, EPOCHS * STEPS * STEP)


def test_what_was_timed_on_other_hardware_does_not_count(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        kill_at_saves(patch, 5)
        patch.setattr(loop, "hardware", lambda *about: "A")
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path, clock)
    monkeypatch.setattr(loop, "hardware", lambda *about: "B")
    train(tmp_path, clock)
    # A save at the end of each epoch of four steps is one more: the fifth is that of the first epoch.
    assert found(tmp_path) == Speed(EPOCHS * STEPS - 4, (EPOCHS * STEPS - 4) * STEP, "B")


def test_a_checkpoint_of_before_times_were_kept_is_continued() -> None:
    assert Progress(**{"history": [], "done": 7}).timed == 0


def test_nothing_is_written_of_no_step_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    write_speed(Progress(), tmp_path / "speed")
    assert not (tmp_path / "speed").exists()
    assert read_speed(tmp_path / "speed") is None
    (tmp_path / "speed").mkdir()
    for text in ("{", "[]", '{"steps": 1}', json.dumps({"steps": 0, "seconds": 1.0, "hardware": "A"})):
        (tmp_path / "speed" / speed.FILE).write_text(text)
        with pytest.raises(DataError, match=r"speed\.json: .*remove it"):
            read_speed(tmp_path / "speed")


def test_hardware_of_several_trainings_is_told_once_where_it_is_the_same() -> None:
    one, other = Speed(1, 1.0, "A"), Speed(1, 1.0, "B")
    assert listed([("x", one), ("y", one)]) == "A"
    assert listed([("x", one), ("y", other), ("z", one), ("x", one)]) == "A: x, z; B: y"


def test_processes_and_devices_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA A100")
    assert speed.hardware(torch.device("cuda:0"), 4, 1) == f"4 × NVIDIA A100, torch {torch.__version__}"
    assert speed.hardware(torch.device("cpu"), 1, 3).startswith(f"{speed._processor()} (3 threads), torch ")
    assert speed._processor()
