"""What a job has counted of a language pair in parts, as a file of its folder for the jobs that go on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from orthoglot.corpora.prepare import Tally
from orthoglot.text.shifts import Run

TALLY = "tally.json"


def save_tally(tally: Tally, folder: Path) -> None:
    """Write it as JSON."""
    (folder / TALLY).write_text(json.dumps(vars(tally)), encoding="utf-8")


def load_tally(folder: Path) -> Tally:
    """What `save_tally` has written."""
    values = json.loads((folder / TALLY).read_text(encoding="utf-8"))
    read, dropped, overlaps = (Counter(values[name]) for name in ("read", "dropped", "overlaps"))
    runs = [[Run(*run) for run in of_source] for of_source in values["runs"]]
    states = [[(number, state) for number, state in of_source] for of_source in values["states"]]
    return Tally(read, dropped, overlaps, runs, states)
