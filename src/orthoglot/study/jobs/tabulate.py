"""Write a paper's tables with the numbers of the report's records, or of the variants of an encoder."""

from __future__ import annotations

from orthoglot.study.jobs.job import Job
from orthoglot.study.papers.matching import run_of_variants
from orthoglot.study.papers.published import load_paper
from orthoglot.study.papers.table import write_paper, write_results
from orthoglot.training.speed import read_speed


def run(job: Job) -> None:
    """Do the job."""
    settings = dict(job.settings)
    paper = load_paper(settings.pop("paper"))
    if paper.variants:
        folders = job.folders("evaluations"), job.folders("encoders")
        speeds = {
            folder: speed for folder, place in job.speeds("encoders").items() if (speed := read_speed(place))
        }
        job.run(
            lambda output: write_paper(run_of_variants(paper, *folders, speeds=speeds, **settings), output)
        )
    else:
        job.run(lambda output: write_results(paper.name, job.folder("results"), output))
