"""Fine-tune one encoder on one benchmark with one seed, and score it."""

from __future__ import annotations

from orthoglot.study.finetuning.tune import TuningSettings, fine_tune
from orthoglot.study.jobs.job import Job


def run(job: Job) -> None:
    """Do the job; an interrupted training goes on where it last saved its state."""
    settings = TuningSettings.model_validate(job.settings)
    job.run(
        lambda output: fine_tune(
            settings,
            job.folder("encoder"),
            {folder.name: folder for folder in job.folders("benchmarks")},
            device=job.device,
            checkpoint=job.checkpoint,
            output=output,
        )
    )
