"""Zip archives of other people, opened without trusting them."""

from __future__ import annotations

import errno
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from orthoglot.errors import DataError

MAX_MEMBERS = 1_000
MAX_UNPACKED_BYTES = 1 << 37
MAX_RATIO = 200  # text and its links shrink 3 to 30 times, a bomb of zeros about 1,000 times
SMALL_BYTES = 1 << 20
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    RuntimeError,
    ValueError,
    struct.error,
)


def check_zip(path: Path) -> None:
    """Refuse an archive that is corrupt, or whose members could harm: nothing is unpacked before.

    Raises:
        DataError: bad checksum inside; a member that is absolute, climbs out, is a link, encrypted or
            there twice; more members, bytes or compression than a corpus has.
    """
    with opened(path) as archive:
        broken = archive.testzip()
    if broken:
        raise DataError(f"{path}: member {broken} is corrupt")


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive, once its table of contents is found harmless; damage met in reading is a DataError."""
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_harm(path, archive.infolist())
            yield archive
    except DataError:
        raise
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist") from error
    except (*_DAMAGE, OSError) as error:
        # A wrong offset makes the operating system say "invalid argument", and the library for bzip2 an error without
        # a number; a full disk is no damage.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise DataError(f"{path} is truncated or corrupt: {error}") from error


def _refuse_harm(path: Path, members: list[zipfile.ZipInfo]) -> None:
    names = Counter(member.filename for member in members)
    unpacked = sum(member.file_size for member in members)
    if len(members) > MAX_MEMBERS:
        raise DataError(f"{path} has {len(members)} members, more than {MAX_MEMBERS}")
    if unpacked > min(MAX_UNPACKED_BYTES, max(MAX_RATIO * path.stat().st_size, SMALL_BYTES)):
        raise DataError(f"{path} unpacks from {path.stat().st_size} to {unpacked} bytes: no corpus, a bomb")
    for member in members:
        fault = _fault(member, names)
        if fault:
            raise DataError(f"{path}: member {member.filename!r} {fault}")


def _fault(member: zipfile.ZipInfo, names: Counter[str]) -> str | None:
    name = member.orig_filename
    if (
        name.startswith("/")
        or "\\" in name
        or "\0" in name
        or ".." in PurePosixPath(name).parts
        or ":" in name
    ):
        return "leads out of the archive"
    if stat.S_ISLNK(member.external_attr >> 16):
        return "is a link"
    if member.flag_bits & 1:
        return "is encrypted"
    return "is there twice" if names[member.filename] > 1 else None
