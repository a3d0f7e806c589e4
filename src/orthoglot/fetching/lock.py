"""opus.lock: what every archive of OPUS was when it was fetched for the first time, and is held against ever after.

The file is JSON, sorted, and belongs into git. It holds one entry for each corpus, release and language pair:
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

LOCK = Path("opus.lock")
# Where processes that write the file wait for each other.
GUARD = Path(".cache/locks/opus.lock")


class Archive(BaseModel):
    """An archive: the path of its address, its digest, its bytes and its release."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    path: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0)]
    version: str


ARCHIVES = TypeAdapter(dict[str, Archive])


def read(lock: Path) -> dict[str, Archive]:
    """The archives that are known, by name; none without a file.

    Raises:
        DataError: the file is damaged, e.g. by a merge.
    """
    try:
        return ARCHIVES.validate_json(lock.read_bytes())
    except FileNotFoundError:
        return {}
    except ValidationError as error:
        raise DataError(f"{lock}: damaged ({error.errors()[0]['msg']}); restore it from git") from error


def record(lock: Path, name: str, archive: Archive) -> None:
    """Add an archive, or compare it with the one that is known.

    Raises:
        DataError: another digest is known.
    """
    GUARD.parent.mkdir(parents=True, exist_ok=True)
    with GUARD.open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        known = read(lock)
        if name not in known:
            known[name] = archive
            content = {one: known[one].model_dump() for one in sorted(known)}
            with replacing(lock) as partial:
                partial.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    compare(lock, name, known[name], archive.sha256)


def compare(lock: Path, name: str, known: Archive, sha256: str) -> None:
    """Refuse another archive than the known one.

    Raises:
        DataError: the digests differ.
    """
    if known.sha256 != sha256:
        raise DataError(f"{name}: SHA-256 is {sha256}, but {lock} has {known.sha256}; {advice(lock)}")


def advice(lock: Path | None) -> str:
    """What to do about an archive that is not the known one."""
    return f"if OPUS has a new archive and you want it, remove this entry from {lock}"
