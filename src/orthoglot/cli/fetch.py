"""`orthoglot fetch`: the files of a preset, brought here before a run."""

from __future__ import annotations

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

    Example: orthoglot fetch --preset real
    """
    from orthoglot import config
    from orthoglot.fetching import lock as locks
    from orthoglot.fetching import opus
    from orthoglot.fetching.files import obtain, remote_files
    from orthoglot.formats.kinds.opus import OpusSettings

    if every and preset:
        raise ConfigError("--all, --preset: give one of them")
    settings = config.load(config.file_of(params), {"preset": preset} if preset else None)
    found = settings.every_address() if every else settings.addresses_of(settings.preset)
    files = remote_files(address for addresses in found.values() for address in addresses)
    corpora = {} if every else settings.corpora_of(settings.preset)
    archives = {entry: one for entry, one in corpora.items() if isinstance(one, OpusSettings)}
    locks.CACHE.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=locks.CACHE.parent, prefix="fetch-") as scratch:
        folder = Path(scratch)
        if check:
            _compare(files, folder)
        else:
            obtain(files, folder, lock=locks.LOCK, cache=locks.CACHE)
        cache = folder / "cache" if check else locks.CACHE
        for entry, corpus in archives.items():
            (folder / entry).mkdir()
            address = api or settings.opus_api
            opus.fetch(
                corpus, address, folder / entry, folder / f"{entry}.checkpoint", lock=locks.LOCK, cache=cache
            )
    verb = "compared" if check else "here"
    typer.echo(
        f"{len(files)} files and {len(archives)} corpora of OPUS are {verb}: {', '.join([*found, *archives])}"
    )


def _compare(files: Mapping[str, str], folder: Path) -> None:
    """Fetch each file anew; what does not match is listed, and one line at the end says how many."""
    from orthoglot.fetching import lock as locks
    from orthoglot.fetching.files import obtain

    wrong = 0
    for name, address in files.items():
        try:
            obtain({name: address}, folder, lock=locks.LOCK, cache=folder / "cache")
        except (DataError, OfflineError) as error:
            wrong += 1
            typer.echo(str(error))
    if wrong:
        raise DataError(f"{wrong} of {len(files)} files are not as {locks.LOCK} has them")
