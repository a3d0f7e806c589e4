"""Pairs of translations among the neighbours of two texts, as `orthoglot mine` writes them."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np

from orthoglot.apply.mine import pairs_of
from orthoglot.apply.mined_file import write_pairs
from orthoglot.search.margins import Mined
from orthoglot.search.neighbours import Nearest
from orthoglot.study.jobs.job import Job
from orthoglot.study.mining.cells import recall
from orthoglot.study.mining.parts import COSINES, MODEL, NEIGHBOURS, PAIRS, side_of
from orthoglot.text.bitext import SIDES

logger = logging.getLogger(__name__)


def run(job: Job) -> None:
    """Do the job."""
    settings = job.settings
    chosen = {name: settings[name] for name in ("margin", "retrieval", "threshold", "best")}

    def work(output: Path) -> None:
        near, cosine = (
            Nearest(*(np.concatenate([np.load(part / file) for part in job.folders(side)]) for side in SIDES))
            for file in (NEIGHBOURS, COSINES)
        )
        pairs, promise = pairs_of(near, cosine, **chosen)
        centre, names = job.folder("centre"), ["languages", "neighborhood", "precision", "parts"]
        model = json.loads((centre / MODEL).read_text(encoding="utf-8"))
        facts: dict[str, Any] = {"search": "exact"}
        if settings["cells"]:
            cells = {side: job.folders(f"{side}_cells") for side in SIDES}
            facts = {"search": "cells", "recall": recall(near, cosine, centre, cells)}
            names += ["cells", "probes"]
            # A sentence that met few neighbours has one of them several times; that met none, the first with -1.
            stay = np.diff(pairs.sources, prepend=-1) != 0
            stay |= np.diff(pairs.targets, prepend=-1) != 0
            for rows, cosines in zip(pairs[:2], cosine, strict=True):
                stay &= cosines[rows, 0] > -1
            pairs = Mined(*(column[stay] for column in pairs))
        options = {name: settings[name] for name in names}
        about = {
            "options": {"part": model["part"], "own_mean": model["own_mean"], **options, **chosen},
            "model": model["model"],
            **facts,
            **promise,
        }
        source, target = map(side_of, job.folders("texts"))
        line = write_pairs(output / PAIRS, (source, target), pairs, about, numbers=settings["numbers"])
        logger.info("%s", line)

    job.run(work)
