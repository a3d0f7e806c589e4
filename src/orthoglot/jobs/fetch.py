"""Fetch one OPUS corpus, unless .cache/opus has it."""

from __future__ import annotations

from pathlib import Path

from orthoglot.fetching import lock as opus_lock
from orthoglot.fetching import opus
from orthoglot.formats.kinds.opus import OpusSettings
from orthoglot.jobs.job import Job

ARCHIVES = Path(".cache/opus")


def run(job: Job) -> None:
    """Do the job."""
    corpus = OpusSettings.model_validate(job.settings)
    job.run(
        lambda output: opus.fetch(
            corpus, job.api, output, checkpoint=job.checkpoint, lock=opus_lock.LOCK, cache=ARCHIVES
        )
    )
