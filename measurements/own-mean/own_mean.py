"""What a text's own mean changes, on text that no choice was made on (README.md).

    orthoglot get small --output ready
    python measurements/own-mean/own_mean.py --model ready --text XCOPA MOZILLA --checkpoint work \
        -o measurements/own-mean/own-mean.csv

Each --text is a folder with a file LANGUAGE.txt for each language, whose lines n translate each other.
"""

from __future__ import annotations

import argparse
import csv
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from orthoglot import load
from orthoglot.apply.text_vectors import text_vectors
from orthoglot.decomposers.base import Decomposer, unit
from orthoglot.decomposers.own_mean import adapted
from orthoglot.search.exact_or_cells import search
from orthoglot.search.margins import best_threshold, mine
from orthoglot.text.bitext import read_lines

RESAMPLES, NEAREST = 1000, 10
Vectors = dict[str, np.ndarray]
Scores = dict[str, np.ndarray]  # by measure: of each line, the mean over its languages, (N,)


def pool(parts: Vectors) -> Scores:
    """R-precision of a pool of all sentences, and the share of a sentence's own language among its ten nearest."""
    languages = [*parts]
    x = np.concatenate([unit(parts[code]) for code in languages])
    k, n = len(languages), len(parts[languages[0]])
    lines, codes = np.tile(np.arange(n), k), np.repeat(np.arange(k), n)
    right, own = np.zeros(k * n), np.zeros(k * n)
    for start in range(0, k * n, 1000):
        rows = np.arange(start, min(start + 1000, k * n))
        cosines = x[rows] @ x.T
        cosines[np.arange(len(rows)), rows] = -2
        near = np.argsort(-cosines, axis=1)[:, : max(k - 1, NEAREST)]
        right[rows] = (lines[near[:, : k - 1]] == lines[rows][:, None]).mean(axis=1)
        own[rows] = (codes[near[:, :NEAREST]] == codes[rows][:, None]).mean(axis=1)
    return {"pool": right.reshape(k, n).mean(axis=0), "own language": own.reshape(k, n).mean(axis=0)}


def pairs(parts: Vectors) -> Scores:
    """P@1 between any two languages, and F1 of mining with half of the lines in both texts, a quarter in each alone."""
    found, mined = [], []
    for one, other in itertools.permutations(parts, 2):
        x, y = unit(parts[one]), unit(parts[other])
        found.append((x @ y.T).argmax(axis=1) == np.arange(len(x)))
    n = len(next(iter(parts.values())))
    order = np.random.default_rng(1).permutation(n)
    gold, alone = n // 2, n // 4
    first, second = order[: gold + alone], np.r_[order[:gold], order[gold + alone : gold + 2 * alone]]
    for one, other in itertools.combinations(parts, 2):
        x, y = unit(parts[one][first]), unit(parts[other][second])
        taken = mine(x, y, search(x, y, 4).nearest)
        right = (taken.sources == taken.targets) & (taken.sources < gold)
        mined.append(best_threshold(taken.margins, right, gold).f1)
    return {"P@1": np.mean(found, axis=0), "F1": np.array(mined)}


def views(decomposer: Decomposer, own: Vectors) -> Iterator[tuple[str, Vectors]]:
    """Meaning parts of the texts: with the training text's mean, and with own ones of several kinds."""

    def by(mean_of: Callable[[str], np.ndarray]) -> Vectors:
        return {code: adapted(decomposer, mean_of(code)).transform(x, "").meaning for code, x in own.items()}

    n = len(next(iter(own.values())))
    yield "training text", {code: decomposer.transform(x, "").meaning for code, x in own.items()}
    yield "own", by(lambda code: own[code])
    for size in (20, 50, 100):
        rows = np.random.default_rng(size).permutation(n)[:size]
        yield f"own, {size} sentences", by(lambda code, rows=rows: own[code][rows])
    thirds = np.array_split(np.arange(n), 3)
    turns = {code: thirds[place % 3] for place, code in enumerate(own)}
    yield "own, another third a language", by(lambda code: own[code][turns[code]])
    every = np.concatenate([*own.values()])
    yield "of all languages together", by(lambda _: every)


def rows_of(folder: Path, decomposer: Decomposer, own: Vectors) -> Iterator[dict[str, object]]:
    """A row for each view and measure, with the difference from the training text's mean and its interval."""
    plain: Scores = {}
    rng = np.random.default_rng(1)
    for view, parts in views(decomposer, own):
        scores = {**pool(parts), **pairs(parts)}
        plain = plain or scores
        for measure, values in scores.items():
            gains = values - plain[measure]
            draws = rng.integers(len(gains), size=(RESAMPLES, len(gains)))
            low, high = np.percentile(gains[draws].mean(axis=1), [2.5, 97.5])
            numbers = {"value": values.mean(), "gain": gains.mean(), "low": low, "high": high}
            yield {
                "set": folder.name,
                "languages": len(own),
                "lines": len(next(iter(own.values()))),
                "mean": view,
                "measure": measure,
                **{name: f"{100 * number:.2f}" for name, number in numbers.items()},
            }


def table(path: Path) -> str:
    """The page's table: values with the training text's mean, and differences from them."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows = [row for row in rows if row["mean"] != "own, 50 sentences"]
    means = list(dict.fromkeys(row["mean"] for row in rows))
    lines = [f"| Set | Measure | {' | '.join(means)} |", "|---" * (len(means) + 2) + "|"]
    for name, measure in dict.fromkeys((row["set"], row["measure"]) for row in rows):
        cells = []
        for row in (row for row in rows if (row["set"], row["measure"]) == (name, measure)):
            gain, low, high = (float(row[end]) for end in ("gain", "low", "high"))
            shown = f"{gain:+.2f} [{low:+.2f}, {high:+.2f}]"
            cells.append(f"{float(row['value']):.1f}" if row["mean"] == means[0] else shown)
        lines.append(f"| {name} | {measure} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure every folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, nargs="+", required=True)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    model = load(given.model, device="cpu")
    assert model.decomposer is not None
    rows: list[dict[str, object]] = []
    for folder in given.text:
        own = {}
        for path in sorted(folder.glob("*.txt")):
            (given.checkpoint / folder.name).mkdir(parents=True, exist_ok=True)
            stored = given.checkpoint / folder.name / f"{path.stem}.npy"
            own[path.stem] = np.array(text_vectors(model, list(read_lines(path)), stored, part="sentence"))
        rows += rows_of(folder, model.decomposer, own)
        with given.output.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
