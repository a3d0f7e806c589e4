"""Gather all records into tables, figures and one HTML report."""

from __future__ import annotations

import logging

from orthoglot.encoders.folder import card
from orthoglot.study.jobs.job import Job
from orthoglot.study.report.page import report
from orthoglot.study.report.sources import Sources
from orthoglot.study.tasks.settings import EvaluationSettings

logger = logging.getLogger(__name__)


def run(job: Job) -> None:
    """Do the job."""
    job.run(lambda output: report(_sources(job), output))
    logger.info("report: %s", (job.output / "report.html").resolve())


def _sources(job: Job) -> Sources:
    settings = job.settings
    return Sources(
        evaluations=job.folders("evaluations"),
        histories=[
            path
            for folder in [*job.folders("encoders"), *job.seeds("decomposers")]
            if (path := folder / "history.jsonl").exists()
        ],
        counts=[folder / "counts.json" for folder in job.folders("bitext")],
        title=settings["title"],
        settings=EvaluationSettings.model_validate(settings["evaluation"]),
        methods=dict(settings["methods"]),
        selected=settings["selected"],
        licences=settings["licences"],
        text=[folder / "counts.json" for folder in job.folders("text")],
        invented=settings["invented"],
        fine_tuned=job.folders("fine_tuned"),
        # A frozen encoder that is used beyond its languages has the languages of its checkpoint.
        known={
            folder.name: card(folder).get("languages") or settings["languages"].get(folder.name, [])
            for folder in job.folders("encoders")
        },
    )
