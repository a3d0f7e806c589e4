"""Rate and time left of long work: a bar on a terminal, one log line per 30 s elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")
SECONDS_BETWEEN_LINES = 30.0
logger = logging.getLogger(__name__)


def track(items: Iterable[T], *, total: int, label: str, unit: str = "items") -> Iterator[T]:
    """Yield every item unchanged and show how far the work is.

    Args:
        items: what is worked through.
        total: how many there are, for the time left.
        label: what the work is called, e.g. "encode".
        unit: what is counted, e.g. "sentences".
    """
    if sys.stderr.isatty():
        yield from tqdm(items, total=total, desc=label, unit=f" {unit}")
        return
    started = last = time.monotonic()
    for done, item in enumerate(items):
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_LINES:
            last = now
            rate = done / (now - started)
            left = (total - done) / rate if rate else float("inf")
            logger.info("%s %d/%d, %.1f %s/s, %.0f s left", label, done, total, rate, unit, left)
        yield item
