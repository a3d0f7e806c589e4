"""What the discriminant gains with 100 to 2,500 pairs of one language pair: docs/results/few-pairs.md.

    python benchmarks/few_pairs.py --encoder me5=weights/me5-small-4bit --encoder use=weights/use-multilingual-v3 \
        --data ../shared/data --more ../shared/data_more --cache vectors.sqlite -o docs/results/few-pairs.csv
    python benchmarks/few_pairs.py --table docs/results/few-pairs.csv

Fitted on health news (TICO-19), the New Testament or Wikipedia (NLLB-Seed), tested on FLORES-200 dev (Wikinews,
Wikijunior, Wikivoyage) or NTREX (news): half of the sentences are translations to be found, a quarter stands on each
side alone. The settings are chosen on the training pairs. `best` is the setting that is best on the test, on average
over draws, which nobody can know.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from remembered import Remembered

from orthoglot.decomposers.architectures.discriminant import ARCHITECTURE as DISCRIMINANT
from orthoglot.decomposers.base import unit
from orthoglot.decomposers.moments import Moments, PairMoments, compute
from orthoglot.tasks.margins import best_threshold, mine
from orthoglot.tasks.search import search

DRAWS, SIZES, RESAMPLES, LENGTH = 5, (100, 400, 1000, 2500), 1000, 400
UNDIVIDED = {"shrinkage": 1.0, "power": 0.0, "centre": "none"}
# Training text, test column, and the encoders that are fitted for the pair of languages.
SETS = {
    "en-ha": ("parallel/tico19.en-ha.tsv.gz", "hau_Latn", {"me5"}),
    "en-th": ("bible_nt/bible.{}.tsv.gz eng tha", "tha_Thai", {"me5", "use"}),
    "en-fi": ("bible_nt/bible.{}.tsv.gz eng fin", "fin_Latn", {"me5"}),
    "en-mi": ("nllb_seed/seed.{}.tsv.gz eng_Latn mri_Latn", "mri", {"me5"}),
    "en-ja": ("bible_nt/bible.{}.tsv.gz eng jpn", "jpn_Jpan", {"me5", "use"}),
    "en-pt": ("parallel/tico19.en-pt.tsv.gz", "por_Latn", {"use"}),
}
Pairs = list[tuple[str, str]]


def lines(path: Path) -> list[str]:
    """Lines of a packed file."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def training(where: str, data: Path, more: Path) -> Pairs:
    """Sentence pairs in a drawn order, each English sentence once."""
    name, *codes = where.split()
    if codes:
        pairs = [*zip(*(lines(more / name.format(code)) for code in codes), strict=True)]
    else:
        pairs = [tuple(line.split("\t")) for line in lines(data / name)]
    pairs = list(dict.fromkeys((a.strip(), b.strip()) for a, b in pairs if a.strip() and b.strip()))
    random.Random(7).shuffle(pairs)
    first: dict[str, str] = {}
    for a, b in pairs:
        if 3 <= len(a) <= LENGTH and 2 <= len(b) <= LENGTH:
            first.setdefault(a, b)
    return [*first.items()]


def test(column: str, data: Path) -> Pairs:
    """Translations of a test set, in a drawn order."""
    file, english = ("flores200.dev", "eng_Latn") if "_" in column else ("ntrex128", "eng")
    names, *rows = (line.split("\t") for line in lines(data / f"nway/{file}.tsv.gz"))
    places = names.index(english), names.index(column)
    pairs = [(row[places[0]], row[places[1]]) for row in rows]
    pairs = [pair for pair in pairs if all(side.strip() for side in pair)]
    random.Random(7).shuffle(pairs)
    return pairs[:900]


def measured(x: np.ndarray, y: np.ndarray, gold: int) -> dict[str, np.ndarray]:
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


def scores(of: dict[str, np.ndarray], rows: np.ndarray, gold: int) -> tuple[float, float]:
    """P@1 and F1 in percent over these source sentences."""
    f1 = 2 * of["correct"][rows].sum() / (of["mined"][rows].sum() + (rows < gold).sum())
    return 100 * float(of["hits"][rows[rows < gold]].mean()), 100 * float(f1)


def fits(x: np.ndarray, y: np.ndarray, tested: tuple[np.ndarray, np.ndarray], gold: int) -> Iterator[dict]:
    """For each number of pairs and each draw: what every setting finds, and the setting that is chosen."""
    dim, pair = x.shape[1], ("en", "xx")
    for size in SIZES:
        for draw in range(DRAWS):
            rows = np.random.default_rng([size, draw]).permutation(len(x))[:size]
            block = (x[rows], y[rows], pair)
            _, chosen = compute(DISCRIMINANT, [block], pair, dim, {})
            moments, pairs = Moments(dim, pair, products=True), PairMoments(dim, products=True)
            source, target = (unit(side.astype(np.float64)) for side in block[:2])
            moments.update(source, "en")
            moments.update(target, "xx")
            pairs.update(source, target, pair)
            candidates = DISCRIMINANT.candidates(moments, pairs, [(*tested, pair)], {})  # type: ignore[misc]
            of = {tuple(one.settings.values()): measured(*one.vectors[0], gold) for one in candidates}
            yield {"size": size, "draw": draw, "chosen": tuple(chosen[name] for name in UNDIVIDED), "of": of}


def summary(runs: list[dict], gold: int, total: int) -> Iterator[dict[str, Any]]:
    """A row for each number of pairs."""
    by_size: dict[int, list[dict]] = defaultdict(list)
    for run in runs:
        by_size[run["size"]].append(run)
    plain, everything = tuple(UNDIVIDED.values()), np.arange(total)
    samples = [everything, *np.random.default_rng(1).integers(total, size=(RESAMPLES, total))]
    for size, of_size in by_size.items():
        row: dict[str, Any] = {"pairs": size, "gold": gold, "draws": len(of_size)}
        # By draw of training pairs, and by draw of test sentences: P@1 and F1.
        gains = np.array(
            [
                [
                    np.subtract(
                        scores(run["of"][run["chosen"]], rows, gold), scores(run["of"][plain], rows, gold)
                    )
                    for rows in samples
                ]
                for run in of_size
            ]
        )
        whole = {
            setting: np.mean([scores(run["of"][setting], everything, gold) for run in of_size], axis=0)
            for setting in of_size[0]["of"]
        }
        for n, name in enumerate(("p_at_1", "f1")):
            low, high = np.percentile(gains[:, 1:, n].mean(axis=0), [2.5, 97.5])
            best = max(whole, key=lambda setting: whole[setting][n])
            row[f"undivided_{name}"] = whole[plain][n]
            row[f"gain_{name}"], row[f"gain_{name}_low"], row[f"gain_{name}_high"] = (
                gains[:, 0, n].mean(),
                low,
                high,
            )
            worst = int(gains[:, 0, n].argmin())
            row[f"worst_{name}"] = gains[worst, 0, n]
            row[f"worst_{name}_low"], row[f"worst_{name}_high"] = np.percentile(
                gains[worst, 1:, n], [2.5, 97.5]
            )
            row[f"best_{name}"] = whole[best][n] - whole[plain][n]
            row[f"best_setting_{name}"] = "/".join(map(str, best))
        row["chosen"] = " ".join(sorted("/".join(map(str, run["chosen"])) for run in of_size))
        yield row


def table(path: Path) -> str:
    """The page's table: multilingual-e5-small's rows."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    def number(row: dict[str, str], name: str) -> str:
        low, high = (f"{float(row[f'{name}_{end}']):+.1f}" for end in ("low", "high"))
        return f"{float(row[name]):+.1f} [{low}, {high}]"

    lines = [
        "| Languages | Pairs | P@1: undivided | gain | best setting | F1: undivided | gain | best setting |",
        "|---" * 8 + "|",
    ]
    for row in (row for row in rows if row["encoder"] == "me5"):
        cells = [row["set"], row["pairs"]]
        for name in ("p_at_1", "f1"):
            cells += [
                f"{float(row[f'undivided_{name}']):.1f}",
                number(row, f"gain_{name}"),
                f"{float(row[f'best_{name}']):+.1f}",
            ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line, measure or print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", action="append", default=[], metavar="NAME=FOLDER", help="me5 or use")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--more", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--table", type=Path, help="print the table of this file and measure nothing")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    if given.table:
        sys.stdout.write(table(given.table) + "\n")
        return
    with given.output.open("w", encoding="utf-8", newline="") as file:
        writer: csv.DictWriter | None = None
        for encoder, folder in (one.split("=", 1) for one in given.encoder):
            remembered = Remembered(Path(folder), given.cache)
            for name, (where, column, encoders) in SETS.items():
                if encoder not in encoders:
                    continue
                tested = test(column, given.data)
                english = {a for a, _ in tested}
                pairs = [pair for pair in training(where, given.data, given.more) if pair[0] not in english]
                vectors = [
                    remembered.encode(list(side), "") for side in zip(*pairs[: max(SIZES)], strict=True)
                ]
                gold = len(tested) // 2
                alone = (len(tested) - gold) // 2
                sides = [tested[: gold + alone], tested[:gold] + tested[gold + alone : gold + 2 * alone]]
                x, y = (
                    unit(remembered.encode([pair[n] for pair in side], "")) for n, side in enumerate(sides)
                )
                for row in summary([*fits(*vectors, (x, y), gold)], gold, len(x)):
                    row = {"encoder": encoder, "set": name, **row}
                    if writer is None:
                        writer = csv.DictWriter(file, row, lineterminator="\n")
                        writer.writeheader()
                    writer.writerow(
                        {
                            key: f"{value:.3f}" if isinstance(value, float) else value
                            for key, value in row.items()
                        }
                    )
                    file.flush()
                sys.stderr.write(f"{encoder} {name}: done\n")


if __name__ == "__main__":
    main()
