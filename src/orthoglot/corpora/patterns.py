"""Names of files in the settings, with `{names}` to be filled in."""

from __future__ import annotations

from orthoglot.errors import ConfigError

MINI = "{mini}"  # the invented world's folder


def filled(pattern: str, /, field: str = "files", **names: str) -> str:
    """A pattern of file names with its `{names}` filled in; a ConfigError names an unknown one."""
    try:
        return pattern.format(**names)
    except (KeyError, IndexError, ValueError) as error:
        known = ", ".join(f"{{{name}}}" for name in names)
        raise ConfigError(f"{field}: {pattern!r} may name {known}, not {error}") from error
