"""What the processes of the tests do; imports little, as every process imports it anew."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from orthoglot.errors import DataError


def refuse(device: str) -> Callable[[int], None]:
    def work(item: int) -> None:
        if item == 3:
            raise DataError(f"item {item} is bad")

    return work


def die(device: str) -> Callable[[int], None]:
    return lambda item: os._exit(9)


def note(folder: Path, device: str) -> Callable[[int], None]:
    def work(item: int) -> None:
        (folder / f"{item}").write_text(f"{os.getpid()} {device}")
        time.sleep(0.05)

    return work
