"""What 100 to 10,000 pairs of one's own language add to the ready model (README.md).

    orthoglot get small --output ready
    python measurements/few-pairs/few_pairs.py --model ready --cache vectors.sqlite \
        -o measurements/few-pairs/few-pairs.csv

News from English and French (MAFAND), fitted from the ready model (`start`) and from nothing (`alone`). Tested on
FLORES-200 devtest: half of the sentences are translations to be found, a quarter stands on each side alone.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from remembered import Remembered
from tables import write

from orthoglot.apply import ready
from orthoglot.decomposers.architectures.plda import ARCHITECTURE as PLDA
from orthoglot.decomposers.architectures.plda import Prior, apply, maps
from orthoglot.decomposers.base import Languages, unit
from orthoglot.decomposers.closed_forms import compute
from orthoglot.encoders.folder import ENCODER
from orthoglot.search.exact_or_cells import search
from orthoglot.search.margins import best_threshold, mine
from orthoglot.study.fetching import files
from orthoglot.study.fetching.lock import CACHE

DRAWS, SIZES, RESAMPLES = 3, (100, 300, 1000, 2000, 3000, 10_000), 1000
SHOWN = {"start": (100, 300, 1000, 2000, 10_000), "alone": (100, 1000, 10_000)}  # on the page
RAW = "https://raw.githubusercontent.com"
MAFAND = f"{RAW}/masakhane-io/lafand-mt/d441f8b063d63e95eafb72e84317359e27abf95e/data/text_files"
FLORES = f"{RAW}/facebookresearch/LASER/8fc4b9a267f983635708f4b8317eb358a0966c8a/flores"
# Folder and codes of the news, and the names of both languages in FLORES. Swahili is in the text of the ready model,
# and was looked at when the weight of a prior was chosen; the others were not.
SETS = {
    "fr-fon": ("fr-fon", "fr", "fon", "fra_Latn", "fon_Latn"),
    "fr-wo": ("fr-wol", "fr", "wol", "fra_Latn", "wol_Latn"),
    "en-luo": ("en_luo", "en", "luo", "eng_Latn", "luo_Latn"),
    "en-tn": ("en-tsn", "en", "tsn", "eng_Latn", "tsn_Latn"),
    "en-tw": ("en-twi", "en", "twi", "eng_Latn", "twi_Latn"),
    "en-sw": ("en-swa", "en", "swa", "eng_Latn", "swh_Latn"),
}
LANGUAGES = dict(zip(SETS, ("Fon", "Wolof", "Luo", "Tswana", "Twi", "Swahili"), strict=True))
Pairs = list[tuple[str, str]]
Found = dict[str, np.ndarray]


def pairs_of(*addresses: str) -> Pairs:
    """Distinct sentence pairs of two fetched files, in a drawn order."""
    with TemporaryDirectory() as folder:
        named = files.remote_files(addresses)
        files.obtain(named, Path(folder), lock=CACHE / "few-pairs.lock", cache=CACHE)
        sides = [(Path(folder) / name).read_text(encoding="utf-8").split("\n") for name in named]
    pairs = list(
        dict.fromkeys((a.strip(), b.strip()) for a, b in zip(*sides, strict=True) if a.strip() and b.strip())
    )
    random.Random(7).shuffle(pairs)
    return pairs


def measured(x: np.ndarray, y: np.ndarray, gold: int) -> Found:
    """By source sentence: whether it and its translation find each other, and what mining takes at the best F1."""
    x, y = unit(x), unit(y)
    cosines, own = x @ y.T, np.arange(gold)
    hits = np.mean([side[:gold].argmax(axis=1) == own for side in (cosines, cosines.T)], axis=0)
    found = mine(x, y, search(x, y, 4).nearest)
    right = (found.sources == found.targets) & (found.sources < gold)
    taken = found.margins >= best_threshold(found.margins, right, gold).value
    mined, correct = np.zeros(len(x)), np.zeros(len(x))
    mined[found.sources[taken]] = 1
    correct[found.sources[taken & right]] = 1
    return {"hits": hits, "mined": mined, "correct": correct}


def scores(of: Found, rows: np.ndarray, gold: int) -> tuple[float, float]:
    """P@1 and F1 in percent over these source sentences."""
    f1 = 2 * of["correct"][rows].sum() / (of["mined"][rows].sum() + (rows < gold).sum())
    return 100 * float(of["hits"][rows[rows < gold]].mean()), 100 * float(f1)


def rows_of(remembered: Remembered, prior: Prior, name: str) -> Iterator[dict[str, object]]:
    """A row for each number of pairs and method: both scores, and their differences from the ready model."""
    folder, language, code, *flores = SETS[name]
    tested = pairs_of(*(f"{FLORES}/flores200_dataset/devtest/{one}.devtest" for one in flores))
    known = {pair[0] for pair in tested}
    training = [
        pair
        for pair in pairs_of(*(f"{MAFAND}/{folder}/train.{one}" for one in (language, code)))
        if pair[0] not in known
    ]
    gold = len(tested) // 2
    alone = (len(tested) - gold) // 2
    sides = [tested[: gold + alone], tested[:gold] + tested[gold + alone : gold + 2 * alone]]
    x, y = (unit(remembered.encode([pair[n] for pair in side], "")) for n, side in enumerate(sides))
    a, b = (remembered.encode(list(side), "") for side in zip(*training[: max(SIZES)], strict=True))
    no_language = Languages([], None, [])

    def by(weights: dict[str, np.ndarray]) -> Found:
        source, target = (apply(weights, side, no_language)[0] for side in (x, y))
        return measured(source, target, gold)

    still = {"undivided": [measured(x, y, gold)], "ready": [by(maps(prior.scatter, **prior.settings))]}
    rng = np.random.default_rng(1)
    samples = [np.arange(len(x)), *rng.integers(len(x), size=(RESAMPLES, len(x)))]
    for size in (size for size in SIZES if size <= len(a)):
        runs: dict[str, list[Found]] = {**still, "start": [], "alone": []}
        for draw in range(DRAWS):
            rows = np.random.default_rng([size, draw]).permutation(len(a))[:size]
            block = (a[rows], b[rows], (language, code))
            for method, start in (("start", prior), ("alone", None)):
                weights, _ = compute(PLDA, [block], (language, code), a.shape[1], {}, start)
                runs[method].append(by(weights))
        # By method, sample and measure: the mean over draws.
        means = {
            method: np.array([np.mean([scores(one, rows, gold) for one in of], axis=0) for rows in samples])
            for method, of in runs.items()
        }
        for method, values in means.items():
            row: dict[str, object] = {"set": name, "pairs": size, "method": method, "gold": gold}
            for n, measure in enumerate(("p_at_1", "f1")):
                gains = values[:, n] - means["ready"][:, n]
                low, high = np.percentile(gains[1:], [2.5, 97.5])
                row |= {measure: f"{values[0, n]:.2f}", f"{measure}_gain": f"{gains[0]:.2f}"}
                row |= {f"{measure}_low": f"{low:.2f}", f"{measure}_high": f"{high:.2f}"}
            yield row


def table(path: Path) -> str:
    """The page's table: P@1, and the differences from the ready model with their intervals."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = {(row["set"], int(row["pairs"]), row["method"]): row for row in csv.DictReader(file)}
    lines = [f"| P@1 | {' | '.join(LANGUAGES[name] for name in SETS)} |", "|---" * (1 + len(SETS)) + "|"]
    for method, title in (("undivided", "encoder's own vector"), ("ready", "ready model")):
        values = [float(rows[name, SIZES[0], method]["p_at_1"]) for name in SETS]
        lines.append(f"| {title} | {' | '.join(f'{value:.1f}' for value in values)} |")
    for method, title in (("start", "from the ready model"), ("alone", "from nothing")):
        for size in SHOWN[method]:
            cells = []
            for name in SETS:
                row = rows.get((name, size, method))
                gain, low, high = (
                    float(row[f"p_at_1_{end}"]) if row else 0 for end in ("gain", "low", "high")
                )
                # The sign of what is rounded to 0 stays.
                cells.append(f"{gain:+.1f} [{low:+.1f}, {high:+.1f}]" if row else "–")
            lines.append(f"| {size:,} pairs, {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


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
    measures = [row for name in SETS for row in rows_of(remembered, prior, name)]
    write(given.output, measures)
    sys.stdout.write(table(given.output) + "\n")


if __name__ == "__main__":
    main()
