"""Train several methods on stored vectors as one stack, with every seed: a folder METHOD/seedN for each."""

from __future__ import annotations

from pathlib import Path

from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.folder import identity
from orthoglot.study.jobs.job import Job
from orthoglot.training.settings import DecompositionSettings, MethodSettings


def run(job: Job) -> None:
    """Do the job."""
    methods = {
        name: MethodSettings.model_validate(method) for name, method in job.settings["methods"].items()
    }
    recipe = DecompositionSettings.model_validate(job.settings["decomposition"])

    def work(output: Path) -> None:
        # Imported here: PyTorch takes seconds.
        from orthoglot.encoders.base import resolve_device
        from orthoglot.training import decompose as training
        from orthoglot.training.stack import Entry, fits

        store = EmbeddingStore.open(
            job.folder("embeddings"), identity(job.folder("encoder"), job.file_digests("encoder"))
        )
        data = training.collect(store, job.folders("bitext"), job.settings["train_pairs"])
        seeds = job.settings["seeds"]
        entries = [Entry(method, recipe, name, seed) for name, method in methods.items() for seed in seeds]
        fitted = fits(entries, data, device=resolve_device(job.device), checkpoint=job.checkpoint)
        for name, method in methods.items():
            endings = []
            for seed in seeds:
                folder = output / name / f"seed{seed}"
                folder.mkdir(parents=True)
                ending = training.write(*next(fitted), store, folder, job.code())
                assert ending is not None
                endings.append(ending)
            training.log_endings(method, recipe, name, endings)

    job.run(work)
