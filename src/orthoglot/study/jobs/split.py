"""Cut a text that is mined into parts of distinct sentences."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from orthoglot.study.jobs.job import Job
from orthoglot.study.mining.parts import split


def run(job: Job) -> None:
    """Do the job."""

    def work(output: Path) -> None:
        with TemporaryDirectory(dir=output, prefix=".") as scratch:
            split(Path(job.settings["text"]), job.settings["parts"], output, Path(scratch))

    job.run(work)
