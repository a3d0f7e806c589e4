"""Files with addresses, such as those of a Git repository at a commit: each is fetched once and kept by its digest."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from orthoglot.atomic import link
from orthoglot.errors import DataError, OfflineError
from orthoglot.fetching import cache as stored
from orthoglot.fetching import lock as locks
from orthoglot.fetching.download import AT_ONCE, OFFLINE, WrongSizeError, download
from orthoglot.fetching.lock import Archive
from orthoglot.progress import Meter

# The environment variable that names a server with copies: an address's host is the first folder of its path there.
MIRROR = "ORTHOGLOT_MIRROR"
logger = logging.getLogger(__name__)


def fetch(
    addresses: Mapping[str, str],
    output: Path,
    checkpoint: Path,
    *,
    lock: Path,
    cache: Path,
) -> None:
    """Fetch files, some at once.

    Args:
        addresses: the http or https address of each file, by its name: see `orthoglot.text.patterns.name_of`. The
            name is its path in the output folder, and its entry in the lock.
        output: an existing folder.
        checkpoint: where finished and half downloads outlive a stopped run.
        lock: file that knows size and SHA-256 of files fetched before, see `orthoglot.fetching.lock`; new ones are
            added.
        cache: folder of files by digest, which all presets share.
    Raises:
        DataError: the server has no such file, or not the one in the lock.
        OfflineError: a server cannot be reached, or ORTHOGLOT_OFFLINE is set and a file is not here.
    """
    known = locks.read(lock)
    missing = [
        name
        for name in addresses
        if name not in known or not stored.at_hand(known[name].sha256, checkpoint / name, cache)
    ]
    if missing and os.environ.get(OFFLINE):
        raise OfflineError(
            f"{', '.join(addresses[name] for name in missing)}: not in {cache}, and {OFFLINE} is set"
        )

    def obtain(name: str) -> None:
        address, file = addresses[name], checkpoint / name
        mirror = os.environ.get(MIRROR, "").rstrip("/")
        expected = known[name].size if name in known else None
        try:
            digest = download(f"{mirror}/{name}" if mirror else address, file, exact=expected)
        except WrongSizeError as error:
            raise DataError(f"{error}; {locks.advice(lock)}") from error
        size = file.stat().st_size
        archive = Archive(path=urlsplit(address).path, sha256=digest, size=size, version="")
        stored.enter(name, archive, file, lock, cache)
        logger.info("%s: %d bytes", address, size)
        meter.add(1)

    with (
        Meter(total=len(missing), label="fetch files", unit="files") as meter,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        list(pool.map(obtain, missing))
    for name in addresses:
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        link(checkpoint / name, output / name)
