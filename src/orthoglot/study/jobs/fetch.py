"""Fetch one OPUS corpus, unless the cache has it."""

from __future__ import annotations

from orthoglot.study.corpora.kinds.opus import OpusSettings
from orthoglot.study.fetching import lock as locks
from orthoglot.study.fetching import opus
from orthoglot.study.jobs.job import Job


def run(job: Job) -> None:
    """Do the job."""
    corpus = OpusSettings.model_validate(job.settings)
    job.run(
        lambda output: opus.fetch(
            corpus, job.api, output, checkpoint=job.checkpoint, lock=locks.LOCK, cache=locks.CACHE
        )
    )
