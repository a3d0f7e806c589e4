"""Clean one language pair, remove benchmark sentences, split it; or put together what several jobs have made of it."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Annotated

from pydantic import Field

from orthoglot.atomic import link
from orthoglot.corpora import prepare
from orthoglot.corpora.pair_spool import WRITTEN
from orthoglot.study.benchmarks.collected import sentence_keys
from orthoglot.study.corpora.base import AnySource
from orthoglot.study.corpora.tally_file import load_tally
from orthoglot.study.jobs.job import Job


class PrepareSettings(prepare.PrepareSettings):
    """One language pair, of corpora of any kind."""

    sources: Annotated[list[AnySource], Field(min_length=1)]


def run(job: Job) -> None:
    """Do the job."""
    settings = PrepareSettings.model_validate(job.settings)
    benchmarks = job.folders("benchmarks")
    names = [folder.name for folder in benchmarks]
    if not job.folders("shards"):
        job.run(lambda output: prepare.prepare(settings, output, names, sentence_keys(benchmarks)))
        return

    def put_together(output: Path) -> None:
        written: Counter[str] = Counter()
        for folder in job.folders("shards"):
            written.update(json.loads((folder / WRITTEN).read_text(encoding="utf-8")))
            for file in folder.glob("*.zst"):
                link(file, output / file.name)
        tally = load_tally(job.folder("chosen"))
        prepare.write_counts(settings, tally, written, output)

    job.run(put_together)
    # The parts are as large as the text. The result is complete, so a part that cannot be removed is no error.
    shutil.rmtree(job.folder("chosen").parent, ignore_errors=True)
