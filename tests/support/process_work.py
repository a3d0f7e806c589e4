"""What the processes of the tests do; imports little, as every process imports it anew."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from orthoglot.errors import DataError

Work = Callable[[int, Callable[[int], object]], None]


def refuse(device: str) -> Work:
    def work(item: int, done: Callable[[int], object]) -> None:
        if item == 3:
            raise DataError(f"item {item} is bad")

    return work


def die(device: str) -> Work:
    return lambda item, done: os._exit(9)


def note(folder: Path, device: str) -> Work:
    def work(item: int, done: Callable[[int], object]) -> None:
        (folder / f"{item}").write_text(f"{os.getpid()} {device}")
        done(item)
        time.sleep(0.05)

    return work
