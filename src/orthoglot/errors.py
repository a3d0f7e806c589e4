"""Why a command stops; each carries a one-line cause for the user."""

from __future__ import annotations

import os
import re

# Control characters, line separators, what has no width, marks that turn the direction of what follows, and halves of
# characters, as names of files in another encoding have them.
CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ud800-\udfff\ufeff"
    "\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    """A text for a terminal or a log: control characters as escapes, e.g. `\\x1b`, which no terminal obeys."""
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def one_line(error: BaseException) -> str:
    """The cause of an error as the command line prints it: one line, at most 1,000 characters.

    The system's errors begin with the file: "weights: Permission denied".
    """
    text = str(error)
    if isinstance(error, OSError) and error.filename and error.strerror:
        text = f"{os.fsdecode(error.filename)}: {error.strerror}"
    line = printable(" ".join(text.split()))
    return line if len(line) <= 1000 else line[:999] + "…"


class ConfigError(ValueError):
    """A setting, name or option is wrong: nothing has been read or computed yet."""


class DataError(ValueError):
    """A file, archive, vector store or number is not what it must be."""


class OfflineError(RuntimeError):
    """A needed file is neither here nor reachable."""


class StoppedError(RuntimeError):
    """The user stopped the command; says what is kept and how to go on."""
