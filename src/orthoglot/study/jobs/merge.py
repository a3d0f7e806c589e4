"""The neighbours that a part of a text has in the whole other text, out of the candidates of each of its parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from orthoglot.search.neighbours import cosines, settle
from orthoglot.study.jobs.job import Job
from orthoglot.study.mining.parts import (
    CANDIDATES,
    COSINES,
    NEIGHBOURS,
    Vectors,
    merged,
    starts_of,
    width,
)


def run(job: Job) -> None:
    """Do the job."""
    side, other, k = job.settings["side"], job.settings["other"], job.settings["neighborhood"]

    def work(output: Path) -> None:
        stored = (np.load(folder / CANDIDATES) for folder in job.folders("candidates"))
        lists = ((file[f"{side}.numbers"], file[f"{side}.products"]) for file in stored)
        numbers, products = merged(lists, starts_of(job.folder("centre"))[other][:-1], width(k))
        x = Vectors(job.folders(side), job.folder("centre"), side).array()
        y = Vectors(job.folders(other), job.folder("centre"), other).mapped()
        neighbours = settle(numbers, products, x, y, k)
        np.save(output / NEIGHBOURS, neighbours)
        np.save(output / COSINES, cosines(x, y, neighbours))

    job.run(work)
