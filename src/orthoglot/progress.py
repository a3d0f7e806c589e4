"""Rate and time left of long work: a bar on a terminal, one log line per 30 s elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from types import TracebackType
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")
SECONDS_BETWEEN_LINES, FIRST_LINE = 30.0, 5.0
PACKAGE = "orthoglot"  # above INFO, its logger shows no bars, either
Done = Callable[[int], object]  # gets how much more is done
logger = logging.getLogger(__name__)


class Meter:
    """Shows how much of some work is done; a context manager.

    Args:
        total: How much there is, for the time left.
        label: What the work is called, e.g. "embed".
        unit: What is counted, e.g. "sentences"; "bytes" are shown as B, kB, MB and so on.
    """

    def __init__(self, *, total: int, label: str, unit: str) -> None:
        self._total, self._label, self._unit = total, label, unit
        self._scaled = unit == "bytes"
        self._bar = None
        if sys.stderr.isatty() and logging.getLogger(PACKAGE).level <= logging.INFO:
            shown = "B" if self._scaled else f" {unit}"
            self._bar = tqdm(total=total, desc=label, unit=shown, unit_scale=self._scaled)
        self._started = self._last = time.monotonic()
        self._done = 0
        self._lock = Lock()

    def add(self, count: int = 1) -> None:
        """So many more are done; threads may call it at the same time."""
        with self._lock:
            if self._bar is not None:
                self._bar.update(count)
                return
            self._done += count
            now = time.monotonic()
            if self._done and now - self._last >= SECONDS_BETWEEN_LINES:
                self._last = now
                self._log(self._done / (now - self._started))

    def _log(self, rate: float) -> None:
        left = duration(max(0, self._total - self._done) / rate)
        if self._scaled:
            done, total, shown = (tqdm.format_sizeof(size, "B") for size in (self._done, self._total, rate))
        else:
            done, total = str(self._done), str(self._total)
            shown = (f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}") + f" {self._unit}"
        logger.info("%s %s/%s, %s/s, %s left", self._label, done, total, shown, left)

    def __enter__(self) -> Meter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()


class EarlyMeter(Meter):
    """A `Meter` for commands that people wait for: the first line of its log comes after 5 s."""

    def __init__(self, *, total: int, label: str, unit: str) -> None:
        super().__init__(total=total, label=label, unit=unit)
        self._last = self._started - SECONDS_BETWEEN_LINES + FIRST_LINE


def weighed(done: Done, size: float) -> Done:
    """A function that reports counts of things of this mean size to `done`, which counts sizes, as whole numbers."""

    def report(count: int) -> None:
        done(round(count * size))

    return report


def track(items: Iterable[T], *, total: int, label: str, unit: str = "items") -> Iterator[T]:
    """Yield every item unchanged and show how far the work is; for the arguments see `Meter`."""
    with Meter(total=total, label=label, unit=unit) as meter:
        for item in items:
            yield item
            meter.add()


def duration(seconds: float) -> str:
    """Seconds in words: "80 s", "12 min", "3 h 05 min"."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
