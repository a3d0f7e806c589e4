"""How well translations are found with fewer dimensions and fewer bits (README.md).

    python measurements/fewer-dimensions/dimensions.py models/demo/decomposers/me5-small-4bit/plda/seed1 \
        --data ../shared/data --cache vectors

P@1 on Tatoeba, each language with English, both ways, among the sentences of the language; the mean over languages. Of
equally near sentences, as binary vectors have them, one is drawn: k of them count 1 / k. Gaps are paired; their
intervals are 1.96 standard errors over sentence pairs.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from pathlib import Path

import numpy as np

import orthoglot
from orthoglot.apply.smaller_vectors import compact
from orthoglot.apply.text_vectors import text_vectors
from orthoglot.decomposers.base import unit
from orthoglot.statistics.intervals import proportion
from orthoglot.statistics.resampling import Scores

# The demo's PLDA is fitted on the first six with English, and on none of the others.
FITTED = {"ara": "ar", "deu": "de", "spa": "es", "jpn": "ja", "rus": "ru", "cmn": "zh"}
OTHER = {"est": "et", "hin": "hi", "kat": "ka", "swh": "sw", "tur": "tr", "vie": "vi"}
DIMENSIONS = (384, 256, 192, 128, 64, 32)
FORMS: dict[str, dict] = {"float32": {}, "int8": {"dtype": "int8"}, "binary": {"binary": True}}


def read(data: Path, language: str) -> tuple[list[str], list[str]]:
    """Sentences of a language, and their translations into English."""
    with gzip.open(data / f"tatoeba/tatoeba.{language}-eng.tsv.gz", "rt", encoding="utf-8") as file:
        source, target = zip(*(line.rstrip("\n").split("\t") for line in file), strict=True)
    return list(source), list(target)


def hits(x: np.ndarray, y: np.ndarray, *, binary: bool = False) -> np.ndarray:
    """Chance that the nearest row is the same row, mean of both ways (n,)."""
    if binary:
        x, y = (2 * np.unpackbits(side, axis=1).astype(np.float32) - 1 for side in (x, y))
    else:
        x, y = (unit(side.astype(np.float32)) for side in (x, y))
    cosines = x @ y.T
    chances = []
    for one in (cosines, cosines.T):
        best = one.max(axis=1)
        right = np.diagonal(one) == best
        chances.append(right / (one == best[:, None]).sum(axis=1))
    return np.mean(chances, axis=0)


def cell(found: dict[str, np.ndarray], english: dict[str, list[str]]) -> str:
    """The mean over languages in percent, with its interval, which knows what has the same English sentence."""
    number = {
        text: key for key, text in enumerate(sorted({one for texts in english.values() for one in texts}))
    }
    strata = {
        name: Scores(values, np.array([number[text] for text in english[name]]))
        for name, values in found.items()
    }
    p = proportion(strata, confidence=0.95)
    return f"{100 * p.value:.1f} [{100 * p.low:.1f}, {100 * p.high:.1f}]"


def gap(found: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> str:
    """How much better it is than another, in points."""
    differences = [found[name] - other[name] for name in found]
    value = np.mean([one.mean() for one in differences])
    error = np.sqrt(sum(one.var(ddof=1) / len(one) for one in differences)) / len(differences)
    return f"{100 * value:+.1f} ± {196 * error:.1f}"


def main() -> None:
    """Read the command line, encode, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="folder for the encoder's vectors")
    given = parser.parse_args()
    model = orthoglot.load(given.model, "cpu")
    given.cache.mkdir(parents=True, exist_ok=True)
    texts = {language: read(given.data, language) for language in FITTED | OTHER}
    english = {language: both[1] for language, both in texts.items()}
    sides = {
        language: [
            text_vectors(model, side, given.cache / f"{language}.{name}.npy", part="sentence")
            for name, side in zip(("source", "target"), both, strict=True)
        ]
        for language, both in texts.items()
    }
    meaning = {
        language: [model.decomposer.transform(side, "").meaning for side in both]
        for language, both in sides.items()
    }
    results = {
        ("encoder's own, float32", dim): {
            language: hits(*(side[:, :dim] for side in both)) for language, both in sides.items()
        }
        for dim in (384, 128)
    }
    for form, how in FORMS.items():
        for dim in DIMENSIONS:
            results[form, dim] = {
                language: hits(*(compact(side, dim=dim, **how) for side in both), binary=form == "binary")
                for language, both in meaning.items()
            }
    count = sum(len(x) for x, _ in sides.values())
    lines = [
        f"{count} pairs of {len(sides)} languages",
        "",
        "| Stored as | Dimensions | Bytes | Fitted languages | Other languages | All, against float32 of 384 |",
        "|---|---|---|---|---|---|",
    ]
    full = results["float32", 384]
    for (form, dim), found in results.items():
        size = dim // 8 if form == "binary" else dim if form == "int8" else 4 * dim
        cells = [cell({name: found[name] for name in some}, english) for some in (FITTED, OTHER)]
        lines.append(f"| {form} | {dim} | {size:,} | {' | '.join(cells)} | {gap(found, full)} |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
