"""How often what `orthoglot calibrate` prints holds (README.md#what-calibrate-promises).

    orthoglot get small --output ready
    python measurements/mining/coverage_of_calibrate.py --model ready --text TEXTS --checkpoint work \
        -o measurements/mining/coverage.csv

TEXTS has a file KIND.LANGUAGE.tsv for each kind of text and language, English first, in the order of its documents.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from orthoglot import load
from orthoglot.apply.calibrate import calibrate
from orthoglot.apply.calibration import Calibration
from orthoglot.apply.mine import mine
from orthoglot.apply.model import Model
from orthoglot.apply.text_vectors import text_vectors
from orthoglot.decomposers.base import unit
from orthoglot.decomposers.own_mean import centred
from orthoglot.errors import DataError
from orthoglot.statistics.intervals import wilson
from orthoglot.text.bitext import read_rows

# Known pairs, the first of a file; pairs of a text, the others; shares of the text's sentences with a translation.
KNOWN, MOST, SHARES, PRECISION = 300, 400, (0.05, 0.15, 0.4, 0.7), 0.95
Pairs = list[tuple[str, str]]


class Known:
    """An encoder that looks up the vectors of sentences that were encoded before."""

    name, languages = "known", ()

    def __init__(self) -> None:
        self.vectors: dict[str, np.ndarray] = {}
        self.dim = 0

    def encode(self, sentences: Sequence[str], *_: Any) -> np.ndarray:
        """As `Encoder.encode`."""
        return np.stack([self.vectors[sentence] for sentence in sentences])


def read(path: Path) -> Pairs:
    """The pairs of a file whose sentences are both new."""
    sides: tuple[set[str], set[str]] = set(), set()
    pairs = []
    for source, target in read_rows(path, 2):
        if source not in sides[0] and target not in sides[1]:
            pairs.append((source, target))
            sides[0].add(source)
            sides[1].add(target)
    return pairs


def text_of(pairs: Pairs, share: float, seed: Sequence[int]) -> tuple[list[int], list[int]]:
    """Rows of the first and of the second text: a share of each has its translation in the other."""
    gold = round(share * len(pairs) / (2 - share))
    order = np.random.default_rng(seed).permutation(len(pairs))
    both, first, second = np.split(order, [gold, gold + (len(pairs) - gold) // 2])
    return sorted([*both, *first]), sorted([*both, *second])


def learnt(model: Model, known: Pairs, among: Any) -> Calibration | None:
    """The calibration, or None if these texts are refused."""
    try:
        return calibrate(model, known, among=among, target_precision=PRECISION)
    except DataError:
        return None


def rows_of(model: Model, texts: dict[tuple[str, str], Pairs]) -> Iterator[dict[str, object]]:
    """A row for each language, kind of known pairs, kind of text and share."""
    assert model.decomposer is not None
    languages = sorted({language for _, language in texts})
    for number, language in enumerate(languages):
        kinds = [kind for kind, of in texts if of == language]
        for kind in kinds:
            mined = texts[kind, language][KNOWN : KNOWN + MOST]
            for share in SHARES:
                lists = text_of(mined, share, [number, kinds.index(kind), round(100 * share)])
                sides = [[mined[row][side] for row in rows] for side, rows in enumerate(lists)]
                vectors = [centred(unit(model.encode(side)), model.decomposer) for side in sides]
                pairs, _ = mine(vectors[0], vectors[1])
                right = np.array(lists[0])[pairs.sources] == np.array(lists[1])[pairs.targets]
                gold = len({*lists[0]} & {*lists[1]})
                for dev in kinds:
                    among = [*zip(sides, vectors, strict=True)]
                    calibration = learnt(model, texts[dev, language][:KNOWN], among)
                    row = {"language": language, "known": dev, "text": kind, "share": share}
                    yield row | (
                        told(calibration, pairs.margins, right, gold) if calibration else {"pairs": ""}
                    )


def told(calibration: Calibration, margins: np.ndarray, right: np.ndarray, gold: int) -> dict[str, object]:
    """What was printed, and what is true."""
    mined = margins >= calibration.threshold
    count, hits = int(mined.sum()), int(right[mined].sum())
    precision, recall = hits / max(count, 1), hits / gold
    assert calibration.expected_precision  # there are texts
    assert calibration.expected_recall
    printed = {"precision": calibration.expected_precision, "recall": calibration.expected_recall}
    return {
        "pairs": count,
        "promised": int(calibration.promised),
        **{
            f"{measure}{end}": f"{value:.4f}"
            for measure, values in printed.items()
            for end, value in zip(("", "_low", "_high"), values, strict=True)
        },
        "true_precision": f"{precision:.4f}",
        "true_recall": f"{recall:.4f}",
        "precision_holds": int(printed["precision"][1] <= precision <= printed["precision"][2]),
        "recall_holds": int(printed["recall"][1] <= recall <= printed["recall"][2]),
        "below": int(count > 0 and wilson(precision, count, 0.95)[1] < PRECISION),
    }


def table(path: Path) -> str:
    """The page's table: how often what was printed holds, in percent."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["pairs"]]
    lines = [
        "| Known pairs | Precision | runs | with intervals | precision holds | recall holds "
        "| significantly below 95 % | true precision | true recall |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for title, same in (("of the same kind", True), ("of another kind", False)):
        for precision, promised in (("promised", "1"), ("not promised", "0")):
            runs = [
                row for row in rows if (row["known"] == row["text"]) == same and row["promised"] == promised
            ]
            # From 0 to 1 nothing is printed.
            told_rows = [
                row for row in runs if (row["precision_low"], row["precision_high"]) != ("0.0000", "1.0000")
            ]
            holds = [_mean(told_rows, measure) for measure in ("precision_holds", "recall_holds")]
            means = [_mean(runs, measure) for measure in ("below", "true_precision", "true_recall")]
            lines.append(
                f"| {title} | {precision} | {len(runs)} | {len(told_rows)} | {' | '.join([*holds, *means])} |"
            )
    return "\n".join(lines)


def _mean(rows: Sequence[dict[str, str]], measure: str) -> str:
    return f"{100 * np.mean([float(row[measure]) for row in rows]):.1f}"


def main() -> None:
    """Measure every file of the folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    model = load(given.model, device="cpu")
    given.checkpoint.mkdir(parents=True, exist_ok=True)
    known, texts = Known(), {}
    for path in sorted(given.text.glob("*.tsv")):
        kind, language = path.stem.split(".")
        texts[kind, language] = pairs = read(path)
        for side, name in enumerate(("source", "target")):
            sentences = [pair[side] for pair in pairs]
            stored = text_vectors(
                model, sentences, given.checkpoint / f"{path.stem}.{name}.npy", part="sentence"
            )
            known.vectors |= dict(zip(sentences, stored, strict=True))
    looked_up = Model(known, model.decomposer)  # type: ignore[arg-type]
    rows = list(rows_of(looked_up, texts))
    with given.output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, max(rows, key=len), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
