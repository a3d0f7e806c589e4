"""A lock on a file: at most one process at a time works in a folder, or makes one.

The kernel holds the lock (`flock`) and releases it when the process ends, however it ends.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# What a file system without locks answers, as some mounts of NFS and Lustre do.
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
logger = logging.getLogger(__name__)


@contextmanager
def locked(file: Path, subject: Path, advice: str = "") -> Iterator[None]:
    """Be the only process in such a block of `file`, which exists only while a process is in one.

    A second process waits until the first has ended or left the block, and says so once. Where the file system has no
    locks, a warning says that, and nobody waits.

    Args:
        file: The lock, which is made, with its folder, and removed.
        subject: What the lock is for, in messages.
        advice: The end of the message that says so: what to do instead of waiting.
    """
    while True:
        try:
            handle = _open(file)
        except FileNotFoundError:
            with suppress(FileExistsError):  # it was there, and is removed again meanwhile
                file.parent.mkdir(parents=True, exist_ok=True)
            continue
        try:
            _acquire(handle, subject, advice)
            # Whoever held it before may have removed it.
            if not _is_at(handle, file):
                continue
            with suppress(OSError):  # the disk is full
                os.truncate(handle, 0)
                os.write(handle, f"process {os.getpid()} on {platform.node()}".encode())
            try:
                yield
            finally:
                with suppress(PermissionError):  # another user's, in a folder such as /tmp
                    file.unlink(missing_ok=True)
            return
        finally:
            os.close(handle)


def _open(file: Path) -> int:
    """Open a file to lock it, and make it if it is absent. One of another user is only read, which is enough."""
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:
        if not file.exists():
            raise
        return os.open(file, os.O_RDONLY)


def _acquire(handle: int, subject: Path, advice: str) -> None:
    """Lock an open file, once nobody else has it locked."""
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 100, 0).decode(errors="replace") or "another process"
            logger.warning("%s: in use by %s; this command waits for its end%s", subject, holder, advice)
            fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        fault = f"its file system has no locks ({error.strerror})"
        logger.warning("%s: %s; let no other process use it at the same time", subject, fault)


def _is_at(handle: int, file: Path) -> bool:
    """Whether an open file is the one at this path."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), file.stat())
    return False
