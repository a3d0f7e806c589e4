"""What the processes of the tests do; imports little, as every process imports it anew."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from orthoglot.embeddings.processes import Work
from orthoglot.errors import DataError
from orthoglot.progress import Done


def refuse(device: str) -> Work[int]:
    def work(item: int, done: Done) -> None:
        if item == 3:
            raise DataError(f"item {item} is bad")

    return each(work)


def die(device: str) -> Work[int]:
    return each(lambda item, done: os._exit(9))


def note(folder: Path, device: str) -> Work[int]:
    def work(item: int, done: Done) -> None:
        (folder / f"{item}").write_text(f"{os.getpid()} {device}")
        done(item)
        time.sleep(0.05)

    return each(work)


def each(work: Callable[[int, Done], None]) -> Work[int]:
    def all_items(items: Sequence[int], done: Done) -> Iterator[None]:
        return (work(item, done) for item in items)

    return all_items
