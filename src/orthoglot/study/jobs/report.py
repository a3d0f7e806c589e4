"""Gather all records into tables, figures and one HTML report."""

from __future__ import annotations

import logging

from orthoglot.encoders.folder import card
from orthoglot.study.jobs.job import Job
from orthoglot.study.report import page
from orthoglot.study.tasks.settings import EvaluationSettings

logger = logging.getLogger(__name__)


def run(job: Job) -> None:
    """Do the job."""
    settings = job.settings
    histories = [
        path
        for folder in [*job.folders("encoders"), *job.seeds("decomposers")]
        if (path := folder / "history.jsonl").exists()
    ]
    job.run(
        lambda output: page.report(
            job.folders("evaluations"),
            histories,
            [folder / "counts.json" for folder in job.folders("bitext")],
            settings["title"],
            EvaluationSettings.model_validate(settings["evaluation"]),
            methods=dict(settings["methods"]),
            selected=settings["selected"],
            text=[folder / "counts.json" for folder in job.folders("text")],
            invented=settings["invented"],
            fine_tuned=job.folders("fine_tuned"),
            licences=settings["licences"],
            # A frozen encoder that is used beyond its languages has those of its checkpoint.
            known={
                folder.name: card(folder).get("languages") or settings["languages"].get(folder.name, [])
                for folder in job.folders("encoders")
            },
            output=output,
        )
    )
    logger.info("report: %s", (job.output / "report.html").resolve())
