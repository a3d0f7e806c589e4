"""Trainings that are killed right after they saved their state, or that wait to be killed."""

from __future__ import annotations

import time
from itertools import count
from typing import Any

import pytest

from orthoglot.training import loop


def kill_at_saves(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> None:
    """Save after every step, and raise KeyboardInterrupt after the saves of these numbers, from 1."""
    save_each_step(monkeypatch)
    save, saves = loop.Saves.now, count(1)

    def save_or_die(self: Any) -> None:
        save(self)
        if next(saves) in numbers:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop.Saves, "now", save_or_die)


def wait_at_save(number: int) -> None:
    """Save after every step of this process, and never come to an end: wait in the place of the save of this number.

    So whoever kills it at any time from its first save on kills it in the middle of its training.
    """
    patch = pytest.MonkeyPatch()
    save_each_step(patch)
    save, saves = loop.Saves.now, count(1)

    def save_or_wait(self: Any) -> None:
        if next(saves) == number:
            time.sleep(3600)
        save(self)

    patch.setattr(loop.Saves, "now", save_or_wait)


def save_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no time pass between two saves."""
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_SAVES", 0.0)
    monkeypatch.setattr(loop, "SAVE_SHARE", 0)
