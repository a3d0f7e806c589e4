"""What every file was when it was fetched for the first time (fetched.lock), and the files themselves, by SHA-256.

Each later download is compared with the lock. It is JSON, sorted, and belongs into git. It holds an entry for each
archive of OPUS, by corpus, release and language pair, and for each other file, by its address without https://:
`{"GlobalVoices/v2018q4/en-ay": {"path": ..., "sha256": ..., "size": ..., "version": ...}}`.
"""

from __future__ import annotations

import fcntl
import json
import logging
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from orthoglot.atomic import link, replacing
from orthoglot.errors import DataError
from orthoglot.study.fetching.download import sha256_of

LOCK = Path("fetched.lock")
# The files themselves, by digest, for all presets.
CACHE = Path(".cache/fetched")
# Where processes that write the file wait for each other.
GUARD = Path(".cache/locks/fetched.lock")
logger = logging.getLogger(__name__)


class Archive(BaseModel):
    """A fetched file: the path of its address, its digest, its bytes, and the release of an archive of OPUS."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    path: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0)]
    version: str


ARCHIVES = TypeAdapter(dict[str, Archive])


def read(lock: Path) -> dict[str, Archive]:
    """The files that are known, by name; none without a lock.

    Raises:
        DataError: the file is damaged, e.g. by a merge, or a folder is in its place.
    """
    try:
        return ARCHIVES.validate_json(lock.read_bytes())
    except FileNotFoundError:
        return {}
    except IsADirectoryError as error:
        raise DataError(f"{lock}: is a folder, not a file; restore the file from git") from error
    except ValidationError as error:
        raise DataError(f"{lock}: damaged ({error.errors()[0]['msg']}); restore it from git") from error


def at_hand(sha256: str, file: Path, cache: Path | None) -> bool:
    """Whether a file with this digest is in its place or in the cache, and then it is in both.

    A damaged one in the cache stays until `keep` replaces it.
    """
    if cache and (stored := cache / f"{sha256}{file.suffix}").exists():
        if sha256_of(stored) == sha256:
            file.parent.mkdir(parents=True, exist_ok=True)
            link(stored, file)
            return True
        logger.warning("%s is damaged", stored)
    if file.exists() and sha256_of(file) == sha256:
        keep(file, sha256, cache)
        return True
    return False


def keep(file: Path, sha256: str, cache: Path | None) -> None:
    """Put a file into the cache, if there is one; it keeps the ending of its name."""
    if cache:
        cache.mkdir(parents=True, exist_ok=True)
        link(file, cache / f"{sha256}{file.suffix}")


def enter(name: str, archive: Archive, file: Path, lock: Path | None, cache: Path | None) -> None:
    """Record a fetched file in the lock and keep it in the cache, if there are such.

    Raises:
        DataError: the lock has another file of this name; this one is removed.
    """
    if lock:
        try:
            record(lock, name, archive)
        except DataError:
            file.unlink()
            raise
    keep(file, archive.sha256, cache)


def record(lock: Path, name: str, archive: Archive) -> None:
    """Add a file, or compare it with the one that is known.

    Raises:
        DataError: another digest is known.
    """
    GUARD.parent.mkdir(parents=True, exist_ok=True)
    with GUARD.open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        known = read(lock)
        if name not in known:
            known[name] = archive
            content = {key: known[key].model_dump() for key in sorted(known)}
            with replacing(lock) as partial:
                partial.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if (sha256 := known[name].sha256) != archive.sha256:
        raise DataError(f"{name}: SHA-256 is {archive.sha256}, but {lock} has {sha256}; {advice(lock)}")


def advice(lock: Path | None) -> str:
    """What to do about a file that is not the known one."""
    return f"if there is a new file and you want it, remove this entry from {lock}"
