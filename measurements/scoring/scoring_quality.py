"""Quality estimation and filtering on real text (README.md).

    python measurements/scoring/scoring_quality.py --models models/real-evaluation/decomposers/me5-small-4bit \
        --data ../shared/data --more ../shared/data_more --cache vectors.sqlite -o measurements/scoring/scoring

Quality estimation: the tests of MLQE (WMT20) and of WMT21's task 1 against human z-scores. Filtering: NTREX from
English, 4 % of its lines replaced by each kind of noise; the threshold of a view and pair is that below which 5 % of
FLORES-200's translations lie. Writes OUTPUT.correlations.csv and OUTPUT.filter.csv, and prints the page's tables.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from remembered import remembered
from tables import cell, interval, rows, share, table, write

SEED, RESAMPLES = 1, 1000
FALSE_DROP = 0.05
RATE = 0.04
VIEWS = ("original", "centering", "seed+oracle", "meat+oracle-centred", "plda")
MLQE = ("en-de", "ro-en", "ru-en", "ne-en", "si-en")
WMT21 = ("en-de", "en-zh", "ro-en", "ru-en", "et-en", "ne-en", "si-en", "en-cs", "en-ja", "km-en", "ps-en")
# Of a target language: its column, that of a near third language, and that of a distant one.
NTREX = {
    "nl": ("nld", "deu", "fra"),
    "ro": ("ron", "ita", "rus"),
    "ru": ("rus", "ukr", "deu"),
    "zh": ("zho-CN", "jpn", "deu"),
    "et": ("est", "fin", "rus"),
    "ne": ("nep", "hin", "deu"),
}
FLORES = {
    "nl": ("nld_Latn", "afr_Latn", "tur_Latn"),
    "ro": ("ron_Latn", "spa_Latn", "tur_Latn"),
    "ru": ("rus_Cyrl", "bul_Cyrl", "tur_Latn"),
    "zh": ("zho_Hans", "yue_Hant", "tur_Latn"),
    "et": ("est_Latn", "fin_Latn", "tur_Latn"),
    "ne": ("npi_Deva", "hin_Deva", "tur_Latn"),
}
UNSPACED = ("zh",)
KINDS = (
    "misaligned",
    "untranslated",
    "copied",
    "wrong language, near",
    "wrong language, distant",
    "truncated",
    "shuffled words",
    "word by word",
)


def lines(data: Path, benchmark: str, language: str) -> list[tuple[str, str, str, str]]:
    """English, its translation, the same in a near and in a distant language."""
    names = {"ntrex": ("ntrex128",), "flores": ("flores200.dev", "flores200.devtest")}[benchmark]
    english = {"ntrex": "eng", "flores": "eng_Latn"}[benchmark]
    columns = {"ntrex": NTREX, "flores": FLORES}[benchmark][language]
    return [
        (row[english], *(row[column] for column in columns))
        for name in names
        for row in rows(data / f"nway/{name}.tsv.gz")
    ]


def dictionary(data: Path, language: str) -> dict[str, str]:
    """The first translation of each English word, MUSE's; empty where there is no such file."""
    path = data / f"lexicon/muse.en-{language}.tsv.gz"
    if not path.is_file():
        return {}
    found: dict[str, str] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            english, word = line.rstrip("\n").split("\t")
            found.setdefault(english.lower(), word)
    return found


def noisy(
    text: list[tuple[str, str, str, str]], language: str, words: dict[str, str]
) -> list[tuple[str, str, str]]:
    """(source, target, kind) of every line, the kind "" where the translation is as it was."""
    draw = random.Random(f"{SEED} {language}")
    kinds = [kind for kind in KINDS if words or kind != "word by word"]
    order = list(range(len(text)))
    draw.shuffle(order)
    count = round(RATE * len(text))
    given = {
        row: kind for place, kind in enumerate(kinds) for row in order[place * count : (place + 1) * count]
    }
    found = []
    for row, (english, target, near, distant) in enumerate(text):
        kind = given.get(row, "")
        match kind:
            case "misaligned":
                target = text[(row + 1) % len(text)][1]
            case "untranslated":
                tokens = english.split()
                del tokens[draw.randrange(len(tokens))]
                target = " ".join(tokens)
            case "copied":
                target = english
            case "wrong language, near":
                target = near
            case "wrong language, distant":
                target = distant
            case "truncated" | "shuffled words":
                tokens = list(target) if language in UNSPACED else target.split()
                if kind == "truncated":
                    tokens = tokens[: max(1, len(tokens) // 2)]
                else:
                    draw.shuffle(tokens)
                target = ("" if language in UNSPACED else " ").join(tokens)
            case "word by word":
                tokens = [words.get(token.strip(".,;:!?\"'()").lower(), token) for token in english.split()]
                target = ("" if language in UNSPACED else " ").join(tokens)
        found.append((english, target, kind))
    return found


def models(folder: Path, cache: Path, pair: tuple[str, str], development: list[tuple[str, str]]) -> Iterator:
    """The views of a pair; centering of languages without training pairs is fitted on development text."""
    from orthoglot import Decomposer
    from orthoglot.apply.model import Model, opened

    for view in VIEWS:
        fitted, home = opened(folder / ("centering" if view == "original" else view) / "seed1")
        encoder = remembered(home, cache)
        decomposer = None if view == "original" else fitted
        if view == "centering" and not set(pair) <= set(fitted.languages):
            if not development:
                continue
            x, y = (encoder.encode(list(side), "") for side in zip(*development, strict=True))
            decomposer = Decomposer("centering").fit(x, y, *pair).decomposer_
        yield view, Model(encoder, decomposer, f"{view} {pair}")


def correlations(folder: Path, cache: Path, data: Path, more: Path) -> Iterator[dict]:
    """Spearman and Pearson of scores with z-scores, for each benchmark, pair and view."""
    from scipy.stats import pearsonr, rankdata

    from orthoglot.apply.score import score

    for benchmark, pairs in (("MLQE", MLQE), ("WMT21", WMT21)):
        for name in pairs:
            place = data / "qe" if name != "ru-en" else more / "mlqe_pe"
            path = place / f"mlqe.{name}.test.tsv.gz"
            if benchmark == "WMT21":
                path = more / f"wmt21_qe/wmt21.{name}.test.tsv.gz"
            text = [row for row in rows(path) if row["src"].strip() and row["tgt"].strip()]
            gold = np.array([float(row["z_mean"]) for row in text])
            pair = tuple(name.split("-"))
            taken = np.random.default_rng(SEED).integers(len(text), size=(RESAMPLES, len(text)))
            originals: dict[str, np.ndarray] = {}
            for view, model in models(folder, cache, pair, []):
                scored = list(score(model, [(row["src"], row["tgt"]) for row in text], pair))
                plain = np.array([one.similarity for one in scored])
                guarded = np.array([one.score for one in scored])
                row = {"benchmark": benchmark, "pair": name, "n": len(text), "view": view}
                row["flagged"] = sum(bool(one.flag) for one in scored)
                for kind, values in (("", plain), ("guarded_", guarded)):
                    for what, change in (("pearson", lambda one: one), ("spearman", rankdata)):
                        drawn = np.array(
                            [pearsonr(change(values[some]), change(gold[some]))[0] for some in taken]
                        )
                        row[f"{kind}{what}"] = float(pearsonr(change(values), change(gold))[0])
                        row[f"{kind}{what}_low"], row[f"{kind}{what}_high"] = interval(drawn)
                        if not kind:
                            origin = originals.setdefault(what, np.append(drawn, row[what]))
                            gap = np.append(drawn, row[what]) - origin
                            row[f"{what}_gain"] = float(gap[-1])
                            row[f"{what}_gain_low"], row[f"{what}_gain_high"] = interval(gap[:-1])
                yield row


def filtered(folder: Path, cache: Path, data: Path, benchmark: str) -> Iterator[dict]:
    """How many pairs of each kind the filter drops without an identifier, by pair, view and reason."""
    from orthoglot.apply.score import GUESS, score

    for language in NTREX:
        pair = ("en", language)
        development = [(one[0], one[1]) for one in lines(data, "flores", language)]
        text = noisy(lines(data, benchmark, language), language, dictionary(data, language))
        for view, model in models(folder, cache, pair, development):
            clean = [one.similarity for one in score(model, development, pair)]
            threshold = float(np.quantile(clean, FALSE_DROP))
            counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
            # The language parts alone, whose guesses count.
            scored = score(model, [(source, target) for source, target, _ in text], pair, identify=False)
            for one, (_, _, kind) in zip(scored, text, strict=True):
                counts[kind]["n"] += 1
                reason = one.flag.rstrip(GUESS) or (
                    "low_score" if one.score is None or one.score < threshold else ""
                )
                if reason:
                    counts[kind]["dropped"] += 1
                    counts[kind][reason] += 1
            for kind, found in counts.items():
                yield {
                    "pair": "-".join(pair),
                    "view": view,
                    "threshold": threshold,
                    "kind": kind or "translation",
                    **found,
                }


def shown_correlations(found: list[dict]) -> None:
    """A row for each test and pair, a column for each view."""
    by_name: dict[tuple[str, str], dict[str, dict]] = defaultdict(dict)
    for row in found:
        by_name[row["benchmark"], row["pair"]][row["view"]] = row
    for what in ("spearman", "pearson"):
        table(
            [what.capitalize(), "Pair", *VIEWS],
            [
                [*name, *(cell(views[view], what) if view in views else "–" for view in VIEWS)]
                for name, views in by_name.items()
            ],
        )


def dropped(some: list[dict]) -> str:
    """Dropped pairs in percent with a Wilson interval."""
    count = sum(row["n"] for row in some)
    return share(sum(row.get("dropped", 0) for row in some), count, 0) if count else "–"


def shown_filter(found: list[dict]) -> None:
    """Recall of each kind: all pairs by view, then PLDA by pair."""
    kinds = ("translation", *KINDS)
    pairs = list(dict.fromkeys(row["pair"] for row in found))
    everywhere = [
        view for view in VIEWS if {row["pair"] for row in found if row["view"] == view} == set(pairs)
    ]
    for what, columns in (("view", everywhere), ("pair", pairs)):
        chosen = [row for row in found if what == "view" or row["view"] == "plda"]
        cells = {
            (name, kind): dropped([row for row in chosen if (row[what], row["kind"]) == (name, kind)])
            for name in columns
            for kind in kinds
        }
        table(["Dropped, %", *columns], [[kind, *(cells[name, kind] for name in columns)] for kind in kinds])


def main() -> None:
    """Read the command line, measure, write the records, print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path, required=True, help="folder with a folder for each method")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--more", type=Path, default=Path("../shared/data_more"))
    parser.add_argument("--cache", type=Path, default=Path("vectors.sqlite"))
    parser.add_argument("--only", choices=["correlations", "filter"])
    parser.add_argument(
        "--noise-in", choices=["ntrex", "flores"], default="ntrex", help="flores: the development text itself"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="start of the CSV files' names")
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    if given.only != "filter":
        found = list(correlations(given.models, given.cache, given.data, given.more))
        write(given.output.with_name(given.output.name + ".correlations.csv"), found, 0)
        shown_correlations(found)
    if given.only != "correlations":
        found = list(filtered(given.models, given.cache, given.data, given.noise_in))
        write(given.output.with_name(given.output.name + ".filter.csv"), found, 0)
        shown_filter(found)


if __name__ == "__main__":
    main()
