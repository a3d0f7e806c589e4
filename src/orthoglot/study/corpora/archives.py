"""Archives of other people, opened without trusting them: zip, and tar in any compression."""

from __future__ import annotations

import bz2
import errno
import lzma
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from isal import igzip, isal_zlib

from orthoglot.atomic import replacing
from orthoglot.errors import DataError
from orthoglot.text.bitext import CHUNK_BYTES
from orthoglot.torch_checksums import is_archive

MAX_MEMBERS = 1_000
MAX_DOCUMENTS = 1_000_000  # of a language of OPUS, one file each
MAX_UNPACKED_BYTES = 1 << 37
MAX_RATIO = 200  # text and its links shrink 3 to 30 times, a bomb of zeros about 1,000 times
SMALL_BYTES = 1 << 20
_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    lzma.LZMAError,
    zlib.error,
    isal_zlib.error,
    EOFError,
    RuntimeError,
    ValueError,
    struct.error,
)
# Compressed files by the ending of their names; each has a checksum at its end.
_STREAMS: dict[str, Callable[[Path], IO[bytes]]] = {
    ".gz": igzip.open,
    ".tgz": igzip.open,
    ".xz": lzma.open,
    ".txz": lzma.open,
    ".bz2": bz2.open,
    ".tbz2": bz2.open,
}


def check_zip(path: Path, most: int = MAX_MEMBERS) -> None:
    """Refuse an archive that is corrupt, or whose members could harm: nothing is unpacked before.

    Args:
        path: The archive.
        most: How many members it may have.
    Raises:
        DataError: bad checksum inside; a member that is absolute, climbs out, is a link, encrypted or
            there twice; more members, bytes or compression than a corpus has.
    """
    with opened(path, most) as archive:
        broken = archive.testzip()
    if broken:
        raise DataError(f"{path}: member {broken} is corrupt")


def packed_check(name: str) -> Callable[[Path], None] | None:
    """What refuses a damaged file of this name by the end that its format states; None for a format without one."""
    suffix = PurePosixPath(name.lower()).suffix
    if suffix == ".zip":
        return check_zip
    packed = _STREAMS.get(suffix)
    return (lambda path: _check_stream(packed, path)) if packed else None


def _check_stream(open_packed: Callable[[Path], IO[bytes]], path: Path) -> None:
    unpacked = 0
    with _damage_refused(path), open_packed(path) as file:
        while chunk := file.read(CHUNK_BYTES):
            unpacked += len(chunk)
            _refuse_size(path, 1, unpacked)


class _Zip(zipfile.ZipFile):
    """A zip whose members are inflated by isal, in half of zlib's time."""

    def open(self, *args: Any, **options: Any) -> IO[bytes]:
        file = super().open(*args, **options)
        if isinstance(getattr(file, "_decompressor", None), type(zlib.decompressobj())):
            file._decompressor = isal_zlib.decompressobj(-zlib.MAX_WBITS)  # type: ignore[attr-defined]
        return file


@contextmanager
def opened(path: Path, most: int = MAX_MEMBERS) -> Iterator[zipfile.ZipFile]:
    """The archive, once its table of contents is found harmless; damage met in reading is a DataError."""
    with _damage_refused(path), _Zip(path) as archive:
        _refuse_harm(path, archive.infolist(), most)
        yield archive


def chunks_of(archive: zipfile.ZipFile, member: str) -> Iterator[bytes]:
    """The bytes of a member; damage is a DataError that names the archive."""
    with _damage_refused(Path(archive.filename or "")), archive.open(member) as file:
        yield from iter(lambda: file.read(CHUNK_BYTES), b"")


def extract(path: Path, member: str, target: Path) -> None:
    """Write one regular file of a zip or tar archive.

    Raises:
        DataError: no such archive, no such file in it, damage, or more members or bytes than a corpus has.
    """
    if is_archive(path):
        with opened(path) as archive:
            if member not in archive.namelist():
                raise DataError(f"{path} has no file {member}")
            with archive.open(member) as file, replacing(target) as partial, partial.open("wb") as output:
                shutil.copyfileobj(file, output)
        return
    with _damage_refused(path), tarfile.open(path) as packed, replacing(target) as partial:
        _extract_from_tar(path, packed, member, partial)


def _extract_from_tar(path: Path, packed: tarfile.TarFile, member: str, target: Path) -> None:
    unpacked = number = 0
    names: set[str] = set()
    for number, info in enumerate(packed, 1):
        unpacked += info.size
        _refuse_size(path, number, unpacked)
        name = info.name.removeprefix("./")
        if name in names and not info.isdir():
            raise DataError(f"{path}: member {name!r} is there twice")
        names.add(name)
        if name == member and info.isreg() and (file := packed.extractfile(info)):
            with target.open("wb") as output:
                shutil.copyfileobj(file, output)
    # The checksum of a compressed archive is at its end.
    while packed.fileobj and (rest := packed.fileobj.read(CHUNK_BYTES)):
        unpacked += len(rest)
        _refuse_size(path, number, unpacked)
    if not target.exists():
        raise DataError(f"{path} has no file {member}")


@contextmanager
def _damage_refused(path: Path) -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist") from error
    except (*_DAMAGE, OSError) as error:  # type: ignore[misc]
        # A wrong offset makes the operating system say "invalid argument", and the libraries for gzip and bzip2 an
        # error without a number; a full disk is no damage.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        cause = str(error).partition("\n")[0].rstrip(":")
        raise DataError(f"{path} is truncated or corrupt: {cause}") from error


def _refuse_size(path: Path, members: int, unpacked: int, most: int = MAX_MEMBERS) -> None:
    if members > most:
        raise DataError(f"{path} has {members} members, more than {most}")
    if unpacked > min(MAX_UNPACKED_BYTES, max(MAX_RATIO * path.stat().st_size, SMALL_BYTES)):
        raise DataError(f"{path} unpacks from {path.stat().st_size} to {unpacked} bytes: no corpus, a bomb")


def _refuse_harm(path: Path, members: list[zipfile.ZipInfo], most: int) -> None:
    names = Counter(member.filename for member in members)
    _refuse_size(path, len(members), sum(member.file_size for member in members), most)
    for member in members:
        fault = _fault(member, names)
        if fault:
            raise DataError(f"{path}: member {member.filename!r} {fault}")


def _fault(member: zipfile.ZipInfo, names: Counter[str]) -> str | None:
    name = member.orig_filename
    if name.startswith("/") or any(mark in name for mark in "\\\0:") or ".." in PurePosixPath(name).parts:
        return "leads out of the archive"
    if stat.S_ISLNK(member.external_attr >> 16):
        return "is a link"
    if member.flag_bits & 1:
        return "is encrypted"
    return "is there twice" if names[member.filename] > 1 else None
