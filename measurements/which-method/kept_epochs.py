"""Which epoch a training keeps, and what it keeps, on a text and on the same text with a pair less.

    python measurements/which-method/kept_epochs.py --preset real --encoder me5-small-4bit --method meat+oracle \
        --pairs 1000 \\
        --epochs 140 --patience 65 --seed 1 --seed 2 --output kept.csv

reads the text and the vectors that the workflow has made of a preset. A row for each epoch: how many are allowed,
training pairs of each pair of languages, seed, epoch, the sum that decides on validation pairs, whether it was kept;
and of the one that was kept P@1 in percent of both parts among the validation pairs of two languages, mean over
languages and directions.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from orthoglot.decomposers.base import Decomposer, unit
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.folder import identity
from orthoglot.study import config
from orthoglot.training.decompose import Data, collect, fit_decomposer, translations
from orthoglot.training.settings import DecompositionSettings


def found(decomposer: Decomposer, data: Data) -> tuple[float, float]:
    """P@1 in percent of the meaning and of the language part of validation pairs."""
    shares = []
    for source, target, pair in translations(data, data.valid):
        sides = [decomposer.transform(side, code) for side, code in zip((source, target), pair, strict=True)]
        cosines = [
            unit(getattr(sides[0], part)) @ unit(getattr(sides[1], part)).T
            for part in ("meaning", "language")
        ]
        own = np.arange(len(source))
        shares.append(
            [
                np.mean([(one.argmax(axis=1) == own).mean(), (one.argmax(axis=0) == own).mean()])
                for one in cosines
            ]
        )
    meaning, language = 100 * np.mean(shares, axis=0)
    return float(meaning), float(language)


def table(records: Path) -> str:
    """A row for each training in Markdown: the epoch that was kept, and what it finds."""
    lines = [
        "| Seed | Pairs | At most | Kept: epoch | sum | meaning ↑ | language ↓ |\n",
        "| --- | --- | --- | --- | --- | --- | --- |\n",
    ]
    kept = pd.read_csv(records).query("kept").sort_values(["seed", "cap", "pairs"])
    lines += [
        f"| {row.seed} | {row.pairs:,} | {row.cap} epochs | {row.epoch} | {row.total:.3f} | {row.meaning:.1f} | "
        f"{row.language:.1f} |\n"
        for row in kept.itertuples()
    ]
    return "".join(lines)


def main() -> None:
    """Read the command line, train, write the rows, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("preset", "encoder", "method"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("pairs", "epochs", "patience"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--seed", type=int, action="append", required=True)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    params = config.load(Path("params.yaml"))
    encoder = Path("models", given.preset, "encoders", given.encoder)
    store = EmbeddingStore.open(Path("embeddings", given.preset, given.encoder), identity(encoder))
    recipe = DecompositionSettings(
        learning_rate=1e-3, batch_size=512, max_epochs=given.epochs, patience=given.patience
    )
    torch.set_num_threads(1)
    rows: list[dict[str, object]] = []
    for seed in given.seed:
        for pairs in (given.pairs, given.pairs - 1):
            data = collect(store, sorted(Path("data", given.preset, "bitext").iterdir()), pairs)
            decomposer, history = fit_decomposer(
                params.methods[given.method],
                recipe,
                given.method,
                data,
                seed=seed,
                device=torch.device("cpu"),
                checkpoint=None,
            )
            meaning, language = found(decomposer, data)
            kept = decomposer.details["best_epoch"]
            for epoch, line in enumerate(history):
                own = {"cap": given.epochs, "pairs": pairs, "text": data.text, "seed": seed, "epoch": epoch}
                own |= {"total": round(line["valid.total"], 4), "kept": epoch == kept}
                rows.append(own | ({"meaning": meaning, "language": language} if epoch == kept else {}))
            pd.DataFrame(rows).to_csv(given.output, index=False, float_format="%.4f")
    sys.stdout.write(table(given.output))


if __name__ == "__main__":
    main()
