"""Read and clean a part of the pairs of a language pair, which `choose` and `pack` go on with."""

from __future__ import annotations

from pathlib import Path

from orthoglot.corpora.pair_spool import PairSpool
from orthoglot.corpora.prepare import add_pairs
from orthoglot.settings import Count
from orthoglot.study.benchmarks.collected import sentence_keys
from orthoglot.study.corpora.tally_file import save_tally
from orthoglot.study.jobs.job import Job
from orthoglot.study.jobs.prepare import PrepareSettings


class CleanSettings(PrepareSettings):
    """A part of a language pair."""

    number: Count
    parts: Count


def run(job: Job) -> None:
    """Do the job."""
    settings = CleanSettings.model_validate(job.settings)
    benchmarks = job.folders("benchmarks")
    names = [folder.name for folder in benchmarks]

    def work(output: Path) -> None:
        spool = PairSpool(output, settings.splits)
        turn = settings.number - 1, settings.parts
        tally = add_pairs(settings, spool, names, sentence_keys(benchmarks), *turn)
        spool.lines.save()
        spool.rows.save()
        save_tally(tally, output)

    job.run(work)
