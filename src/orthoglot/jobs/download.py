"""Fetch the files of a test set or corpus that have addresses, unless the cache has them."""

from __future__ import annotations

from orthoglot.fetching import files
from orthoglot.fetching import lock as locks
from orthoglot.jobs.job import Job


def run(job: Job) -> None:
    """Do the job."""
    addresses = job.settings["addresses"]
    job.run(
        lambda output: files.fetch(
            addresses, output, checkpoint=job.checkpoint, lock=locks.LOCK, cache=locks.CACHE
        )
    )
