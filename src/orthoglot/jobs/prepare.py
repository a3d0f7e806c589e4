"""Clean one language pair, remove benchmark sentences, split it."""

from __future__ import annotations

from orthoglot.corpora.prepare import PrepareSettings, prepare
from orthoglot.jobs.job import Job


def run(job: Job) -> None:
    """Do the job."""
    settings = PrepareSettings.model_validate(job.settings)
    job.run(lambda output: prepare(settings, job.folders("benchmarks"), output))
