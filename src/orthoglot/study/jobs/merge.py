"""The neighbours that a part of a text has in the whole other text, out of the candidates of each of its parts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from orthoglot.search.neighbours import cosines, settle
from orthoglot.study.jobs.job import Job
from orthoglot.study.mining.parts import (
    CANDIDATES,
    COSINES,
    NEIGHBOURS,
    SEARCH,
    Vectors,
    merged,
    starts_of,
    width,
)


def run(job: Job) -> None:
    """Do the job."""
    side, other, k = job.settings["side"], job.settings["other"], job.settings["neighborhood"]

    def work(output: Path) -> None:
        searches = job.folders("candidates")
        facts = [json.loads((folder / SEARCH).read_text(encoding="utf-8")) for folder in searches]
        exact = facts[0]["search"] == "exact"
        stored = (np.load(folder / CANDIDATES) for folder in searches)
        lists = ((file[f"{side}.numbers"], file[f"{side}.products"]) for file in stored)
        numbers, products = merged(lists, starts_of(job.folder("centre"))[other][:-1], width(k))
        x = Vectors(job.folders(side), job.folder("centre"), side).array()
        y = Vectors(job.folders(other), job.folder("centre"), other).mapped()
        neighbours = settle(numbers, products, x, y, k, exhaustive=exact)
        np.save(output / NEIGHBOURS, neighbours)
        np.save(output / COSINES, cosines(x, y, neighbours))
        if not exact:
            recall = round(float(np.mean([fact["recall"] for fact in facts])), 4)
            facts = [{"search": "cells", "recall": recall}]
        (output / SEARCH).write_text(json.dumps(facts[0]), encoding="utf-8")

    job.run(work)
