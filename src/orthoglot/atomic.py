"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import get_ident
from typing import Any

from orthoglot.file_lock import locked


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """Yield an empty folder next to `folder` that replaces it when the block ends without an error.

    A kill at any moment leaves the old folder, no folder, or the new one, never a mixture.
    An error removes the unfinished folder. A second process that builds the same folder waits for the first.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(
            errno.ENOTDIR, "a file is in the place of this folder; remove it", str(folder)
        )
    partial = folder.with_name(folder.name + ".partial")
    lock = folder.with_name(f".{folder.name}.lock")
    try:
        with locked(lock, folder):
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            try:
                yield partial
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise
            for path in partial.rglob("*"):
                _finish(path)
            if folder.is_symlink():
                folder.unlink()
            shutil.rmtree(folder, ignore_errors=True)
            partial.rename(folder)
            _sync(folder.parent)
    except BaseException as error:
        _name(error, partial, folder)
        _name(error, lock, folder)
        raise


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder that replaces `path` when the block ends without an error.

    Each process has a temporary path of its own, so a file is always that of one process, the last. Where a device or a
    pipe is in its place, as with /dev/stdout, the content goes there when the block ends.

    Raises:
        IsADirectoryError: a folder is there.
    """
    check_no_folder(path)
    if path.exists() and not path.is_file():
        with TemporaryDirectory() as folder:
            yield Path(folder, path.name)
            try:
                with Path(folder, path.name).open("rb") as content, path.open("wb") as output:
                    shutil.copyfileobj(content, output)
            except OSError as error:
                error.filename = error.filename or str(path)
                raise
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = platform.node()
    partial = path.with_name(f"{path.name}.{machine}-{os.getpid()}.partial")
    _remove_left(path, machine)
    try:
        yield partial
    except BaseException as error:
        partial.unlink(missing_ok=True)
        _name(error, partial, path)
        raise
    _finish(partial)
    os.replace(partial, path)


def write_summary(output: Path, summary: Mapping[str, Any]) -> None:
    """Write OUTPUT.json; nothing where the output is standard output."""
    if str(output) == "-":
        return
    with replacing(output.with_name(output.name + ".json")) as partial:
        partial.write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def check_no_folder(path: Path) -> None:
    """Refuse a folder where a file belongs, by an IsADirectoryError that says how to remove it."""
    if path.is_dir():
        raise IsADirectoryError(
            errno.EISDIR, "a folder is in the place of this file; remove it with rm -r", str(path)
        )


def _remove_left(path: Path, machine: str) -> None:
    """Remove what processes that were killed on this machine have left of writing a file."""
    start, end = f"{path.name}.{machine}-", ".partial"
    with os.scandir(path.parent) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(start)]
    for name in names:
        number = name.removeprefix(start).removesuffix(end)
        if name.endswith(end) and number.isdecimal() and not _runs(int(number)):
            path.with_name(name).unlink(missing_ok=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # of another user
    return True


def link(file: Path | str, place: Path | str) -> None:
    """Make `place` a hard link to a file, or a copy where that is not possible; an older file there is replaced.

    There is a file at every moment, whatever other processes and threads link to the same place.
    """
    place = Path(place)
    partial = place.with_name(f".{place.name}.{os.getpid()}-{get_ident()}")
    try:
        partial.unlink(missing_ok=True)
        try:
            os.link(file, partial)
        except OSError:
            shutil.copyfile(file, partial)
            _finish(partial)
        os.replace(partial, place)
    finally:
        partial.unlink(missing_ok=True)  # it stays where both are links to one file


def reserve(path: Path) -> None:
    """Give a file that was made with its full length the space for it, before it is written to through a mapping.

    Writing to a mapped file on a full disk kills the process.

    Raises:
        OSError: the disk has not enough; says how much it needs, and the file is gone.
    """
    size = path.stat().st_size
    try:
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        path.unlink()
        if error.errno != errno.ENOSPC:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise _lack(path, size, shutil.disk_usage(path.parent).free) from error


def copy_folder(
    source: Path, folder: Path, ignore: Callable[[str, list[str]], set[str]] | None = None
) -> None:
    """Copy a folder's files into another one, which may exist; for `ignore` see `shutil.copytree`.

    Raises:
        OSError: the disk has not enough; says how much all files need.
    """
    place = folder if folder.exists() else folder.parent
    free = shutil.disk_usage(place).free
    try:
        shutil.copytree(source, folder, ignore=ignore, dirs_exist_ok=True)
    except shutil.Error as error:
        if not any(f"[Errno {errno.ENOSPC}]" in cause for *_, cause in error.args[0]):
            raise
        size = sum(file.stat().st_size for file in source.rglob("*") if file.is_file())
        raise _lack(folder, size, free) from error


def _lack(path: Path, size: int, free: int) -> OSError:
    lack = f"needs {size / 1e6:,.1f} MB on this disk, {free / 1e6:,.1f} MB are free"
    return OSError(errno.ENOSPC, lack, str(path))


def _name(error: BaseException, partial: Path, path: Path) -> None:
    """Put the path that the user knows into an error about the temporary one, or of a full disk without a path."""
    if isinstance(error, OSError) and (
        error.filename in (partial, str(partial)) or (error.errno == errno.ENOSPC and not error.filename)
    ):
        error.filename = str(path)


def _finish(path: Path) -> None:
    """Write a file to disk, with the mode that the umask gives: some libraries create files as 0600."""
    if path.is_file() and not path.is_symlink():
        os.umask(umask := os.umask(0o077))
        path.chmod(0o666 & ~umask)
        _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
