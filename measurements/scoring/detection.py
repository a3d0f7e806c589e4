"""Which faults of a translation its score finds (README.md#what-a-cosine-finds).

    orthoglot get small --output ready
    python measurements/scoring/detection.py --model ready --text TEXTS -o measurements/scoring/detection.csv

TEXTS has a file LANGUAGE.tsv for each language, English first, whose lines have the same English in all.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from orthoglot import load
from orthoglot.apply.model import Model
from orthoglot.decomposers.base import unit
from orthoglot.languages import has_spaces
from orthoglot.text.bitext import read_rows

MOST, ALARMS = 120, (0.01, 0.05, 0.1)
VERBS = re.compile(r"\b(is|are|was|were|will|can|could|should|would|has|have|had)\b(?! not)")
NAME = re.compile(r"\b[A-Z][A-Za-z]{2,}\b")
Pair = tuple[str, str]
Fault = Callable[[int, list[Pair], random.Random], Pair | None]


def pieces(text: str, language: str) -> tuple[list[str], str]:
    """Words, or characters where there are no blanks, and what joins them."""
    return (text.split(), " ") if has_spaces(language) else ([*text], "")


def faults(language: str, others: dict[str, list[Pair]]) -> dict[str, Fault]:
    """By name: row, all pairs and a generator -> the pair with the fault, or None where it cannot have it."""

    def omitted(share: float) -> Fault:
        def fault(row: int, pairs: list[Pair], _: random.Random) -> Pair | None:
            words, blank = pieces(pairs[row][1], language)
            return (
                (pairs[row][0], blank.join(words[: round(len(words) * (1 - share))]))
                if len(words) > 7
                else None
            )

        return fault

    def added(row: int, pairs: list[Pair], draw: random.Random) -> Pair:
        return pairs[row][0], f"{pairs[row][1]} {pairs[draw.randrange(len(pairs))][1]}"

    def shuffled(row: int, pairs: list[Pair], draw: random.Random) -> Pair | None:
        words = pairs[row][1].split()
        return (pairs[row][0], " ".join(draw.sample(words, len(words)))) if has_spaces(language) else None

    def number(row: int, pairs: list[Pair], draw: random.Random) -> Pair | None:
        other = re.sub(r"[0-9]", lambda found: draw.choice("123456789".replace(found[0], "")), pairs[row][1])
        return (pairs[row][0], other) if other != pairs[row][1] else None

    def name(row: int, pairs: list[Pair], draw: random.Random) -> Pair | None:
        shared = [one for one in NAME.findall(pairs[row][1]) if one in pairs[row][0]]
        names = [one for source, target in pairs for one in NAME.findall(target) if one in source]
        wrong = [one for one in names if one not in pairs[row][1]]
        return (
            (pairs[row][0], pairs[row][1].replace(shared[0], draw.choice(wrong)))
            if shared and wrong
            else None
        )

    def negated(row: int, pairs: list[Pair], _: random.Random) -> Pair | None:
        other = VERBS.sub(r"\1 not", pairs[row][0], count=1)
        return (other, pairs[row][1]) if other != pairs[row][0] else None

    def unrelated(row: int, pairs: list[Pair], draw: random.Random) -> Pair:
        return pairs[row][0], pairs[(row + draw.randrange(20, len(pairs) - 20)) % len(pairs)][1]

    def shifted(row: int, pairs: list[Pair], _: random.Random) -> Pair:
        return pairs[row][0], pairs[(row + 1) % len(pairs)][1]

    def foreign(row: int, pairs: list[Pair], draw: random.Random) -> Pair:
        return pairs[row][0], others[draw.choice(sorted({*others} - {language}))][row][1]

    def untranslated(row: int, pairs: list[Pair], _: random.Random) -> Pair:
        return pairs[row][0], pairs[row][0]

    return {
        "another sentence": unrelated,
        "the next sentence of the document": shifted,
        "half left out": omitted(0.5),
        "a fifth left out": omitted(0.2),
        "a sentence added": added,
        "words in another order": shuffled,
        "another name": name,
        "other numbers": number,
        "negated": negated,
        "in another language": foreign,
        "not translated": untranslated,
    }


def scores(model: Model, pairs: list[Pair]) -> np.ndarray:
    """Cosines of the meaning parts (N,)."""
    x, y = (unit(model.encode([pair[side] for pair in pairs])) for side in (0, 1))
    cosines: np.ndarray = np.einsum("nd,nd->n", x, y)
    return cosines


def rows_of(model: Model, texts: dict[str, list[Pair]]) -> Iterator[dict[str, object]]:
    """A row for each language and fault: the share that is found at some rates of false alarms."""
    for language, pairs in texts.items():
        good = scores(model, pairs)
        for name, fault in faults(language, texts).items():
            draw = random.Random(7)
            wrong = [pair for row in range(len(pairs)) if (pair := fault(row, pairs, draw))][:MOST]
            if len(wrong) < 50:
                continue
            found = scores(model, wrong)
            shares = {f"at_{100 * alarm:g}": (found < np.quantile(good, alarm)).mean() for alarm in ALARMS}
            yield {
                "language": language,
                "fault": name,
                "pairs": len(wrong),
                **{key: f"{100 * share:.1f}" for key, share in shares.items()},
            }


def table(path: Path) -> str:
    """The page's table: faults by the mean over languages, and the lowest and highest at 5 % of false alarms."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    lines = [
        "| Fault | languages | found at 1 % false alarms | at 5 % | lowest to highest language | at 10 % |",
        "|---|---|---|---|---|---|",
    ]
    for fault in dict.fromkeys(row["fault"] for row in rows):
        some = [
            [float(row[key]) for key in ("at_1", "at_5", "at_10")] for row in rows if row["fault"] == fault
        ]
        one, five, ten = np.mean(some, axis=0)
        fives = [row[1] for row in some]
        lines.append(
            f"| {fault} | {len(some)} | {one:.0f} | {five:.0f} | {min(fives):.0f} to {max(fives):.0f} | {ten:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure every language of the folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    model = load(given.model, device="cpu")
    texts = {
        path.stem: [(source, target) for source, target in read_rows(path, 2)]
        for path in sorted(given.text.glob("*.tsv"))
    }
    rows = list(rows_of(model, texts))
    with given.output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
