"""Clean one language pair, remove benchmark sentences, split it."""

from __future__ import annotations

from orthoglot.corpora.prepare import PrepareSettings, prepare
from orthoglot.study.benchmarks.collected import sentence_keys
from orthoglot.study.jobs.job import Job


def run(job: Job) -> None:
    """Do the job."""
    settings = PrepareSettings.model_validate(job.settings)
    benchmarks = job.folders("benchmarks")
    names = [folder.name for folder in benchmarks]
    job.run(lambda output: prepare(settings, output, names, sentence_keys(benchmarks)))
