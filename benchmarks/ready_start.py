"""What 100 to 1,000 pairs of a new language add to the ready model: docs/ready-model.md#your-own-language.

    orthoglot get small --output ready
    python benchmarks/ready_start.py --model ready --cache vectors.sqlite -o docs/results/ready-start.csv

News from English and French (MAFAND) in three languages that neither the encoder nor the ready model has seen, fitted
from the ready model (`start`) and from nothing (`alone`). Tested on FLORES-200 devtest: half of the sentences are
translations to be found, a quarter stands on each side alone. Five draws of the pairs.
"""

from __future__ import annotations

import argparse
import csv
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from few_pairs import Pairs, measured, scores
from remembered import Remembered

from orthoglot.apply import ready
from orthoglot.decomposers.architectures.discriminant import ARCHITECTURE as DISCRIMINANT
from orthoglot.decomposers.architectures.discriminant import maps
from orthoglot.decomposers.base import unit
from orthoglot.decomposers.moments import compute
from orthoglot.encoders.folder import ENCODER
from orthoglot.fetching import files
from orthoglot.fetching.lock import CACHE, LOCK

DRAWS, SIZES, RESAMPLES = 3, (100, 400), 1000
MAFAND = "https://raw.githubusercontent.com/masakhane-io/lafand-mt/d441f8b063d63e95eafb72e84317359e27abf95e/data/text_files"
FLORES = (
    "https://raw.githubusercontent.com/facebookresearch/LASER/8fc4b9a267f983635708f4b8317eb358a0966c8a/flores"
)
# The language of the news, its code and that of the translation there, and the names of both in FLORES.
SETS = {
    "fr-bm": ("fr", "bam", "fra_Latn", "bam_Latn"),
    "fr-ee": ("fr", "ewe", "fra_Latn", "ewe_Latn"),
    "fr-mos": ("fr", "mos", "fra_Latn", "mos_Latn"),
}


def pairs_of(*addresses: str) -> Pairs:
    """Distinct sentence pairs of two fetched files, in a drawn order."""
    with TemporaryDirectory() as folder:
        named = files.remote_files(addresses)
        files.obtain(named, Path(folder), lock=LOCK, cache=CACHE)
        sides = [(Path(folder) / name).read_text(encoding="utf-8").split("\n") for name in named]
    pairs = list(
        dict.fromkeys((a.strip(), b.strip()) for a, b in zip(*sides, strict=True) if a.strip() and b.strip())
    )
    random.Random(7).shuffle(pairs)
    return pairs


def by(
    weights: dict[str, np.ndarray], sides: tuple[np.ndarray, np.ndarray], gold: int
) -> dict[str, np.ndarray]:
    """What the meaning of two sides finds."""
    x, y = ((side - weights["centre"]) @ weights["meaning"] for side in sides)
    return measured(x, y, gold)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    remembered = Remembered(given.model / ENCODER, given.cache)
    prior = ready.load().prior
    table = []
    for name, (language, code, *flores) in SETS.items():
        tested = pairs_of(*(f"{FLORES}/flores200_dataset/devtest/{one}.devtest" for one in flores))
        home = f"{MAFAND}/{language}-{code}"
        known = {a for a, _ in tested}
        training = [
            pair
            for pair in pairs_of(f"{home}/train.{language}", f"{home}/train.{code}")
            if pair[0] not in known
        ]
        gold = len(tested) // 2
        alone = (len(tested) - gold) // 2
        sides = [tested[: gold + alone], tested[:gold] + tested[gold + alone : gold + 2 * alone]]
        x, y = (unit(remembered.encode([pair[n] for pair in side], "")) for n, side in enumerate(sides))
        a, b = (remembered.encode(list(side), "") for side in zip(*training[:3000], strict=True))

        whole = by(maps(prior.scatter, **prior.settings), (x, y), gold)
        plain = measured(x, y, gold)
        rng = np.random.default_rng(1)
        samples = [np.arange(len(x)), *rng.integers(len(x), size=(RESAMPLES, len(x)))]
        for size in SIZES:
            runs: dict[str, list[dict[str, np.ndarray]]] = {
                "undivided": [plain],
                "ready": [whole],
                "start": [],
                "alone": [],
            }
            chosen = []
            for draw in range(DRAWS):
                rows = np.random.default_rng([size, draw]).permutation(len(a))[:size]
                block = (a[rows], b[rows], (language, code))
                for method, start in (("start", prior), ("alone", None)):
                    weights, settings = compute(
                        DISCRIMINANT, [block], (language, code), a.shape[1], {}, start
                    )
                    runs[method].append(by(weights, (x, y), gold))
                    if start:
                        chosen.append(settings.get("prior_share", 0.0))
            # By method, sample and measure: the mean over draws.
            found = {
                method: np.array(
                    [np.mean([scores(one, rows, gold) for one in of], axis=0) for rows in samples]
                )
                for method, of in runs.items()
            }
            for method, values in found.items():
                row: dict[str, object] = {"set": name, "pairs": size, "method": method, "gold": gold}
                for n, measure in enumerate(("p_at_1", "f1")):
                    gains = values[:, n] - found["ready"][:, n]
                    low, high = np.percentile(gains[1:], [2.5, 97.5])
                    row |= {measure: f"{values[0, n]:.2f}", f"{measure}_gain": f"{gains[0]:.2f}"}
                    row |= {f"{measure}_low": f"{low:.2f}", f"{measure}_high": f"{high:.2f}"}
                row["prior_shares"] = " ".join(map(str, sorted(chosen))) if method == "start" else ""
                table.append(row)
    with given.output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, table[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


if __name__ == "__main__":
    main()
