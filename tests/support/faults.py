"""What becomes of injected faults, counted for `make chaos`."""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from orthoglot.errors import ConfigError, DataError, OfflineError, one_line

# The project's own error types: one line with the cause, and a status.
OWN = (ConfigError, DataError, OfflineError)
# Of processor time, so that other work on the machine decides nothing; and ten minutes of any.
SECONDS = 20
ELAPSED = 600


class Count:
    """The faults of one suite.

    Attributes:
        injected: faults.
        refused: that ended in one line with the cause, or were noticed in another way.
        silent_wrong: that became another value without a word.
        tracebacks: that ended in any other error, or did not end within 20 seconds of processor time.
    """

    def __init__(self, suite: str) -> None:
        self.suite = suite
        self.injected = self.refused = self.silent_wrong = self.tracebacks = 0

    def add(self, *, refused: bool = False, wrong: bool = False, traceback: bool = False) -> None:
        """Count one fault."""
        self.injected += 1
        self.refused += refused
        self.silent_wrong += wrong
        self.tracebacks += traceback

    def save(self, path: Path | None = None) -> None:
        """Add a line to a file, by default the one that ORTHOGLOT_FAULTS names."""
        named = path or os.environ.get("ORTHOGLOT_FAULTS")
        if named:
            with open(named, "a", encoding="utf-8") as file:
                file.write(json.dumps(vars(self)) + "\n")


def inject(
    suite: str,
    contents: Iterable[bytes],
    read: Callable[[bytes], Any],
    wrong: Callable[[Any], bool] = lambda value: False,
) -> Count:
    """Let a reader read damaged contents; fails with the first fault that is not refused as it should be.

    Args:
        suite: the name of the reader.
        contents: damaged.
        read: writes a content to its place and reads it.
        wrong: whether a value that was read is one that no such content can have.
    Raises:
        AssertionError: another error than the project's own, a hang, or a wrong value; with the content.
    """
    count = Count(suite)
    failures = []
    before = {number: signal.signal(number, _alarm) for number in (signal.SIGPROF, signal.SIGALRM)}
    try:
        for content in contents:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.setitimer(signal.ITIMER_REAL, ELAPSED)
            try:
                silent = wrong(read(content))
                count.add(wrong=silent)
                if silent:
                    failures.append(f"a wrong value of {content[:2000]!r}")
            except OWN as error:
                count.add(refused=True)
                if not one_line(error) or len(str(error)) > 100_000:
                    failures.append(f"{len(str(error))} characters for {content[:2000]!r}")
            except Exception:
                count.add(traceback=True)
                failures.append(f"{traceback.format_exc(limit=-4)} of {content[:2000]!r}")
    finally:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        count.save()
    assert not failures, f"{suite}: {len(failures)} of {count.injected}; {failures[0]}"
    return count


def _alarm(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"nothing within {SECONDS} s of processor time or {ELAPSED} s")
