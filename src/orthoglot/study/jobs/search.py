"""Search a part of the source and one of the target in each other, for what may be neighbours in the whole texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from orthoglot.encoders.base import resolve_device
from orthoglot.search.neighbours import GPU_TILE, TILE, candidates
from orthoglot.study.jobs.job import Job
from orthoglot.study.mining.parts import CANDIDATES, Vectors, width
from orthoglot.text.bitext import SIDES


def run(job: Job) -> None:
    """Do the job."""
    k = job.settings["neighborhood"]

    def work(output: Path) -> None:
        device = str(resolve_device(job.device))
        x, y = (Vectors(job.folders(side), job.folder("centre"), side).array() for side in SIDES)
        both = candidates(x, y, width(k), device, TILE if device == "cpu" else GPU_TILE)
        arrays: dict[str, Any] = {}
        for side, (numbers, products) in zip(SIDES, both, strict=True):
            arrays |= {f"{side}.numbers": numbers.astype(np.int32), f"{side}.products": products}
        np.savez(output / CANDIDATES, **arrays)

    job.run(work)
