"""Clean text of one language, remove benchmark and held-out sentences, cut it into shards."""

from __future__ import annotations

from orthoglot.study.jobs.job import Job
from orthoglot.study.pretraining.prepare_text import PrepareTextSettings, prepare_text


def run(job: Job) -> None:
    """Do the job."""
    settings = PrepareTextSettings.model_validate(job.settings)
    before = job.folders("bitext"), job.folders("benchmarks")
    job.run(lambda output: prepare_text(settings, *before, output))
