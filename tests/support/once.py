"""A folder that a test session makes once, in whichever of its processes comes first."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that `make` has filled; processes copy it rather than work in it."""
    own = factory.getbasetemp()
    # Those of pytest-xdist lie beside each other.
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    made = folder / "made"
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            made.touch()
    return folder
