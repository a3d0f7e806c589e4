"""How well `orthoglot score --words` finds the words that people changed (README.md).

    python measurements/scoring/word_labels.py --model original=weights/me5-small-4bit --model plda=my-model \
        -o measurements/scoring/words

The test part of MLQE-PE, which is fetched: a word is labelled BAD if a post-editor changed it, and a word of the source
if its translation was changed. `auc` is how often a BAD word has a larger distance than an OK one. MCC and F1 of BAD
are at the limit that is learnt from the translations themselves; `best` is the highest MCC of any limit, `f1_all` the
F1 if all words are called BAD. All models have one encoder.
"""

from __future__ import annotations

import argparse
import csv
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from orthoglot import load
from orthoglot.apply.model import Model
from orthoglot.apply.words import Limits, Match, compare, encoder_of, limits
from orthoglot.study.fetching.files import fetch

COMMIT = "2a670a1140416cf80507b5a829659383c878feb8"
ADDRESS = "https://raw.githubusercontent.com/sheffieldnlp/mlqe-pe/{}/data/post-editing/test/{}-test.tar.gz"
PAIRS = ("en-de", "en-zh", "et-en", "ne-en", "ro-en", "ru-en", "si-en")
SIDES, LABELS = ("src", "mt"), ("source_tags", "tags")
RESAMPLES = 1000
Words = list[list[str]]


def read(archive: Path) -> dict[str, Words]:
    """The words of each line of each file, by what the file's name ends in."""
    with tarfile.open(archive) as opened:
        return {
            name.rsplit(".", 1)[1]: [line.split() for line in lines.read().decode().splitlines()]
            for name in opened.getnames()
            if name.endswith((*SIDES, *LABELS)) and (lines := opened.extractfile(name))
        }


def distances(
    models: dict[str, Model], text: dict[str, Words], languages: tuple[str, str]
) -> Iterator[tuple[str, list[list[np.ndarray]], Limits]]:
    """By model: of each word of each side, the distance of its worst token; and the limits."""
    of_side: dict[str, list[list[np.ndarray]]] = {name: [[], []] for name in models}
    every: dict[str, list[Match]] = {name: [] for name in models}
    encoder = encoder_of(next(iter(models.values())))
    for start in range(0, len(text["src"]), 256):
        sentences = [[" ".join(words) for words in text[side][start : start + 256]] for side in SIDES]
        first, second = (
            encoder.pieces(some, code, 2048) for some, code in zip(sentences, languages, strict=True)
        )
        for name, model in models.items():
            _, pairs = compare(model, (first, second), languages)
            for row, one in enumerate(pairs):
                if not one.match.compared:
                    raise SystemExit(f"line {start + row}: too long for the encoder, or without a token")
                every[name].append(one.match)
                for side, (values, spans) in enumerate(zip(one.match, one.spans, strict=True)):
                    ends = np.cumsum([len(word) + 1 for word in text[SIDES[side]][start + row]])
                    # A token belongs to the word that its last letter is in.
                    word = np.searchsorted(ends, spans[:, 1] - 1, side="right")
                    worst = np.zeros(len(ends))
                    np.maximum.at(worst, word, values)
                    of_side[name][side].append(worst)
    for name in models:
        yield name, of_side[name], limits(every[name])


def mcc(bad: np.ndarray, said: np.ndarray) -> float:
    """Matthews' correlation."""
    return float(np.corrcoef(bad, said)[0, 1]) if 0 < said.sum() < len(said) else 0.0


def highest(gold: np.ndarray, every: np.ndarray) -> float:
    """The highest MCC that any limit of the distances gives."""
    order = np.argsort(-every, kind="stable")
    hits, said = gold[order].cumsum().astype(float), np.arange(1, len(gold) + 1, dtype=float)
    n, total = float(gold.sum()), float(len(gold))
    # Equal distances are on one side of a limit.
    ends = np.flatnonzero(np.diff(every[order], append=-np.inf))[:-1]
    hits, said = hits[ends], said[ends]
    return float(((hits * total - said * n) / np.sqrt(said * (total - said) * n * (total - n))).max())


def measured(values: list[np.ndarray], labels: Words, limit: float) -> dict[str, float]:
    """Of one side; the interval of MCC is over sentences."""
    bad = [np.array(words) == "BAD" for words in labels]
    every, gold = np.concatenate(values), np.concatenate(bad)
    ranks, n = rankdata(every), gold.sum()
    auc = (ranks[gold].sum() - n * (n + 1) / 2) / (n * (len(gold) - n))
    said = [one > limit for one in values]
    hits = np.concatenate(said)
    drawn = []
    for rows in np.random.default_rng(1).integers(len(bad), size=(RESAMPLES, len(bad))):
        drawn.append(
            mcc(np.concatenate([bad[row] for row in rows]), np.concatenate([said[row] for row in rows]))
        )
    low, high = np.percentile(drawn, [2.5, 97.5])
    return {
        "words": len(gold),
        "bad": float(gold.mean()),
        "auc": float(auc),
        "f1": 2 * float((gold & hits).sum()) / float(n + hits.sum()),
        "mcc": mcc(gold, hits),
        "low": float(low),
        "high": float(high),
        "best": highest(gold, every),
        "f1_all": 2 * float(gold.mean()) / (1 + float(gold.mean())),
    }


def rows(models: dict[str, Model], folder: Path) -> Iterator[dict[str, object]]:
    """A row for each model, pair of languages and side."""
    for pair in PAIRS:
        languages = (pair[:2], pair[3:])
        archive = folder / ADDRESS.format(COMMIT, pair).removeprefix("https://")
        text = read(archive)
        # Of the translation's labels, every second is of the gap before a word.
        text["tags"] = [labels[1::2] for labels in text["tags"]]
        for name, of_side, limit in distances(models, text, languages):
            for side, label in enumerate(LABELS):
                found = measured(of_side[side], text[label], limit[side])
                yield {
                    "pair": pair,
                    "side": SIDES[side],
                    "model": name,
                    **{k: round(v, 4) for k, v in found.items()},
                }


def main() -> None:
    """Read the command line, measure, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", action="append", required=True, metavar="NAME=FOLDER")
    parser.add_argument("--cache", type=Path, default=Path(".cache/word_labels"))
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    models = {
        name: load(folder, device="cpu", precision="bfloat16")
        for name, folder in (one.split("=") for one in given.model)
    }
    files = given.cache / "files"
    files.mkdir(parents=True, exist_ok=True)
    addresses = [ADDRESS.format(COMMIT, pair) for pair in PAIRS]
    if not all((files / one.removeprefix("https://")).is_file() for one in addresses):
        fetch(
            addresses, files, given.cache / "half", lock=given.cache / "lock", cache=given.cache / "fetched"
        )
    found = list(rows(models, files))
    with given.output.with_suffix(".labels.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, found[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    main()
