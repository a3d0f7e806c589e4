"""What the language identifier and the language parts notice in `orthoglot filter` (README.md).

    python measurements/scoring/language_guard.py --encoder ENCODER_FOLDER --cache vectors.sqlite \
        -o measurements/scoring/guard

Identifier: all lines of NTREX as translations from English, in the language that is expected and in a related one; no
encoder is asked. Filter: the first 800 lines of NTREX, 4 % of them replaced by each kind of noise. PLDA is fitted on
the first 300 pairs of MAFAND (nl, ru: of the Salesforce help pages); 5 % of the first 400 lines of FLORES-200's dev
set are below the threshold.
Writes OUTPUT.identifier.csv and OUTPUT.filter.csv, and prints the page's tables.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from remembered import remembered
from scoring_quality import FALSE_DROP, KINDS, noisy
from tables import rows, share, table, write

# Of a language: its training text, and its column in FLORES-200.
LANGUAGES = {
    "nl": ("salesforce.en-nl", "nld_Latn"),
    "ru": ("salesforce.en-ru", "rus_Cyrl"),
    "zu": ("mafand.en-zu", "zul_Latn"),
    "yo": ("mafand.en-yo", "yor_Latn"),
    "tn": ("mafand.en-tn", "tsn_Latn"),
}
FIT, DEVELOPMENT, LINES = 300, 400, 800
Pairs = list[tuple[str, str]]
# What is expected, and what is offered in its place; columns of NTREX.
RELATED = (
    ("zu", "zul", "swa"), ("zu", "zul", "xho"), ("zu", "zul", "ssw"), ("xh", "xho", "zul"), ("sw", "swa", "kin"),
    ("nl", "nld", "afr"), ("nl", "nld", "deu"), ("cs", "ces", "slk"), ("sk", "slk", "ces"), ("nb", "nob", "dan"),
    ("nb", "nob", "nno"), ("ro", "ron", "ita"), ("es", "spa", "por"), ("pt", "por", "glg"), ("ru", "rus", "ukr"),
    ("ru", "rus", "bul"), ("et", "est", "fin"), ("ne", "nep", "hin"), ("id", "ind", "msa"), ("hr", "hrv", "bos"),
    ("sl", "slv", "hrv"), ("zh", "zho-CN", "yue"), ("yo", "yor", "ibo"), ("ha", "hau", "som"), ("rw", "kin", "nya"),
)  # fmt: skip
# Of a language: NTREX's columns of it, of a near and of a distant third language.
FILTERED = {
    "nl": ("nld", "afr", "deu"),
    "ru": ("rus", "ukr", "bul"),
    "zu": ("zul", "xho", "swa"),
    "yo": ("yor", "ibo", "hau"),
    "tn": ("tsn", "nso", "zul"),
}


def training(data: Path, language: str) -> Pairs:
    """The first pairs of the training text."""
    with gzip.open(data / f"parallel/{LANGUAGES[language][0]}.tsv.gz", "rt", encoding="utf-8") as file:
        return [(one, two) for one, two in (line.rstrip("\n").split("\t")[:2] for line in islice(file, FIT))]


def lines(data: Path, name: str, english: str, column: str, count: int) -> Pairs:
    """The first lines of a text in many languages."""
    found = ((row[english], row[column]) for row in rows(data / f"nway/{name}.tsv.gz"))
    return list(islice((pair for pair in found if all(pair)), count))


def flagged(data: Path) -> Iterator[dict[str, Any]]:
    """How many lines the identifier flags, of the expected language, of the other one, and of English."""
    from orthoglot.apply.score import identified
    from orthoglot.corpora.language_identifier import labels, probabilities

    text = list(rows(data / "nway/ntrex128.tsv.gz"))
    wanted = {column for _, *columns in RELATED for column in columns} | {"eng"}
    found = {
        column: [probabilities(line[column]) for line in text if line[column].strip()] for column in wanted
    }
    for language, own, other in RELATED:
        sides = labels("en"), labels(language)
        for kind, column in (("good", own), ("related", other), ("untranslated", "eng")):
            flags = Counter(identified(one, *sides) for one in found[column])
            yield {
                "language": language,
                "offered": column,
                "kind": kind,
                "n": flags.total(),
                "flagged": flags.total() - flags[""],
            }


def filtered(encoder: Any, data: Path, language: str) -> Iterator[dict[str, Any]]:
    """How many pairs of each kind are dropped by default, for which reason, and if guesses are dropped too."""
    from orthoglot import Decomposer
    from orthoglot.apply.model import Model
    from orthoglot.apply.score import GUESS, score

    pairs = training(data, language)
    x, y = (encoder.encode([pair[side] for pair in pairs], "") for side in (0, 1))
    fitted = Decomposer("plda", device="cpu").fit(x, y, "en", language).decomposer_
    model, pair = Model(encoder, fitted, "plda"), ("en", language)
    good = lines(data, "flores200.dev", "eng_Latn", LANGUAGES[language][1], DEVELOPMENT)
    threshold = float(np.quantile([one.similarity for one in score(model, good, pair)], FALSE_DROP))
    columns = FILTERED[language]
    text = [(row["eng"], *(row[column] for column in columns)) for row in rows(data / "nway/ntrex128.tsv.gz")]
    offered = noisy(list(islice((line for line in text if all(line)), LINES)), language, {})
    scored = list(score(model, [(source, target) for source, target, _ in offered], pair))
    for kind in ("", *KINDS[:-1]):
        some = [one for one, (_, _, of) in zip(scored, offered, strict=True) if of == kind]
        low = [one.score < threshold for one in some]
        sure = [bool(one.flag) and not one.flag.endswith(GUESS) for one in some]
        yield {
            "language": language,
            "kind": kind or "translation",
            "threshold": threshold,
            "n": len(some),
            "identified": sum(sure),
            "guessed": sum(one.flag.endswith(GUESS) for one in some),
            "dropped": sum(map(any, zip(low, sure, strict=True))),
            "low": sum(one.similarity < threshold for one in some),
            "with_guesses": sum(is_low or bool(one.flag) for is_low, one in zip(low, some, strict=True)),
        }


def shown_identifier(found: list[dict[str, Any]]) -> None:
    """A row for each two languages."""
    cells = [
        (
            row["language"],
            row["offered"],
            *(share(one["flagged"], one["n"]) for one in (good, row, untranslated)),
        )
        for good, row, untranslated in zip(found[::3], found[1::3], found[2::3], strict=True)
    ]
    table(
        ["Expected", "Offered", "Good lines flagged", "Offered lines flagged", "English flagged"],
        [[*row] for row in cells],
    )


def shown_filter(found: list[dict[str, Any]]) -> None:
    """A row for each kind, all languages together; then those of each language by default."""
    names = ("low", "identified", "guessed", "dropped", "with_guesses")
    kinds = list(dict.fromkeys(row["kind"] for row in found))
    by_kind = {kind: [row for row in found if row["kind"] == kind] for kind in kinds}
    heads = ["Kind", "n", "Low score", "Identified", "Guessed", "Dropped", "Dropped with --drop-guesses"]
    lines_of = []
    for kind, some in by_kind.items():
        n = sum(row["n"] for row in some)
        lines_of.append([kind, str(n), *(share(sum(row[name] for row in some), n) for name in names)])
    table(heads, lines_of)
    languages = list(dict.fromkeys(row["language"] for row in found))
    table(
        ["Dropped, %", *(f"en-{language}" for language in languages)],
        [[kind, *(share(row["dropped"], row["n"]) for row in some)] for kind, some in by_kind.items()],
    )


def main() -> None:
    """Read the command line, measure, write the records, print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", type=Path, required=True, help="folder with an encoder.json")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path("vectors.sqlite"))
    parser.add_argument("-o", "--output", type=Path, required=True, help="start of the CSV files' names")
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    found = list(flagged(given.data))
    write(given.output.with_name(given.output.name + ".identifier.csv"), found, 0)
    shown_identifier(found)
    encoder = remembered(given.encoder, given.cache)
    found = [row for language in FILTERED for row in filtered(encoder, given.data, language)]
    write(given.output.with_name(given.output.name + ".filter.csv"), found, 0)
    shown_filter(found)


if __name__ == "__main__":
    main()
