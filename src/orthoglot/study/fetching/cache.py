"""Files that were fetched before, by their SHA-256: one folder for all presets."""

from __future__ import annotations

import logging
from pathlib import Path

from orthoglot.atomic import link
from orthoglot.errors import DataError
from orthoglot.study.fetching import lock as locks
from orthoglot.study.fetching.download import sha256_of
from orthoglot.study.fetching.lock import Archive

logger = logging.getLogger(__name__)


def place(cache: Path, sha256: str, file: Path) -> Path:
    """Where the cache has a file with this digest; it keeps the ending of the name."""
    return cache / f"{sha256}{file.suffix}"


def at_hand(sha256: str, file: Path, cache: Path | None) -> bool:
    """Whether a file with this digest is in its place or in the cache, and then it is in both.

    A damaged one in the cache stays until `keep` replaces it.
    """
    if cache and (stored := place(cache, sha256, file)).exists():
        if sha256_of(stored) == sha256:
            file.parent.mkdir(parents=True, exist_ok=True)
            link(stored, file)
            return True
        logger.warning("%s is damaged", stored)
    if file.exists() and sha256_of(file) == sha256:
        keep(file, sha256, cache)
        return True
    return False


def enter(name: str, archive: Archive, file: Path, lock: Path | None, cache: Path | None) -> None:
    """Record a fetched file in the lock and keep it in the cache, if there are such.

    Raises:
        DataError: the lock has another file of this name; this one is removed.
    """
    if lock:
        try:
            locks.record(lock, name, archive)
        except DataError:
            file.unlink()
            raise
    keep(file, archive.sha256, cache)


def keep(file: Path, sha256: str, cache: Path | None) -> None:
    """Put a file into the cache, if there is one."""
    if cache:
        cache.mkdir(parents=True, exist_ok=True)
        link(file, place(cache, sha256, file))
