"""Generate a family of invented languages with every kind of gold label."""

from __future__ import annotations

from orthoglot.study import invented as mini
from orthoglot.study.corpora.kinds.mini import MiniSettings
from orthoglot.study.jobs.job import Job


def run(job: Job) -> None:
    """Do the job."""
    settings = MiniSettings.model_validate(job.settings)
    job.run(lambda output: mini.generate(settings, output))
