"""Records of an encoder's fine-tunings, over all benchmarks and seeds."""

from __future__ import annotations

from orthoglot.study.finetuning.gather import gather
from orthoglot.study.jobs.job import Job
from orthoglot.study.tasks.settings import EvaluationSettings


def run(job: Job) -> None:
    """Do the job."""
    settings = job.settings
    job.run(
        lambda output: gather(
            job.folders("fine_tuned"),
            EvaluationSettings.model_validate(settings["evaluation"]),
            settings["encoder"],
            settings["version"],
            output,
            settings["stands_for"],
        )
    )
