"""Score one method on one encoder over all tasks, parts and seeds."""

from __future__ import annotations

from orthoglot.encoders.folder import identity
from orthoglot.study.jobs.job import Job
from orthoglot.study.tasks import evaluate as evaluation
from orthoglot.study.tasks.settings import EvaluationSettings


def run(job: Job) -> None:
    """Do the job."""
    settings = EvaluationSettings.model_validate(job.settings["evaluation"])
    job.run(
        lambda output: evaluation.evaluate(
            settings,
            job.folder("embeddings"),
            job.folders("bitext"),
            job.folders("benchmarks"),
            job.seeds("decomposers"),
            encoder=job.settings["encoder"],
            stands_for=job.settings["stands_for"],
            identity=identity(job.folder("encoder"), job.file_digests("encoder")),
            method=job.settings["method"],
            output=output,
            # A GPU is used only where it is asked for: under auto the job reserves none.
            device=job.device if job.device.startswith("cuda") else "cpu",
        )
    )
