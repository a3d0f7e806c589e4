"""Search a block of cells: each sentence in the cells of the other text that it looks up."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from orthoglot.study.jobs.job import Job
from orthoglot.study.mining.cells import BEGINS, Block, in_cells, record
from orthoglot.study.mining.parts import starts_of, width
from orthoglot.text.bitext import SIDES


def run(job: Job) -> None:
    """Do the job."""
    number, blocks, cells = (job.settings[name] for name in ("number", "blocks", "cells"))
    keep = width(job.settings["neighborhood"])
    # Those of which number - 1 is the whole part of cell * blocks / cells.
    block = range(-(-(number - 1) * cells // blocks), -(-number * cells // blocks))

    def work(output: Path) -> None:
        starts = starts_of(job.folder("centre"))
        both = [Block.read(job.folders(side), starts[side][:-1], number - 1) for side in SIDES]
        for side, x, y in zip(SIDES, both, reversed(both), strict=True):
            records = np.empty(len(x.rows), record(keep))
            records["row"] = x.rows
            records["numbers"], records["cosines"] = in_cells(x, y, block, keep)
            np.save(output / f"{side}.npy", records)
            np.save(output / f"{side}.{BEGINS}", x.begins)

    job.run(work)
