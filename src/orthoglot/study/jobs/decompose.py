"""Train a method's decomposers on stored vectors, one for each seed, or compute its closed form.

Those that a stack has trained are taken out of its folder.
"""

from __future__ import annotations

from pathlib import Path

from orthoglot.atomic import copy_folder
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.folder import identity
from orthoglot.study.jobs.job import Job
from orthoglot.training.closed_form_fit import compute_stored
from orthoglot.training.settings import DecompositionSettings, MethodSettings
from orthoglot.training.stored_pairs import stored


def run(job: Job) -> None:
    """Do the job."""
    name = job.settings["name"]
    if job.folders("stack"):
        job.run(lambda output: copy_folder(job.folder("stack") / name, output))
        return
    method = MethodSettings.model_validate(job.settings["method"])
    recipe = job.settings["decomposition"]
    recipe = DecompositionSettings.model_validate(recipe) if recipe else None
    seeds = job.settings["seeds"]

    def work(output: Path) -> None:
        store = EmbeddingStore.open(
            job.folder("embeddings"), identity(job.folder("encoder"), job.file_digests("encoder"))
        )
        folders = {seed: output / f"seed{seed}" for seed in seeds}
        for folder in folders.values():
            folder.mkdir()
        pairs = job.folders("bitext"), job.settings["train_pairs"]
        if recipe is None:
            closed = stored(store, *pairs)
            for seed, folder in folders.items():
                compute_stored(method, name, store, closed, seed=seed, output=folder, code=job.code())
            return
        # These take longer to import than most closed forms to compute.
        from orthoglot.encoders.base import resolve_device
        from orthoglot.training import decompose as training
        from orthoglot.training import stack

        data = training.collect(store, *pairs)
        entries = [stack.Entry(method, recipe, name, seed) for seed in seeds]
        fits = stack.fits(entries, data, device=resolve_device(job.device), checkpoint=job.checkpoint)
        endings = []
        for seed, (decomposer, history) in zip(seeds, fits, strict=True):
            ending = training.write(decomposer, history, store, folders[seed], job.code())
            if ending is not None:
                endings.append(ending)
        if endings:
            training.log_endings(method, recipe, name, endings)

    job.run(work)
