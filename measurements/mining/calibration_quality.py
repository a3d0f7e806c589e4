"""Whether thresholds of `orthoglot calibrate` keep their precision, and what they keep: README.md beside it.

    python measurements/mining/calibration_quality.py --encoder ENCODER_FOLDER --cache vectors.sqlite \
        -o measurements/mining/calibration.csv

English with eight languages, four of which the encoder's card does not state. PLDA is fitted on the first
300 pairs of MAFAND (nl, ru: of the Salesforce help pages), the threshold learnt on the first 400 lines of FLORES-200's
dev set among the texts to be mined. These are the first 800 lines of NTREX: 200 in both texts, 300 in each text alone,
of the first half of the lines in the one and of the second half in the other.

Rows "all": one calibration. "same": the lines of each text alone are of the same documents as the other's. "turns" and
"once": of random halves of the 400 lines, as it is and with each pair in one draw of lists alone. "overlap N": N of the
400 pairs are in the texts to be mined as well; "counted" hides that.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from remembered import remembered
from tables import rows, table

# Of a language: its training text, and its columns in FLORES-200 and NTREX.
LANGUAGES = {
    "nl": ("salesforce.en-nl", "nld_Latn", "nld"),
    "ru": ("salesforce.en-ru", "rus_Cyrl", "rus"),
    "sw": ("mafand.en-sw", "swh_Latn", "swa"),
    "ha": ("mafand.en-ha", "hau_Latn", "hau"),
    "zu": ("mafand.en-zu", "zul_Latn", "zul"),
    "ig": ("mafand.en-ig", "ibo_Latn", "ibo"),
    "yo": ("mafand.en-yo", "yor_Latn", "yor"),
    "tn": ("mafand.en-tn", "tsn_Latn", "tsn"),
}
UNKNOWN = ("zu", "ig", "yo", "tn")
FIT, DEVELOPMENT, LINES, GOLD = 300, 400, 800, 200
ASKED, SEED, HALVES = 0.95, 1, 4
OVERLAPS = (0, 10, 40, 100, 400)
Pairs = list[tuple[str, str]]


def training(data: Path, language: str) -> Pairs:
    """The first pairs of the training text."""
    with gzip.open(data / f"parallel/{LANGUAGES[language][0]}.tsv.gz", "rt", encoding="utf-8") as file:
        return [(one, two) for one, two in (line.rstrip("\n").split("\t")[:2] for line in islice(file, FIT))]


def lines(data: Path, name: str, english: str, column: str, count: int) -> Pairs:
    """The first lines of a text in many languages."""
    found = ((row[english], row[column]) for row in rows(data / f"nway/{name}.tsv.gz"))
    return list(islice((pair for pair in found if all(pair)), count))


def texts(pairs: Pairs, language: str, same: bool) -> tuple[list[str], list[str], set[tuple[str, str]]]:
    """Two texts of which 200 sentences translate each other, and these pairs."""
    draw = random.Random(f"{SEED} {language}")
    order = list({source: (source, target) for source, target in pairs}.values())
    numbers = set(draw.sample(range(len(order)), GOLD))
    gold = [order[number] for number in sorted(numbers)]
    rest = [pair for number, pair in enumerate(order) if number not in numbers]
    if same:
        draw.shuffle(rest)
    half = len(rest) // 2
    sides = [[pair[side] for pair in gold] for side in (0, 1)]
    sides[0] += [pair[0] for pair in rest[:half]]
    sides[1] += [pair[1] for pair in rest[half : 2 * half]]
    for side in sides:
        draw.shuffle(side)
    return sides[0], list(dict.fromkeys(sides[1])), set(gold)


class Mined:
    """The texts of a language mined by one model, and calibrations for them."""

    def __init__(self, model: Any, language: str, pairs: Pairs, same: bool = False) -> None:
        from orthoglot.apply.mine import mine

        self.model, self.part = model, "meaning" if model.decomposer else "sentence"
        self.sides = texts(pairs, language, same)
        self.vectors = [self.encode(side) for side in self.sides[:2]]
        self.found, _ = mine(*self.vectors)
        source, target, gold = self.sides
        both = zip(self.found.sources, self.found.targets, strict=True)
        self.right = np.array([(source[i], target[j]) in gold for i, j in both])

    def encode(self, sentences: list[str]) -> np.ndarray:
        """Vectors of length 1."""
        from orthoglot.decomposers.base import unit

        return unit(self.model.encode(sentences, part=self.part))

    def best(self) -> float:
        """The highest recall of a threshold that has the precision on these very pairs."""
        from orthoglot.search.margins import curve

        found = curve(self.found.margins, self.right, GOLD)
        kept = np.flatnonzero(found.precision >= ASKED)
        return float(found.recall[kept[-1]]) if len(kept) else 0.0

    def row(
        self, development: Pairs, overlap: Sequence[tuple[str, str]] = (), hidden: bool = False
    ) -> dict[str, Any]:
        """Calibrate among the texts, with pairs of the development text in them too, and see what is reached."""
        from orthoglot.apply.calibrate import calibrate
        from orthoglot.errors import DataError
        from orthoglot.statistics.intervals import wilson

        among = []
        for side in (0, 1):
            more = [pair[side] for pair in overlap]
            vectors = np.concatenate([self.vectors[side], self.encode(more)]) if more else self.vectors[side]
            names = [*self.sides[side], *([f"{number}" for number in range(len(more))] if hidden else more)]
            among.append((names, vectors))
        share = 2 * GOLD / sum(map(len, self.sides[:2]))
        row: dict[str, Any] = {"gold": GOLD, "asked": ASKED, "best_recall": self.best()}
        try:
            found = calibrate(
                self.model, development, part=self.part, share=share, among=among, target_precision=ASKED
            )
        except DataError:  # no threshold has the precision
            return {**row, "kept": 0, "precision": np.nan, "recall": 0.0}
        kept = self.found.margins >= found.threshold
        hits = int(self.right[kept].sum())
        row |= {"threshold": found.threshold, "kept": int(kept.sum())}
        for name, part, whole in (("precision", hits, int(kept.sum())), ("recall", hits, GOLD)):
            value = part / whole if whole else np.nan
            low, high = wilson(value, whole, 0.95) if whole else (np.nan, np.nan)
            row |= {name: value, f"{name}_low": low, f"{name}_high": high}
        for name, values in (("precision", found.held_out_precision), ("recall", found.held_out_recall)):
            row |= dict(zip((f"expected_{name}{end}" for end in ("", "_low", "_high")), values, strict=True))
        return row


def measured(encoder: Any, data: Path, language: str) -> Iterator[dict[str, Any]]:
    """All rows of a language."""
    from orthoglot import Decomposer
    from orthoglot.apply import calibrate as module
    from orthoglot.apply.model import Model

    pairs = training(data, language)
    x, y = (encoder.encode([pair[side] for pair in pairs], "") for side in (0, 1))
    # Half of so few pairs choose the settings: with the default of 5 %, every setting finds all of them.
    fitted = Decomposer("plda", device="cpu").fit(x, y, "en", language).decomposer_
    _, flores, ntrex = LANGUAGES[language]
    development = lines(data, "flores200.dev", "eng_Latn", flores, DEVELOPMENT)
    test = lines(data, "ntrex128", "eng", ntrex, LINES)
    about = {"language": language, "stated": language not in UNKNOWN}
    for view, decomposer in (("original", None), ("plda", fitted)):
        model = Model(encoder, decomposer, view)
        hard, mined = Mined(model, language, test, same=True), Mined(model, language, test)
        yield {**about, "view": view, "what": "all", **mined.row(development)}
        yield {**about, "view": view, "what": "same", **hard.row(development)}
    every = module._lists
    for number in range(HALVES):
        half = random.Random(f"{SEED} {number}").sample(range(len(development)), DEVELOPMENT // 2)
        some = [development[place] for place in sorted(half)]
        yield {**about, "view": view, "what": "turns", "draw": number, **mined.row(some)}
        module._lists = lambda n, gold: islice(every(n, gold), 1)  # type: ignore[assignment]
        yield {**about, "view": view, "what": "once", "draw": number, **mined.row(some)}
        module._lists = every
    for count in OVERLAPS if language == "zu" else ():
        overlap = random.Random(SEED).sample(development, count)
        for hidden in (True, False):
            what = f"overlap {count} {'counted' if hidden else 'left out'}"
            yield {**about, "view": view, "what": what, **mined.row(development, overlap, hidden)}


def cell(row: dict[str, Any], name: str) -> str:
    """Percent, with its interval if there is one."""
    if np.isnan(row[name]):
        return "–"
    value = f"{100 * row[name]:.1f}"
    if f"{name}_low" not in row:
        return value
    return f"{value} [{100 * row[f'{name}_low']:.1f}, {100 * row[f'{name}_high']:.1f}]"


def printed(found: list[dict[str, Any]]) -> None:
    """The page's tables."""
    shown = ("expected_precision", "precision", "expected_recall", "recall", "best_recall")
    heads = [
        "Pair",
        "View",
        "Precision: expected",
        "reached",
        "Recall: expected",
        "reached",
        "Best recall at 95 %",
    ]
    for what in ("all", "same"):
        table(
            heads,
            [
                [f"en-{row['language']}", row["view"], *(cell(row, name) for name in shown)]
                for row in found
                if row["what"] == what
            ],
        )
    lines_of = {}
    for row in found:
        if row["what"] in ("once", "turns"):
            lines_of.setdefault(row["language"], {}).setdefault(row["what"], []).append(row)
    table(
        ["Pair", "Lists", "Precision: mean", "least", "Recall: mean", "least", "No threshold"],
        [
            [f"en-{language}", what, *_ranges(some)]
            for language, kinds in lines_of.items()
            for what, some in kinds.items()
        ],
    )
    table(
        ["Pairs in both", "Precision", "Recall"],
        [
            [row["what"].removeprefix("overlap "), cell(row, "precision"), cell(row, "recall")]
            for row in found
            if row["what"].startswith("overlap")
        ],
    )


def _ranges(some: list[dict[str, Any]]) -> list[str]:
    values = [np.array([row[name] for row in some]) * 100 for name in ("precision", "recall")]
    cells = [f"{one:.1f}" for kind in values for one in (np.nanmean(kind), np.nanmin(kind))]
    return [*cells, f"{int(np.isnan(values[0]).sum())} of {len(some)}"]


def main() -> None:
    """Read the command line, measure, write the records, print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", type=Path, required=True, help="folder with an encoder.json")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path("vectors.sqlite"))
    parser.add_argument("--languages", nargs="+", default=[*LANGUAGES])
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    encoder = remembered(given.encoder, given.cache)
    found: list[dict[str, Any]] = []
    for language in given.languages:
        found += measured(encoder, given.data, language)
        sys.stderr.write(f"{language}: done\n")
    with given.output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(
            file, dict.fromkeys(name for row in found for name in row), lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(
            {name: f"{value:.5g}" if isinstance(value, float) else value for name, value in row.items()}
            for row in found
        )
    printed(found)


if __name__ == "__main__":
    main()
