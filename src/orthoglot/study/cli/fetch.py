"""`orthoglot study fetch`: the files of a preset, brought here before a run."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError, DataError, OfflineError


def fetch(
    preset: options.Preset = None,
    every: Annotated[
        bool, typer.Option("--all", help="all test sets and corpora of the catalogue, but those of OPUS")
    ] = False,
    check: Annotated[
        bool, typer.Option(help="fetch again what is here, and only compare it with fetched.lock")
    ] = False,
    api: Annotated[str | None, typer.Option(envvar="ORTHOGLOT_OPUS_API", help="of OPUS")] = None,
    params: options.Params = None,
) -> None:
    """Fetch the text and the test sets of a preset into .cache/fetched, e.g. before a run without a network.

    Example: orthoglot study fetch --preset real
    """
    from orthoglot import catalogue
    from orthoglot.study import config
    from orthoglot.study.corpora.kinds.opus import OpusSettings
    from orthoglot.study.fetching import files, opus
    from orthoglot.study.fetching import lock as locks
    from orthoglot.study.fetching.catalogue import archives as check_opus

    if every and preset:
        raise ConfigError("--all, --preset: give one of them")
    settings = config.load(catalogue.file_of(params), {"preset": preset} if preset else None)
    for file in [] if check else [locks.LOCK, locks.CACHE / "file"]:
        options.check_place(file)
    wanted = settings.every_address() if every else settings.addresses_of(settings.preset)
    remote = files.remote_files(address for addresses in wanted.values() for address in addresses)
    if check:
        _compare(remote)
        typer.echo(f"{len(remote)} files are as {locks.LOCK} has them")
        return
    corpora = (
        {} if every else {**settings.corpora_of(settings.preset), **settings.releases_of(settings.preset)}
    )
    archives = {entry: corpus for entry, corpus in corpora.items() if isinstance(corpus, OpusSettings)}
    if archives:
        check_opus(archives)
    # Where finished and half downloads outlive a stopped command; two commands wait for each other.
    checkpoint = locks.CACHE.with_name("fetching")
    scratch = checkpoint / "files"
    scratch.mkdir(parents=True, exist_ok=True)
    with checkpoint.with_suffix(".lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        for entry, addresses in wanted.items():
            try:
                files.fetch(addresses, scratch, checkpoint, lock=locks.LOCK, cache=locks.CACHE)
            except DataError as error:
                raise DataError(f"{entry}: {error}") from error
        for entry, corpus in archives.items():
            home = scratch / entry
            home.mkdir(exist_ok=True)
            address = api or settings.opus_api
            opus.fetch(corpus, address, home, checkpoint / entry, lock=locks.LOCK, cache=locks.CACHE)
        shutil.rmtree(checkpoint, ignore_errors=True)
    named = ", ".join([*wanted, *archives]) or "nothing to fetch"
    typer.echo(f"{len(remote)} files and {len(archives)} corpora of OPUS are in {locks.CACHE}: {named}")
    chosen = {} if every else settings.benchmarks_read(settings.preset)
    for entry, benchmark in chosen.items():
        if missing := [path for path in benchmark.outside if not Path(path).is_file()]:
            typer.echo(f"benchmarks.{entry}: {missing[0]} does not exist; {benchmark.obtain}")


def _compare(remote: Mapping[str, str]) -> None:
    """Fetch each file anew; what does not match is listed, and one line at the end says how many."""
    from orthoglot.study.fetching import lock as locks
    from orthoglot.study.fetching.files import obtain

    known = locks.read(locks.LOCK)
    wrong = 0
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        # A copy, so that nothing is added to the lock.
        lock = folder / locks.LOCK
        if known:
            shutil.copy(locks.LOCK, lock)
        for name, address in remote.items():
            try:
                obtain({name: address}, folder / "files", lock=lock, cache=folder / "cache")
                if name not in known:
                    raise DataError(f"{address}: {locks.LOCK} does not have it")
            except (DataError, OfflineError) as error:
                wrong += 1
                typer.echo(str(error).replace(str(lock), str(locks.LOCK)))
    if wrong:
        raise DataError(f"{wrong} of {len(remote)} files are not as {locks.LOCK} has them")
