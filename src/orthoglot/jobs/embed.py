"""Encode every distinct sentence once and store the vectors."""

from __future__ import annotations

from orthoglot.embeddings.embed import embed
from orthoglot.embeddings.settings import EmbeddingSettings
from orthoglot.jobs.job import Job


def run(job: Job) -> None:
    """Do the job; vectors of an earlier result are copied where the same code made them."""
    settings = EmbeddingSettings.model_validate(job.settings)
    job.run(
        lambda output: embed(
            job.folder("encoder"),
            job.folders("bitext"),
            job.folders("benchmarks"),
            settings,
            device=job.device,
            checkpoint=job.checkpoint,
            output=output,
            processes=job.processes,
            earlier=job.previous() if job.frozen else None,
            code=job.code() if job.frozen else "",
        )
    )
