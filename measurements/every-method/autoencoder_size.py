"""What an autoencoder of LangSAE takes: time, memory, and what its meaning part finds.

    python measurements/every-method/autoencoder_size.py --preset methods --encoder me5-small-4bit \\
        --expansion 32 --active 1024 --epochs 40 --output measurements/every-method/autoencoder-sizes.csv

trains on the vectors that the workflow has made of a preset, and adds a row to the output: latents a dimension and
active ones, epochs, seconds of the training, seconds for 10,000 sentences, the most memory of the whole process in GB,
the mean squared error of validation pairs after the last epoch over that of their mean, latents that were left out, and
P@1 in percent of the meaning part and of the undivided vector among the validation pairs of two languages.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from orthoglot.decomposers.base import unit
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.folder import identity
from orthoglot.study import config
from orthoglot.training.decompose import collect, fit_decomposer, translations
from orthoglot.training.settings import DecompositionSettings


def first(source: np.ndarray, target: np.ndarray) -> float:
    """P@1 in percent, the mean of both directions."""
    cosines, rows = unit(source) @ unit(target).T, np.arange(len(source))
    return 50 * float((cosines.argmax(axis=1) == rows).mean() + (cosines.argmax(axis=0) == rows).mean())


def main() -> None:
    """Read the command line, train, add the row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("preset", "encoder"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("expansion", "active", "epochs"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    torch.set_num_threads(1)
    params = config.load(Path("params.yaml"), {"preset": given.preset})
    encoder = Path("models", given.preset, "encoders", given.encoder)
    store = EmbeddingStore.open(Path("embeddings", given.preset, given.encoder), identity(encoder))
    bitext = sorted(Path("data", given.preset, "bitext").iterdir())
    data = collect(store, bitext, params.selected.splits.max_train)
    size = {"expansion": given.expansion, "active": given.active}
    recipe = DecompositionSettings(batch_size=128, max_epochs=given.epochs, patience=given.epochs)
    began = time.perf_counter()
    decomposer, history = fit_decomposer(
        params.methods["langsae-recipe"].model_copy(update=size | {"max_epochs": given.epochs}),
        recipe,
        "langsae-recipe",
        data,
        seed=1,
        device=torch.device("cpu"),
        checkpoint=None,
    )
    trained = time.perf_counter() - began
    meaning, undivided, vectors = [], [], []
    for source, target, pair in translations(data, data.valid):
        sides = [decomposer.transform(side, code) for side, code in zip((source, target), pair, strict=True)]
        meaning.append(first(sides[0].meaning, sides[1].meaning))
        undivided.append(first(source, target))
        vectors += [source, target]
    rows = np.concatenate(vectors)
    began = time.perf_counter()
    decomposer.transform(np.resize(rows, (10_000, rows.shape[1])), "en")
    applied = time.perf_counter() - began
    row = {
        **size,
        "epochs": len(history),
        "training_seconds": round(trained, 1),
        "seconds_for_10000": round(applied, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "error_share": round(history[-1]["valid.langsae.reconstruction"] / float(rows.var(axis=0).mean()), 4),
        "left_out": int((decomposer.weights["kept"] == 0).sum()),
        "meaning": round(float(np.mean(meaning)), 2),
        "undivided": round(float(np.mean(undivided)), 2),
    }
    pd.DataFrame([row]).to_csv(given.output, mode="a", header=not given.output.exists(), index=False)
    sys.stdout.write(f"{row}\n")


if __name__ == "__main__":
    main()
