"""Train a method's decomposers on stored vectors, one for each seed, or compute its closed form."""

from __future__ import annotations

from pathlib import Path

from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.folder import identity
from orthoglot.study.jobs.job import Job
from orthoglot.training.closed_form import compute_stored, stored
from orthoglot.training.settings import DecompositionSettings, MethodSettings


def run(job: Job) -> None:
    """Do the job."""
    name = job.settings["name"]
    method = MethodSettings.model_validate(job.settings["method"])
    recipe = job.settings["decomposition"]
    recipe = DecompositionSettings.model_validate(recipe) if recipe else None

    def work(output: Path) -> None:
        store = EmbeddingStore.open(
            job.folder("embeddings"), identity(job.folder("encoder"), job.file_digests("encoder"))
        )
        folders = {seed: output / f"seed{seed}" for seed in job.settings["seeds"]}
        for folder in folders.values():
            folder.mkdir()
        pairs = job.folders("bitext"), job.settings["train_pairs"]
        if recipe is None:
            closed = stored(store, *pairs)
            for seed, folder in folders.items():
                compute_stored(method, name, store, closed, seed=seed, output=folder, code=job.code())
            return
        # It takes longer to import than most closed forms to compute.
        from orthoglot.training import decompose as training

        data = training.collect(store, *pairs)
        endings = []
        for seed, folder in folders.items():
            ending = training.decompose(
                method,
                recipe,
                name,
                store,
                data,
                seed=seed,
                device=job.device,
                checkpoint=job.checkpoint / f"seed{seed}",
                output=folder,
                code=job.code(),
            )
            if ending is not None:
                endings.append(ending)
        if endings:
            training.log_endings(method, recipe, name, endings)

    job.run(work)
