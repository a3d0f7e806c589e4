"""What ORACLE alone, and ORACLE added to SEED, find by rate and length, on the encoders of the preset mini.

`snakemake --cores 2 stage_embeddings --config preset=mini` first. P@1 is that of the validation pairs; no test pair is
read. `python measurements/language-parts/oracle_alone.py measurements/language-parts/oracle-alone.csv` writes the
record.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from orthoglot.decomposers.base import unit
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.folder import identity
from orthoglot.study import config
from orthoglot.training.batching import PairRows
from orthoglot.training.decompose import collect, train

# Method, Adam's rate, epochs.
TRIALS = [
    ("oracle", 1e-5, 40),
    ("oracle", 1e-4, 40),
    ("oracle", 1e-3, 10),
    ("oracle", 1e-3, 40),
    ("oracle", 3e-3, 40),
    ("seed+oracle", 1e-3, 40),
]
SEED = 1


def p_at_1(vectors: np.ndarray, pairs: PairRows) -> float:
    """P@1 in percent among the pairs of two languages, the mean over languages and directions."""
    x = unit(vectors)
    languages = torch.stack([pairs.source_language, pairs.target_language])
    shares = []
    for both in languages.unique(dim=1).T:
        rows = (languages == both[:, None]).all(dim=0)
        cosines = x[pairs.source[rows].numpy()] @ x[pairs.target[rows].numpy()].T
        shares += [(cosines.argmax(axis=axis) == np.arange(len(cosines))).mean() for axis in (0, 1)]
    return 100 * float(np.mean(shares))


def main() -> None:
    """Write the table."""
    params = config.load(Path("params.yaml"), {"preset": "mini"})
    torch.set_num_threads(1)
    rows = []
    for encoder in params.selected.encoders:
        folder = Path("models/mini/encoders") / encoder
        store = EmbeddingStore.open(Path("embeddings/mini") / encoder, identity(folder))
        bitext = sorted(Path("data/mini/bitext").iterdir())
        data = collect(store, bitext, params.selected.embedding.train_pairs)
        vectors = data.vectors.numpy()
        rows.append((encoder, "original", None, None, p_at_1(vectors, data.valid)))
        for name, rate, epochs in TRIALS:
            recipe = params.selected.decomposition.model_copy(
                update={"learning_rate": rate, "max_epochs": epochs}
            )
            cpu = torch.device("cpu")
            maps, _ = train(params.methods[name], recipe, name, data, seed=SEED, device=cpu, checkpoint=None)
            meaning = vectors @ maps["meaning.weight"].T + maps["meaning.bias"]
            rows.append((encoder, name, rate, epochs, p_at_1(meaning, data.valid)))
    columns = ["encoder", "method", "learning_rate", "epochs", "p_at_1"]
    pd.DataFrame(rows, columns=columns).round({"p_at_1": 2}).to_csv(sys.argv[1], index=False)


if __name__ == "__main__":
    main()
