"""Trainings that are killed right after they saved their state."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from orthoglot.training import loop


def kill_at_saves(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> None:
    """Save after every step, and raise KeyboardInterrupt after the saves of these numbers, from 1."""
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_SAVES", 0.0)
    monkeypatch.setattr(loop, "SAVE_SHARE", 0)
    save, saves = loop.Saves.now, count(1)

    def save_or_die(self: Any) -> None:
        save(self)
        if next(saves) in numbers:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop.Saves, "now", save_or_die)
