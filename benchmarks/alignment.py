"""Alignment of sentences against known answers: documents of which sentences were joined and left out by chance.

python benchmarks/alignment.py MODEL --shared ../shared --work FOLDER [--dev]
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

SEED = 1
LANGUAGES = {
    "bible": {"en": "eng", "de": "deu", "ru": "rus", "zh": "cmn", "sw": "swh"},
    "ntrex": {"en": "eng", "de": "deu", "ru": "rus", "zh": "zho-CN", "sw": "swa"},
}
# Books of the New Testament; the articles of NTREX are halved by their order.
BOOKS = {"dev": ("MRK",), "test": ("ACT", "HEB")}
Gold = list[tuple[tuple[int, ...], tuple[int, ...]]]


class Text(NamedTuple):
    """A parallel text in two languages or more.

    Attributes:
        sentences: by language; English has events of its own, all other languages share theirs.
        gold: translations, as sentence numbers of English and of the others.
        starts: first sentence of each document, of English and of the others, and the ends.
    """

    sentences: dict[str, list[str]]
    gold: Gold
    starts: list[tuple[int, int]]


def rows(corpus: str, part: str, shared: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Document and sentence in each language, without those that a language lacks."""
    languages = LANGUAGES[corpus]
    if corpus == "bible":
        folder = shared / "data_more/bible_nt"
        verses = _lines(folder / "verses.tsv.gz")[1:]
        columns = [_lines(folder / f"bible.{code}.tsv.gz") for code in languages.values()]
        for verse, *texts in zip(verses, *columns, strict=True):
            if verse.split()[0] in BOOKS[part] and all(texts):
                yield verse.split(":")[0], dict(zip(languages, texts, strict=True))
        return
    head, *table = [line.split("\t") for line in _lines(shared / "data/nway/ntrex128.tsv.gz")]
    articles = list(dict.fromkeys(row[1] for row in table))
    wanted = set(articles[::2] if part == "dev" else articles[1::2])
    for row in table:
        texts = [row[head.index(code)] for code in languages.values()]
        if row[1] in wanted and all(texts):
            yield row[1], dict(zip(languages, texts, strict=True))


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def disturbed(table: Sequence[tuple[str, dict[str, str]]], seed: int) -> Text:
    """Join two neighbours in English or in the others (10 % each), or leave a sentence out there (5 % each)."""
    draws = np.random.default_rng(seed)
    sentences: dict[str, list[str]] = {language: [] for language in table[0][1]}
    gold: Gold = []
    starts: list[tuple[int, int]] = []
    others = [language for language in sentences if language != "en"]
    i = 0
    while i < len(table):
        at = len(sentences["en"]), len(sentences[others[0]])
        if i == 0 or table[i - 1][0] != table[i][0]:
            starts.append(at)
        draw = draws.random()
        pair = draw < 0.2 and i + 1 < len(table) and table[i + 1][0] == table[i][0]
        texts = [table[k][1] for k in range(i, i + 1 + pair)]
        for language, side in sentences.items():
            mine = [text[language] for text in texts]
            english = language == "en"
            if pair and english == (draw < 0.1):
                mine = [" ".join(mine)]
            if (0.2 <= draw < 0.25 and english) or (0.25 <= draw < 0.3 and not english):
                mine = []
            side += mine
        now = len(sentences["en"]), len(sentences[others[0]])
        if now[0] > at[0] and now[1] > at[1]:
            gold.append((tuple(range(at[0], now[0])), tuple(range(at[1], now[1]))))
        i += 1 + pair
    starts.append((len(sentences["en"]), len(sentences[others[0]])))
    return Text(sentences, gold, starts)
