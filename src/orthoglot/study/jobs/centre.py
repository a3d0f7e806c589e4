"""What all parts of a mining share: where each begins, the model, the shift for a text's own mean, and the cells."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np

from orthoglot.decomposers.base import load_decomposer
from orthoglot.decomposers.own_mean import mean_shift
from orthoglot.errors import DataError
from orthoglot.study.jobs.job import Job
from orthoglot.study.mining.cells import learn
from orthoglot.study.mining.parts import MODEL, STARTS, SUMS, Vectors, counts_of
from orthoglot.text.bitext import SIDES


def run(job: Job) -> None:
    """Do the job; what belongs to an own mean, or to cells, only where they are used."""

    def work(output: Path) -> None:
        every = [folder for side in SIDES for folder in job.folders(side)]
        models = {folder: (folder / MODEL).read_bytes() for folder in every}
        (usual, _), *others = Counter(models.values()).most_common()
        if others:
            odd = next(folder for folder in every if models[folder] != usual)
            raise DataError(
                f"{odd}: another model than that of other parts; remove it, and run snakemake again"
            )
        shutil.copy(every[0] / MODEL, output / MODEL)
        texts = zip(SIDES, job.folders("texts"), strict=True)
        starts = {side: counts_of(text)["starts"] for side, text in texts}
        (output / STARTS).write_text(json.dumps(starts), encoding="utf-8")
        if (every[0] / SUMS).exists():
            decomposer = load_decomposer(every[0])
            decomposer.save(output)
            for side in SIDES:
                total = np.concatenate([np.load(folder / SUMS) for folder in job.folders(side)])
                np.save(output / f"{side}.npy", mean_shift(total, decomposer))
        if job.settings["cells"]:
            both = [Vectors(job.folders(side), output, side).mapped() for side in SIDES]
            learn(both, job.settings["cells"], output)

    job.run(work)
