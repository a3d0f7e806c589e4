"""Progress of commands that people wait for: it begins early."""

from __future__ import annotations

from orthoglot.progress import SECONDS_BETWEEN_LINES, Meter

FIRST_LINE = 5.0  # seconds


class EarlyMeter(Meter):
    """A `Meter` whose first line of a log comes after 5 s, and the others as of any; on a terminal, a bar at once."""

    def __init__(self, *, total: int, label: str, unit: str) -> None:
        super().__init__(total=total, label=label, unit=unit)
        self._last = self._started - SECONDS_BETWEEN_LINES + FIRST_LINE
