"""Precision and recall of mining on real text (README.md).

    python measurements/mining/mining_quality.py --models models/real-evaluation/decomposers/me5-small-4bit \
        --data ../shared/data --more ../shared/data_more --cache vectors.sqlite -o measurements/mining/mining.csv

Sets: half of NTREX's lines are on both sides, a quarter on each side alone, among Wikipedia sentences (on the foreign
side the sources of MLQE, which for Russian are partly from Reddit; on the English side NLLB-Seed); and BUCC 2018 zh-en.
Thresholds are learnt by `orthoglot.apply.calibrate` on FLORES-200 (for BUCC on NTREX as well), never on the set.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from remembered import remembered
from tables import cell, interval, rows, table, write

if TYPE_CHECKING:
    from orthoglot.apply.model import Model

SEED, RESAMPLES = 1, 2000
DISTRACTORS = 4000
ASKED = 0.95
VIEWS = ("original", "centering", "plda", "meat+oracle-centred")
MARGINS = ("ratio", "distance", "absolute")
# Thresholds: learnt among the set's sentences, learnt without them, and the best on the set itself.
KINDS = ("", "alone_", "best_")
# Columns of NTREX and FLORES-200 by language.
COLUMNS = {
    "en": ("eng", "eng_Latn"),
    "et": ("est", "est_Latn"),
    "ne": ("nep", "npi_Deva"),
    "ro": ("ron", "ron_Latn"),
    "ru": ("rus", "rus_Cyrl"),
    "si": ("sin", "sin_Sinh"),
    "zh": ("zho-CN", "zho_Hans"),
}
MIXED = ("ro", "ru", "et", "ne", "si")


class Set(NamedTuple):
    """Two texts to mine, the pairs that are right, translations for the threshold, and the share of them to expect."""

    pair: tuple[str, str]
    source: list[str]
    target: list[str]
    gold: set[tuple[str, str]]
    development: list[tuple[str, str]]
    share: float


def ntrex(data: Path, language: str) -> list[tuple[str, str]]:
    """NTREX's lines in a language and in English."""
    column = COLUMNS[language][0]
    return [(row[column], row["eng"]) for row in rows(data / "nway/ntrex128.tsv.gz")]


def flores(data: Path, language: str) -> list[tuple[str, str]]:
    """FLORES-200's lines, dev and what there is of devtest, in a language and in English."""
    column = COLUMNS[language][1]
    return [
        (row[column], row["eng_Latn"])
        for part in ("dev", "devtest")
        for row in rows(data / f"nway/flores200.{part}.tsv.gz")
    ]


def mixed(data: Path, more: Path, language: str) -> Set:
    """NTREX hidden among distractors."""
    draw = random.Random(f"{SEED} {language}")
    lines = [pair for pair in ntrex(data, language) if all(pair)]
    draw.shuffle(lines)
    half, quarter = len(lines) // 2, len(lines) // 4
    gold, alone = lines[:half], (lines[half : half + quarter], lines[half + quarter :])
    folder = more / "mlqe_pe" if language == "ru" else data / "qe"
    foreign = [
        row["src"] for part in ("train", "dev") for row in rows(folder / f"mlqe.{language}-en.{part}.tsv.gz")
    ]
    with gzip.open(more / "nllb_seed/seed.eng_Latn.tsv.gz", "rt", encoding="utf-8") as file:
        english = [line.strip() for line in file if line.strip()]
    sides = []
    for side, pool in enumerate((foreign, english)):
        found = [pair[side] for pair in (*gold, *alone[side])] + random.Random(SEED).sample(pool, DISTRACTORS)
        draw.shuffle(found)
        sides.append(list(dict.fromkeys(found)))
    return Set((language, "en"), *sides, set(gold), flores(data, language), 0.1)


def bucc(data: Path, more: Path) -> Set:
    """BUCC 2018 zh-en, the part that XTREME has as its dev set."""
    folder = more / "bucc2018"
    texts = [
        {row["id"]: row["text"] for row in rows(folder / f"zh-en.dev.{side}.tsv.gz")} for side in ("zh", "en")
    ]
    with gzip.open(folder / "zh-en.dev.gold.tsv.gz", "rt", encoding="utf-8") as file:
        ids = [line.rstrip("\n").split("\t") for line in file]
    gold = {(texts[0][zh], texts[1][en]) for zh, en in ids if zh in texts[0]}
    sides = [list(dict.fromkeys(one.values())) for one in texts]
    return Set(("zh", "en"), *sides, gold, flores(data, "zh") + ntrex(data, "zh"), 0.025)


def models(folder: Path, cache: Path, one: Set) -> Iterator[tuple[str, Model]]:
    """The views of a set's languages; centering of languages without training pairs is fitted on development text."""
    from orthoglot import Decomposer
    from orthoglot.apply.model import Model, opened

    language, other = one.pair
    for view in VIEWS:
        fitted, home = opened(folder / ("centering" if view == "original" else view) / "seed1")
        encoder = remembered(home, cache)
        decomposer = None if view == "original" else fitted
        if view == "centering" and language not in fitted.languages:
            x, y = (encoder.encode(list(side), "") for side in zip(*one.development, strict=True))
            decomposer = Decomposer("centering").fit(x, y, language, other).decomposer_
        yield view, Model(encoder, decomposer, f"{view} {language}")


def measured(name: str, one: Set, view: str, model: Model, margin: str, draws: np.ndarray) -> dict:
    """One row of the table, and the draws of F1 under "draws"."""
    from orthoglot.apply.calibrate import calibrate
    from orthoglot.apply.mine import mine
    from orthoglot.decomposers.base import unit
    from orthoglot.errors import DataError
    from orthoglot.search.margins import best_threshold

    part = "meaning" if model.decomposer else "sentence"
    x, y = (
        unit(model.encode(side, part=part, language=language, partner=partner))
        for side, language, partner in zip(
            (one.source, one.target), one.pair, reversed(one.pair), strict=True
        )
    )
    pairs, _ = mine(x, y, margin=margin)
    texts = [(one.source[i], one.target[j]) for i, j in zip(pairs.sources, pairs.targets, strict=True)]
    right = np.array([pair in one.gold for pair in texts])
    gold = np.zeros(len(one.source))
    place = {text: row for row, text in enumerate(one.source)}
    for source, _ in one.gold:
        gold[place[source]] += 1
    row = {"set": name, "view": view, "margin": margin, "gold": int(gold.sum()), "asked": ASKED}
    thresholds = {"best_": best_threshold(pairs.margins, right, int(gold.sum())).value}
    for kind, among in (("alone_", ()), ("", ((one.source, x), (one.target, y)))):
        try:
            found = calibrate(
                model,
                one.development,
                languages=one.pair,
                part=part,
                share=one.share,
                among=among,
                target_precision=ASKED,
                margin=margin,
            )
        except DataError:  # no threshold has the precision
            thresholds[kind] = np.inf
            continue
        thresholds[kind] = found.threshold
        row[f"{kind}expected"] = found.held_out_precision[0]
        row[f"{kind}expected_low"], row[f"{kind}expected_high"] = found.held_out_precision[1:]
    for kind, threshold in thresholds.items():
        row[f"{kind}threshold"] = threshold
        kept = pairs.margins >= threshold
        row[f"{kind}mined"] = int(kept.sum())
        shares = shares_of(pairs.sources[kept], right[kept], gold, draws)
        for what, values in shares.items():
            row[f"{kind}{what}"] = float(values[0])
            row[f"{kind}{what}_low"], row[f"{kind}{what}_high"] = interval(values[1:])
        row[f"{kind}draws"] = shares["f1"]
    return row


def shares_of(
    sources: np.ndarray, right: np.ndarray, gold: np.ndarray, draws: np.ndarray
) -> dict[str, np.ndarray]:
    """Precision, recall and F1 of mined pairs, (1 + R,) each: of all lines, and of each draw of them.

    Args:
        sources: line of each pair.
        right: whether each pair is one of the gold pairs.
        gold: how many gold pairs each of the N lines has.
        draws: how often each line is in each draw (R, N).
    """
    counts = np.zeros((len(gold), 3))
    np.add.at(counts[:, 0], sources, right)
    np.add.at(counts[:, 1], sources, 1)
    counts[:, 2] = gold
    true, mined, all_gold = np.vstack([counts.sum(axis=0), draws @ counts]).T
    with np.errstate(invalid="ignore"):
        return {"precision": true / mined, "recall": true / all_gold, "f1": 2 * true / (mined + all_gold)}


def against(rows: list[dict]) -> None:
    """Add F1 minus that of the undivided vector with the same margin, of the same draws; drop the draws."""
    originals = {row["margin"]: row for row in rows if row["view"] == "original"}
    for row in rows:
        for kind in KINDS:
            gap = row[f"{kind}draws"] - originals[row["margin"]][f"{kind}draws"]
            row[f"{kind}gain"] = float(gap[0])
            row[f"{kind}gain_low"], row[f"{kind}gain_high"] = interval(gap[1:])
    for row in rows:
        for kind in KINDS:
            del row[f"{kind}draws"]


def percent(row: dict, what: str) -> str:
    """A share in percent."""
    return "–" if np.isnan(row[what]) else f"{100 * row[what]:.1f}"


def printed(rows: list[dict]) -> None:
    """The page's tables."""
    names = list(dict.fromkeys(row["set"] for row in rows))
    heads = ["Set", "View", "Precision", "Recall", "F1", "F1 − undivided", "Best F1", "Best F1 − undivided"]
    lines = [
        [
            row["set"],
            row["view"],
            *(cell(row, what) for what in ("precision", "recall", "f1")),
            cell(row, "gain", "+") if row["view"] != "original" else "–",
            cell(row, "best_f1"),
            cell(row, "best_gain", "+") if row["view"] != "original" else "–",
        ]
        for row in rows
        if row["margin"] == "ratio"
    ]
    table(heads, lines)
    for shown in (("best_f1",), ("precision", "recall"), ("alone_precision", "alone_recall")):
        sys.stdout.write(f"{', '.join(shown)}:\n\n")
        lines = []
        for view in VIEWS:
            for margin in MARGINS:
                some = {row["set"]: row for row in rows if (row["view"], row["margin"]) == (view, margin)}
                cells = []
                for name in names:
                    row = some.get(name)
                    cells.append("–" if row is None else " / ".join(percent(row, what) for what in shown))
                lines.append([view, margin, *cells])
        table(["View", "Margin", *names], lines)


def main() -> None:
    """Read the command line, measure, write the records, print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path, required=True, help="folder with a folder for each method")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--more", type=Path, default=Path("../shared/data_more"))
    parser.add_argument("--cache", type=Path, default=Path("vectors.sqlite"))
    parser.add_argument("--sets", nargs="+", default=[*MIXED, "bucc"])
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    found: list[dict] = []
    for name in given.sets:
        one = bucc(given.data, given.more) if name == "bucc" else mixed(given.data, given.more, name)
        label = "BUCC zh-en" if name == "bucc" else f"{name}-en"
        draws = (
            np.random.default_rng(SEED)
            .multinomial(len(one.source), np.full(len(one.source), 1 / len(one.source)), RESAMPLES)
            .astype(np.float32)
        )
        rows = [
            measured(label, one, view, model, margin, draws)
            for view, model in models(given.models, given.cache, one)
            for margin in MARGINS
        ]
        against(rows)
        found += rows
        sys.stderr.write(
            f"{label}: {len(one.source)} x {len(one.target)} sentences, {len(one.gold)} gold pairs\n"
        )
    write(given.output, found)
    printed(found)


if __name__ == "__main__":
    main()
