"""Encode a part of a text that is mined; goes on after its last 4,096 sentences."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from orthoglot.apply.model import Model
from orthoglot.apply.text_vectors import text_vectors
from orthoglot.atomic import link
from orthoglot.decomposers.own_mean import adaptable, sums
from orthoglot.study.jobs.job import Job
from orthoglot.study.mining.parts import MODEL, SUMS, VECTORS, Column, sentences


def run(job: Job) -> None:
    """Do the job."""
    settings = job.settings

    def work(output: Path) -> None:
        model = Model.load(settings["model"], job.device, settings["precision"])
        part = settings["part"] or model.usual_part
        job.checkpoint.mkdir(parents=True, exist_ok=True)
        vectors = text_vectors(
            model,
            Column(sentences(job.folder("text"), [settings["number"]])["sentence"]),
            job.checkpoint / VECTORS,
            part=part,
            language=settings["language"],
            partner=settings["partner"],
        )
        decomposer = adaptable(model.decomposer, part) if settings["own_mean"] else None
        if decomposer:
            np.save(output / SUMS, sums(vectors, decomposer))
            decomposer.save(output)
        about = {"model": model.identity, "part": part, "own_mean": decomposer is not None}
        (output / MODEL).write_text(json.dumps(about), encoding="utf-8")
        link(job.checkpoint / VECTORS, output / VECTORS)

    job.run(work)
