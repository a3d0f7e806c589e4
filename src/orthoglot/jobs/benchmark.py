"""Collect a benchmark of any kind in one form."""

from __future__ import annotations

from orthoglot.benchmarks import kinds
from orthoglot.benchmarks.collect import collect
from orthoglot.jobs.job import Job
from orthoglot.registry import load


def run(job: Job) -> None:
    """Do the job."""
    raw, fetched = (next(iter(job.folders(role)), None) for role in ("roots", "files"))
    settings = load(kinds, job.settings["kind"]).SETTINGS.model_validate(job.settings)
    job.run(lambda output: collect(settings, raw, output, fetched))
