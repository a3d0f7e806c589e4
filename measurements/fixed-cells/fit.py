"""How recall falls with the number of sentences at a constant number a cell, and what it would be for a billion.

    python measurements/fixed-cells/recall.py … > recall.md
    python measurements/fixed-cells/fit.py recall.md

For each kind of vectors, sentences a cell and cells looked up: logit(recall) = a + b log10(n) by least squares, over
the sizes at which at most a twentieth of the cells is looked up. The interval is that of a prediction, by
Student's t; with fewer than three sizes there is none.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.special import expit, logit
from scipy.stats import t

AT = 9.0  # log10 of a billion


def predicted(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """What a line through the points has at `AT`, and the ends of its 95 % interval."""
    design = np.stack([np.ones_like(x), x], axis=1)
    weights, *_ = np.linalg.lstsq(design, y)
    value, free = float(weights[0] + weights[1] * AT), len(x) - 2
    if free < 1:
        return value, np.nan, np.nan
    variance = ((y - design @ weights) ** 2).sum() / free
    there = np.array([1, AT])
    spread = t.ppf(0.975, free) * np.sqrt(variance * (1 + there @ np.linalg.inv(design.T @ design) @ there))
    return value, value - spread, value + spread


def main() -> None:
    """Print a row for each."""
    points: dict[tuple[str, int, int], list[tuple[float, float, float]]] = defaultdict(list)
    for line in Path(sys.argv[1]).read_text().splitlines():
        cells = [cell.strip().replace(",", "") for cell in line.strip("|").split("|")]
        if len(cells) > 5 and re.fullmatch(r"\d+", cells[1]):
            n, count, few = map(int, cells[1:4])
            if few > count / 20:
                continue
            shares = [float(cell.rstrip("%")) / 100 for cell in cells[4:6]]
            points[cells[0], round(n / count / 100) * 100, few].append(
                (np.log10(n), *logit(np.clip(shares, 0, 0.9999)))
            )
    sys.stdout.write(
        "| Vectors | Sentences a cell | Looked up | Sizes | Nearest, 10⁹ | Four nearest, 10⁹ |\n"
    )
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for (name, size, few), rows in points.items():
        if len(rows) < 2:
            continue
        x, *both = np.array(rows).T
        values = []
        for y in both:
            value, low, high = (f"{expit(end):.0%}" for end in predicted(x, y))
            values.append(f"{value} [{low}, {high}]".replace(" [nan%, nan%]", ""))
        sys.stdout.write(f"| {name} | {size:,} | {few} | {len(rows)} | {' | '.join(values)} |\n")


if __name__ == "__main__":
    main()
