"""Search a part of the source and one of the target in each other, for what may be neighbours in the whole texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from orthoglot.encoders.base import resolve_device
from orthoglot.search.exact_or_cells import search
from orthoglot.search.margins import both_cosines
from orthoglot.search.neighbours import GPU_TILE, TILE, candidates
from orthoglot.study.jobs.job import Job
from orthoglot.study.mining.parts import CANDIDATES, SEARCH, Vectors, padded, starts_of, width
from orthoglot.text.bitext import SIDES


def run(job: Job) -> None:
    """Do the job; exactly where the texts have at most `exact_up_to` similarities, else by cells."""
    k = job.settings["neighborhood"]

    def work(output: Path) -> None:
        device = str(resolve_device(job.device))
        n, m = (starts[-1] for starts in starts_of(job.folder("centre")).values())
        x, y = (Vectors(job.folders(side), job.folder("centre"), side).array() for side in SIDES)
        if n * m <= job.settings["exact_up_to"]:
            both = candidates(x, y, width(k), device, TILE if device == "cpu" else GPU_TILE)
            facts: dict[str, object] = {"search": "exact"}
        else:
            near, facts = search(x, y, k, device=device, threads=torch.get_num_threads(), exact_up_to=0)
            lists = zip(near, both_cosines(x, y, near), strict=True)
            forward, backward = (padded(rows, cosine.astype(np.float32), width(k)) for rows, cosine in lists)
            both = forward, backward
        arrays: dict[str, Any] = {}
        for side, (numbers, products) in zip(SIDES, both, strict=True):
            arrays |= {f"{side}.numbers": numbers.astype(np.int32), f"{side}.products": products}
        np.savez(output / CANDIDATES, **arrays)
        (output / SEARCH).write_text(json.dumps(facts), encoding="utf-8")

    job.run(work)
