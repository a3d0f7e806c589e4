"""Train a method's decomposers on stored vectors, one for each seed, or compute its closed form.

Those that a stack has trained are taken out of its folder.
"""

from __future__ import annotations

from pathlib import Path

from orthoglot.atomic import copy_folder
from orthoglot.study.jobs.job import Job
from orthoglot.study.jobs.stack import train, vectors
from orthoglot.training.closed_form_fit import compute_stored
from orthoglot.training.settings import MethodSettings
from orthoglot.training.stored_pairs import stored


def run(job: Job) -> None:
    """Do the job."""
    name = job.settings["name"]
    if job.folders("stack"):
        job.run(lambda output: copy_folder(job.folder("stack") / name, output))
        return
    method = MethodSettings.model_validate(job.settings["method"])

    def work(output: Path) -> None:
        store = vectors(job)
        if job.settings["decomposition"]:
            train(job, store, {name: method}, {name: output})
            return
        pairs = stored(store, job.folders("bitext"), job.settings["train_pairs"])
        for seed in job.settings["seeds"]:
            folder = output / f"seed{seed}"
            folder.mkdir()
            compute_stored(method, name, store, pairs, seed=seed, output=folder, code=job.code())

    job.run(work)
