"""The neighbours that a part of a text has in the whole other text, out of the blocks of cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from orthoglot.study.jobs.job import Job
from orthoglot.study.mining.cells import BEGINS, nearest
from orthoglot.study.mining.parts import COSINES, NEIGHBOURS, starts_of, width


def run(job: Job) -> None:
    """Do the job."""
    side, other, number, k = (job.settings[name] for name in ("side", "other", "number", "neighborhood"))

    def work(output: Path) -> None:
        starts = starts_of(job.folder("centre"))
        start, end = starts[side][number - 1 : number + 1]
        stored = (
            np.load(block / f"{side}.npy", mmap_mode="r")[
                slice(*np.load(block / f"{side}.{BEGINS}")[number - 1 : number + 1])
            ]
            for block in job.folders("blocks")
        )
        numbers, near = nearest(stored, start, end - start, width(k), min(k, starts[other][-1]))
        np.save(output / NEIGHBOURS, numbers)
        np.save(output / COSINES, near)

    job.run(work)
