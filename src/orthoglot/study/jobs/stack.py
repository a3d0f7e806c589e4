"""Train several methods on stored vectors as one stack, with every seed: a folder METHOD/seedN for each."""

from __future__ import annotations

from collections.abc import Mapping
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
    job.run(lambda output: train(job, vectors(job), methods, {name: output / name for name in methods}))


def vectors(job: Job) -> EmbeddingStore:
    """The vectors of the job's encoder."""
    encoder = identity(job.folder("encoder"), job.file_digests("encoder"))
    return EmbeddingStore.open(job.folder("embeddings"), encoder)


def train(
    job: Job, store: EmbeddingStore, methods: Mapping[str, MethodSettings], folders: Mapping[str, Path]
) -> None:
    """Train methods with every seed, each into a folder seedN within the method's."""
    # Imported here: PyTorch takes seconds, longer than most closed forms.
    from orthoglot.encoders.base import resolve_device
    from orthoglot.training.decompose import collect, log_endings, write
    from orthoglot.training.stack import Entry, fits

    recipe = DecompositionSettings.model_validate(job.settings["decomposition"])
    data = collect(store, job.folders("bitext"), job.settings["train_pairs"])
    seeds = job.settings["seeds"]
    entries = [Entry(method, recipe, name, seed) for name, method in methods.items() for seed in seeds]
    fitted = fits(entries, data, device=resolve_device(job.device), checkpoint=job.checkpoint)
    for name, method in methods.items():
        endings = []
        for seed in seeds:
            decomposer, history = next(fitted)
            folder = folders[name] / f"seed{seed}"
            folder.mkdir(parents=True)
            write(decomposer, history, store, folder, job.code())
            endings.append(decomposer.details)
        log_endings(method, recipe, name, endings)
