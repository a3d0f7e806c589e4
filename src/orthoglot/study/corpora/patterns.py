"""Names of files in the settings: with `{names}` to be filled in, or addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from orthoglot.errors import ConfigError, printable

MINI = "{mini}"  # the invented world's folder
OPUS = "{opus}"  # the folder of a benchmark's archives of OPUS
HOST = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?", re.ASCII)


def filled(pattern: str, /, field: str = "files", **names: str) -> str:
    """A pattern of file names with its `{names}` filled in; a ConfigError names an unknown one."""
    try:
        return pattern.format(**names)
    except (KeyError, IndexError, ValueError) as error:
        known = ", ".join(f"{{{name}}}" for name in names)
        raise ConfigError(f"{field}: {pattern!r} may name {known}, not {error}") from error


def by_name(entries: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """{entry: its name in files}, of entries that stand for themselves or state another name."""
    return dict(entries) if isinstance(entries, Mapping) else {entry: entry for entry in entries}


def is_address(file: str) -> bool:
    """Whether the name of a file is an address to fetch it from."""
    return file.startswith(("https://", "http://"))


def name_of(address: str) -> str:
    """The address without its scheme: the name of a file in the lock, and its path in a folder of fetched files.

    What follows `#` is a file of an archive, such as https://HOST/en-de.zip#en-de/test.tsv; its name is
    HOST/en-de.zip/en-de/test.tsv.

    Raises:
        ConfigError: no address of one file: another host than NAME.NAME, such as one with a password, a query, a
            control character, or a path that leaves the folder.
    """
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise ConfigError(f"{address}: not the address of a file ({error})") from error
    steps = [*parts.path.removeprefix("/").split("/"), *(parts.fragment.split("/") if "#" in address else [])]
    odd = address != address.strip() or address != printable(address)
    if odd or not HOST.fullmatch(parts.netloc) or parts.query or {"", ".", ".."} & {*steps}:
        raise ConfigError(f"{address}: not the address of a file")
    return "/".join([parts.netloc, *steps])


def here(file: str, folder: str) -> str:
    """The path of a file: that of an address, or an archive of OPUS, is in the folder of fetched files."""
    if file.startswith(f"{OPUS}/"):
        return folder + file.removeprefix(OPUS)
    return f"{folder}/{name_of(file)}" if is_address(file) else file
