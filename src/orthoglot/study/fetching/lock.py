"""fetched.lock: what every file was when it was fetched for the first time; each later download is compared with it.

The file is JSON, sorted, and belongs into git. It holds an entry for each archive of OPUS, by corpus, release and
language pair, and for each other file, by its address without https://:
`{"GlobalVoices/v2018q4/en-ay": {"path": ..., "sha256": ..., "size": ..., "version": ...}}`.
"""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from orthoglot.atomic import replacing
from orthoglot.errors import DataError

LOCK = Path("fetched.lock")
# The files themselves, by digest, for all presets.
CACHE = Path(".cache/fetched")
# Where processes that write the file wait for each other.
GUARD = Path(".cache/locks/fetched.lock")


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
    compare(lock, name, known[name], archive.sha256)


def compare(lock: Path, name: str, known: Archive, sha256: str) -> None:
    """Refuse another file than the known one.

    Raises:
        DataError: the digests differ.
    """
    if known.sha256 != sha256:
        raise DataError(f"{name}: SHA-256 is {sha256}, but {lock} has {known.sha256}; {advice(lock)}")


def advice(lock: Path | None) -> str:
    """What to do about a file that is not the known one."""
    return f"if there is a new file and you want it, remove this entry from {lock}"
