"""Fetch one OPUS corpus, unless the cache has it."""

from __future__ import annotations

from orthoglot.fetching import lock as locks
from orthoglot.fetching import opus
from orthoglot.formats.kinds.opus import OpusSettings
from orthoglot.jobs.job import Job


def run(job: Job) -> None:
    """Do the job."""
    corpus = OpusSettings.model_validate(job.settings)
    job.run(
        lambda output: opus.fetch(
            corpus, job.api, output, checkpoint=job.checkpoint, lock=locks.LOCK, cache=locks.CACHE
        )
    )
