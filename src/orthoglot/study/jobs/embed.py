"""Encode every distinct sentence once and store the vectors."""

from __future__ import annotations

from itertools import chain

from orthoglot.embeddings.embed import bitext_texts, embed
from orthoglot.embeddings.settings import EmbeddingSettings
from orthoglot.study.benchmarks.collected import benchmark_texts
from orthoglot.study.jobs.job import Job


def run(job: Job) -> None:
    """Do the job; vectors of an earlier result are copied where the same code made them."""
    settings = EmbeddingSettings.model_validate(job.settings)
    job.run(
        lambda output: embed(
            job.folder("encoder"),
            chain(
                bitext_texts(job.folders("bitext"), settings.train_pairs),
                benchmark_texts(job.folders("benchmarks")),
            ),
            settings,
            device=job.device,
            checkpoint=job.checkpoint,
            output=output,
            processes=job.processes,
            earlier=job.previous() if job.frozen else None,
            code=job.code() if job.frozen else "",
        )
    )
