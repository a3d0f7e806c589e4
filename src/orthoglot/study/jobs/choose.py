"""Choose which pairs of a language pair stay, of those that `clean` has left in parts."""

from __future__ import annotations

from pathlib import Path

from orthoglot.corpora.pair_spool import PairSpool
from orthoglot.corpora.prepare import TALLY, Tally, choose_pairs
from orthoglot.study.jobs.job import Job
from orthoglot.study.jobs.prepare import PrepareSettings


def run(job: Job) -> None:
    """Do the job."""
    settings = PrepareSettings.model_validate(job.settings)

    def work(output: Path) -> None:
        parts = job.folders("parts")
        spools = [PairSpool(part, settings.splits, keep=True) for part in parts]
        tallies = [Tally.load(part / TALLY) for part in parts]
        choose_pairs(settings, spools, tallies, output).save(output / TALLY)

    job.run(work)
