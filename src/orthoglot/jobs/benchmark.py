"""Collect a benchmark of any kind in one form."""

from __future__ import annotations

from orthoglot.corpora import benchmarks
from orthoglot.corpora.kinds import BENCHMARKS
from orthoglot.jobs.job import Job


def run(job: Job) -> None:
    """Do the job."""
    raw = next(iter(job.folders("roots")), None)
    settings = BENCHMARKS[job.settings["kind"]].settings.model_validate(job.settings)
    job.run(lambda output: benchmarks.collect(settings, raw, output))
