"""Write a paper's tables with the numbers of the report's records, or of the variants of an encoder."""

from __future__ import annotations

from orthoglot.jobs.job import Job
from orthoglot.papers.published import load_paper
from orthoglot.papers.runs import run_of_variants
from orthoglot.papers.table import write_paper, write_results


def run(job: Job) -> None:
    """Do the job."""
    settings = dict(job.settings)
    paper = load_paper(settings.pop("paper"))
    if paper.variants:
        folders = job.folders("evaluations"), job.folders("encoders")
        job.run(lambda output: write_paper(run_of_variants(paper, *folders, **settings), output))
    else:
        job.run(lambda output: write_results(paper.name, job.folder("results"), output))
