"""How many pairs a closed form needs (README.md).

    orthoglot get small --output ready
    python measurements/pairs-needed/pairs_needed.py --model ready --text TEXTS --checkpoint work \
        -o measurements/pairs-needed/pairs-needed.csv

TEXTS has train.LANGUAGE.tsv and test.LANGUAGE.tsv, English first. All tests have the same English lines.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from orthoglot import catalogue, load
from orthoglot.apply.text_vectors import text_vectors
from orthoglot.decomposers import architecture
from orthoglot.decomposers.base import ClosedForm, Decomposer, unit
from orthoglot.decomposers.closed_forms import compute
from orthoglot.errors import DataError
from orthoglot.text.bitext import read_rows

SIZES, DRAWS, RESAMPLES = (50, 100, 200, 300, 384, 400, 500, 1000, 2000), 1, 1000
SHOWN = (50, 100, 200, 384, 500, 2000)  # on the page
METHODS = ("centering", "lir", "lsar", "leace", "whitening", "procrustes", "plda")
RIGID = "procrustes, without ridge"
Sides = tuple[np.ndarray, np.ndarray]


def fitted(method: str, sides: Sides, language: str) -> Decomposer:
    """A closed form of the pairs of English with one language."""
    settings = catalogue.method(method.partition(",")[0])
    form = architecture(settings.architecture)
    assert isinstance(form, ClosedForm)
    own: dict[str, Any] = {"ridge": 0.0} if method == RIGID else settings.own_settings
    languages, dim = sorted(["en", language]), sides[0].shape[1]
    weights, facts = compute(form, [(*sides, ("en", language))], languages, dim, own)
    return Decomposer(settings.architecture, method, "", "", languages, dim, weights, facts)


def found(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of each line, in how many of the two directions its translation is the nearest, over two (N,)."""
    cosines = unit(x) @ unit(y).T
    own = np.arange(len(x))
    return np.mean([cosines.argmax(axis=1) == own, cosines.argmax(axis=0) == own], axis=0)


def rows_of(train: dict[str, Sides], test: dict[str, Sides]) -> Iterator[dict[str, object]]:
    """A row for each method and number of pairs: the mean over languages and draws, and its gain."""
    plain = np.mean([found(*sides) for sides in test.values()], axis=0)
    draws = np.random.default_rng(1).integers(len(plain), size=(RESAMPLES, len(plain)))
    for size in SIZES:
        for method in (*METHODS, RIGID):
            scores, fewest = [], 1.0
            for language, sides in train.items():
                for draw in range(DRAWS):
                    rows = np.random.default_rng([size, draw]).permutation(len(sides[0]))[:size]
                    try:
                        split = fitted(method, (sides[0][rows], sides[1][rows]), language)
                    except DataError:
                        continue
                    x, y = test[language]
                    parts = split.transform(x, "en").meaning, split.transform(y, language).meaning
                    scores.append(found(*parts))
                    fewest = min(fewest, scores[-1].mean() - found(x, y).mean())
            gains = np.mean(scores, axis=0) - plain
            low, high = np.percentile(gains[draws].mean(axis=1), [2.5, 97.5])
            numbers = {"p_at_1": plain.mean() + gains.mean(), "gain": gains.mean(), "low": low, "high": high}
            yield {
                "method": method,
                "pairs": size,
                "fits": len(scores),
                **{name: f"{100 * number:.2f}" for name, number in numbers.items()},
                "least": f"{100 * fewest:.2f}",
            }


def table(path: Path) -> str:
    """The page's table: gains over the undivided vector."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = {(row["method"], int(row["pairs"])): row for row in csv.DictReader(file)}
    lines = [f"| Pairs | {' | '.join(map(str, SHOWN))} |", "|---" * (len(SHOWN) + 1) + "|"]
    for method in (*METHODS, RIGID):
        cells = []
        for size in SHOWN:
            gain, low, high = (float(rows[method, size][end]) for end in ("gain", "low", "high"))
            cells.append(f"{gain:+.1f} [{low:+.1f}, {high:+.1f}]")
        lines.append(f"| `{method}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure every language of the folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    model = load(given.model, device="cpu")
    given.checkpoint.mkdir(parents=True, exist_ok=True)
    parts: dict[str, dict[str, Sides]] = {"train": {}, "test": {}}
    for path in sorted(given.text.glob("*.tsv")):
        part, language = path.stem.split(".")
        columns = zip(*read_rows(path, 2), strict=True)
        source, target = (
            np.array(
                text_vectors(
                    model, list(column), given.checkpoint / f"{path.stem}.{side}.npy", part="sentence"
                )
            )
            for side, column in enumerate(columns)
        )
        parts[part][language] = source, target
    with given.output.open("w", encoding="utf-8", newline="") as file:
        for number, row in enumerate(rows_of(parts["train"], parts["test"])):
            writer = csv.DictWriter(file, row, lineterminator="\n")
            if not number:
                writer.writeheader()
            writer.writerow(row)
            file.flush()


if __name__ == "__main__":
    main()
