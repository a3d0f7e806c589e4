"""Fetch the files of a test set that have addresses, unless .cache/files has them."""

from __future__ import annotations

from pathlib import Path

from orthoglot.fetching import files
from orthoglot.fetching import lock as locks
from orthoglot.jobs.job import Job

FILES = Path(".cache/files")


def run(job: Job) -> None:
    """Do the job."""
    addresses = job.settings["addresses"]
    job.run(
        lambda output: files.fetch(addresses, output, checkpoint=job.checkpoint, lock=locks.LOCK, cache=FILES)
    )
