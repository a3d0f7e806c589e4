"""The programs of measurements/ are modules here."""

from __future__ import annotations

import sys
from pathlib import Path

MEASUREMENTS = Path(__file__).parents[2] / "measurements"
sys.path[:0] = [
    str(MEASUREMENTS),
    *(str(place) for place in sorted(MEASUREMENTS.iterdir()) if place.is_dir()),
]
