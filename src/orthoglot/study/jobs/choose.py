"""Choose which pairs of a language pair stay, of those that `clean` has left in parts."""

from __future__ import annotations

from pathlib import Path

from orthoglot.corpora.pair_spool import PairSpool
from orthoglot.corpora.prepare import choose_pairs
from orthoglot.study.corpora.tally_file import load_tally, save_tally
from orthoglot.study.jobs.job import Job
from orthoglot.study.jobs.prepare import PrepareSettings


def run(job: Job) -> None:
    """Do the job."""
    settings = PrepareSettings.model_validate(job.settings)

    def work(output: Path) -> None:
        parts = job.folders("parts")
        spools = [PairSpool(part, settings.splits, keep=True) for part in parts]
        save_tally(choose_pairs(settings, spools, [*map(load_tally, parts)], output), output)

    job.run(work)
