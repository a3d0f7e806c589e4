"""Names of files in the settings, with `{names}` to be filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orthoglot.errors import ConfigError

MINI = "{mini}"  # the invented world's folder


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
