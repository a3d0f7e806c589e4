"""Write a part of the shards of a language pair, of the pairs that `choose` has chosen."""

from __future__ import annotations

import json
from pathlib import Path

from orthoglot.corpora.pair_spool import WRITTEN, PairSpool, write
from orthoglot.study.jobs.job import Job
from orthoglot.text.splitting import SplitSettings


def run(job: Job) -> None:
    """Do the job."""
    splits = SplitSettings.model_validate(job.settings["splits"])
    turn = job.settings["number"] - 1, job.settings["parts"]

    def work(output: Path) -> None:
        spools = [PairSpool(part, splits, keep=True) for part in job.folders("parts")]
        written = write(spools, job.folder("chosen"), splits, output, *turn)
        (output / WRITTEN).write_text(json.dumps(written), encoding="utf-8")

    job.run(work)
