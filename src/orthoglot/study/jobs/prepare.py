"""Clean one language pair, remove benchmark sentences, split it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from orthoglot.corpora import prepare
from orthoglot.study.benchmarks.collected import sentence_keys
from orthoglot.study.corpora.base import AnySource
from orthoglot.study.jobs.job import Job


class PrepareSettings(prepare.PrepareSettings):
    """One language pair, of corpora of any kind."""

    sources: Annotated[list[AnySource], Field(min_length=1)]


def run(job: Job) -> None:
    """Do the job."""
    settings = PrepareSettings.model_validate(job.settings)
    benchmarks = job.folders("benchmarks")
    names = [folder.name for folder in benchmarks]
    job.run(lambda output: prepare.prepare(settings, output, names, sentence_keys(benchmarks)))
