"""Pairs of translations among the neighbours of two texts, as `orthoglot mine` writes them."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np

from orthoglot.apply.mine import pairs_of
from orthoglot.apply.mined_file import write_pairs
from orthoglot.search.neighbours import Nearest
from orthoglot.study.jobs.job import Job
from orthoglot.study.mining.parts import COSINES, MODEL, NEIGHBOURS, PAIRS, SEARCH, side_of
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
        model, *searches = (
            json.loads(file.read_text(encoding="utf-8"))
            for file in (job.folder("centre") / MODEL, *(part / SEARCH for part in job.folders("source")))
        )
        facts = searches[0]
        if "recall" in facts:
            facts["recall"] = round(float(np.mean([search["recall"] for search in searches])), 4)
        options = {name: settings[name] for name in ("languages", "neighborhood", "precision", "parts")}
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
