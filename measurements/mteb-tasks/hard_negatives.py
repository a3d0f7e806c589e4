"""Hard negatives of English sentences, in the layout of LASER's files for xsim++.

python measurements/mteb-tasks/hard_negatives.py sentences.txt negatives.json

xsim++ (Chen et al. 2023) changes negation or cause, an entity or a number of a sentence. Its authors use NLTK, spaCy
and WordNet. The rules here are ours: regular expressions and a short list of opposites, each with up to two negatives.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

EACH = 2  # negatives of a sentence by each rule, at most
NUMBER = re.compile(r"\d+")
AUXILIARY = re.compile(
    r"\b(is|are|was|were|has|have|had|can|could|will|would|should|may|must|did|does|do)\b( not\b)?"
)
ENTITY = re.compile(r"(?<=[a-z,] )[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*")
OPPOSITES = [
    "after before", "always never", "beginning end", "best worst", "bigger smaller", "cold hot", "death birth",
    "early late", "easy difficult", "first last", "good bad", "high low", "higher lower", "increase decrease",
    "increased decreased", "large small", "larger smaller", "long short", "more less", "most least", "near far",
    "new old", "north south", "northern southern", "east west", "eastern western", "open closed", "positive negative",
    "rich poor", "same different", "strong weak", "up down", "with without", "won lost", "young elderly",
]  # fmt: skip
OPPOSITE = {a: b for pair in OPPOSITES for a, b in (pair.split(), pair.split()[::-1])}
WORD = re.compile(rf"\b({'|'.join(OPPOSITE)})\b")


def negated(sentence: str, *_: object) -> Iterator[str]:
    """With a negation put in or taken out, or a word for its opposite."""
    for match in AUXILIARY.finditer(sentence):
        verb, negation = match.groups()
        yield sentence[: match.start()] + (verb if negation else f"{verb} not") + sentence[match.end() :]
    for match in WORD.finditer(sentence):
        yield sentence[: match.start()] + OPPOSITE[match[0]] + sentence[match.end() :]


def renumbered(sentence: str, draws: random.Random, _: object) -> Iterator[str]:
    """With another number of as many digits."""
    for match in NUMBER.finditer(sentence):
        least = 10 ** (len(match[0]) - 1) if len(match[0]) > 1 else 0
        number = match[0]
        while number == match[0]:
            number = str(draws.randrange(least, 10 ** len(match[0])))
        yield sentence[: match.start()] + number + sentence[match.end() :]


def renamed(sentence: str, draws: random.Random, names: Sequence[str]) -> Iterator[str]:
    """With the name of another sentence."""
    for match in ENTITY.finditer(sentence):
        others = [name for name in names if name not in sentence]
        yield sentence[: match.start()] + draws.choice(others) + sentence[match.end() :]


RULES = {"negation": negated, "number": renumbered, "entity": renamed}


def negatives(sentences: Sequence[str], seed: int = 1) -> dict[str, dict[str, str]]:
    """{negative: {"src": its sentence, "errtype": the rule}}, none of them a sentence of the text."""
    draws = random.Random(seed)
    names = sorted({name for sentence in sentences for name in ENTITY.findall(sentence)})
    known, changes = set(sentences), {}
    for sentence in sentences:
        for rule, change in RULES.items():
            changed = list(dict.fromkeys(change(sentence, draws, names)))
            for negative in draws.sample(changed, min(EACH, len(changed))):
                if negative not in known:
                    changes.setdefault(negative, {"src": sentence, "errtype": rule})
    return changes


def main() -> None:
    """Write the negatives of a file with a sentence per line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sentences", type=Path)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    sentences = given.sentences.read_text(encoding="utf-8").splitlines()
    given.output.write_text(json.dumps(negatives(sentences), ensure_ascii=False, indent=0), encoding="utf-8")


if __name__ == "__main__":
    main()
