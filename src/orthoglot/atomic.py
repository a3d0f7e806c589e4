"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """Yield an empty folder beside `folder` that takes its place when the block ends without error.

    A kill at any moment leaves the old folder, no folder, or the new one, never a mixture;
    an error removes the half-built one.
    """
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    for path in partial.rglob("*"):
        if path.is_file():
            _sync(path)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    _sync(folder.parent)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder that replaces `path` when the block ends without error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync(partial)
    os.replace(partial, path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
