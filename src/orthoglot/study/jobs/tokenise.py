"""Cut the text for training into ids, by a new tokenizer or by that of the encoder that training starts from."""

from __future__ import annotations

from orthoglot.study.jobs.job import Job
from orthoglot.study.pretraining.settings import TokensSettings
from orthoglot.study.pretraining.tokenise import tokenise


def run(job: Job) -> None:
    """Do the job."""
    settings = TokensSettings.model_validate(job.settings)
    job.run(
        lambda output: tokenise(
            settings,
            job.folders("bitext"),
            corpora=job.folders("corpora"),
            start=next(iter(job.folders("start")), None),
            checkpoint=job.checkpoint,
            output=output,
            processes=job.processes,
        )
    )
