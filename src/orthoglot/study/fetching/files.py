"""Files with addresses, such as those of a Git repository at a commit: each is fetched once and kept by its digest."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from orthoglot.atomic import link
from orthoglot.errors import DataError, OfflineError
from orthoglot.progress import Meter
from orthoglot.study.corpora.archives import extract, packed_check
from orthoglot.study.corpora.patterns import name_of
from orthoglot.study.fetching import lock as locks
from orthoglot.study.fetching.download import AT_ONCE, OFFLINE, WrongDigestError, WrongSizeError, download
from orthoglot.study.fetching.lock import Archive

# The environment variable that names a server with copies: an address's host is the first folder of its path there.
MIRROR = "ORTHOGLOT_MIRROR"
NAMED = 3  # addresses that a message names


def fetch(addresses: Iterable[str], output: Path, checkpoint: Path, *, lock: Path, cache: Path) -> None:
    """Fetch files, some at once, and take what is wanted out of archives.

    Args:
        addresses: http or https addresses. `orthoglot.study.corpora.patterns.name_of` says how a file of an archive is
            named, and where each file will be.
        output: an existing folder.
        checkpoint: where finished and half downloads outlive a stopped run.
        lock: file that knows size and SHA-256 of files fetched before, see `orthoglot.study.fetching.lock`; new ones
            are added.
        cache: folder of files by digest, which all presets share.
    Raises:
        DataError: the server has no such file, or not the one in the lock, or does not say that it is whole; an archive
            or a compressed file is damaged, or has not the wanted file.
        OfflineError: a server cannot be reached, or ORTHOGLOT_OFFLINE is set and a file is not here.
    """
    wanted = list(addresses)
    obtain(remote_files(wanted), checkpoint, lock=lock, cache=cache)
    for address in wanted:
        file, _, member = address.partition("#")
        path = output / name_of(address)
        path.parent.mkdir(parents=True, exist_ok=True)
        if member:
            try:
                extract(checkpoint / name_of(file), member, path)
            except DataError as error:
                raise DataError(f"{address}: {error}") from error
        else:
            link(checkpoint / name_of(file), path)


def remote_files(addresses: Iterable[str]) -> dict[str, str]:
    """{name in the lock: address} of what is fetched for these addresses: files, and archives once."""
    return {name_of(file): file for file in (address.partition("#")[0] for address in addresses)}


def obtain(files: Mapping[str, str], folder: Path, *, lock: Path, cache: Path) -> None:
    """Bring files into a folder, under their names; arguments and errors as of `fetch`."""
    known = locks.read(lock)
    missing = [
        name
        for name in files
        if name not in known or not locks.at_hand(known[name].sha256, folder / name, cache)
    ]
    if missing and os.environ.get(OFFLINE):
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        lacking = ", ".join(files[name] for name in missing[:NAMED])
        raise OfflineError(f"{lacking}{more}: no sound copy in {cache}, and {OFFLINE} is set")

    def one(name: str) -> None:
        address, file = files[name], folder / name
        mirror = os.environ.get(MIRROR, "").rstrip("/")
        url = f"{mirror}/{name}" if mirror else address
        try:
            if name in known:
                digest = download(url, file, exact=known[name].size, sha256=known[name].sha256)
            else:
                digest = download(url, file, check=packed_check(name))
        except (WrongSizeError, WrongDigestError) as error:
            raise DataError(f"{error}; {locks.advice(lock)}") from error
        size = file.stat().st_size
        archive = Archive(path=urlsplit(address).path, sha256=digest, size=size, version="")
        locks.enter(name, archive, file, lock, cache)
        meter.add(1)

    with (
        Meter(total=len(missing), label="fetch files", unit="files") as meter,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        list(pool.map(one, missing))
