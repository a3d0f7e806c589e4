"""Collect a benchmark of any kind in one form."""

from __future__ import annotations

from orthoglot.registry import load
from orthoglot.study.benchmarks import kinds
from orthoglot.study.benchmarks.collect import collect
from orthoglot.study.jobs.job import Job


def run(job: Job) -> None:
    """Do the job."""
    raw, fetched = (next(iter(job.folders(role)), None) for role in ("roots", "files"))
    settings = load(kinds, job.settings["kind"]).SETTINGS.model_validate(job.settings)
    job.run(lambda output: collect(settings, raw, output, fetched))
