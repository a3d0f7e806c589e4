"""Sort a part of a text that is mined by the cells that its sentences look up."""

from __future__ import annotations

from pathlib import Path

from orthoglot.study.jobs.job import Job
from orthoglot.study.mining.cells import assign
from orthoglot.study.mining.parts import Vectors


def run(job: Job) -> None:
    """Do the job."""
    settings, centre = job.settings, job.folder("centre")

    def work(output: Path) -> None:
        text = Vectors(job.folders("vectors"), centre, settings["side"]).mapped()
        chosen = {name: settings[name] for name in ("other", "neighborhood", "probes", "blocks")}
        assign(text, centre, output, **chosen)

    job.run(work)
