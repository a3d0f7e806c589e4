"""Fetch the files of a test set or corpus that have addresses, unless the cache has them."""

from __future__ import annotations

from orthoglot.study.fetching import files
from orthoglot.study.fetching import lock as locks
from orthoglot.study.jobs.job import Job


def run(job: Job) -> None:
    """Do the job."""
    addresses = job.settings["addresses"]
    job.run(
        lambda output: files.fetch(
            addresses, output, checkpoint=job.checkpoint, lock=locks.LOCK, cache=locks.CACHE
        )
    )
