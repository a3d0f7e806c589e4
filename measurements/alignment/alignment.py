"""Alignment of sentences against known answers: documents of which sentences were joined and left out by chance.

python measurements/alignment/alignment.py MODEL --shared ../shared --work FOLDER [--output FILE.csv] [--dev] \
    [--paragraphs]
"""

from __future__ import annotations

import argparse
import gzip
import math
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from orthoglot import load
from orthoglot.apply.align import Link, align
from orthoglot.apply.documents import Document, links_of
from orthoglot.apply.model import Model
from orthoglot.apply.text_vectors import text_vectors
from orthoglot.decomposers.base import unit
from orthoglot.search.margins import Margin

SEED = 1
SIZES = 1, 2, 3
LANGUAGES = {
    "bible": {"en": "eng", "de": "deu", "ru": "rus", "zh": "cmn", "sw": "swh"},
    "ntrex": {"en": "eng", "de": "deu", "ru": "rus", "zh": "zho-CN", "sw": "swa"},
}
# Books of the New Testament; the articles of NTREX are halved by their order.
BOOKS = {"dev": ("MRK",), "test": ("ACT", "HEB")}
Side = Sequence[np.ndarray]
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


def gale_church(x: Sequence[str], y: Sequence[str]) -> Gold:
    """Alignment by lengths alone (Gale and Church 1993): 1-1, 1-2, 2-1, 1-0 and 0-1 with their priors."""
    kinds = {(1, 1): 0.89, (1, 2): 0.0445, (2, 1): 0.0445, (1, 0): 0.005, (0, 1): 0.005}
    lengths = [np.array([len(one) for one in side], dtype=float) for side in (x, y)]
    ratio = lengths[1].sum() / lengths[0].sum()
    sums = [np.concatenate([[0.0], one.cumsum()]) for one in lengths]
    n, m = len(x), len(y)
    costs, steps = np.full((n + 1, m + 1), np.inf), np.zeros((n + 1, m + 1, 2), dtype=int)
    costs[0, 0] = 0
    for i in range(n + 1):
        for j in range(m + 1):
            for (a, b), prior in kinds.items():
                if i < a or j < b or not np.isfinite(costs[i - a, j - b]):
                    continue
                first, second = sums[0][i] - sums[0][i - a], sums[1][j] - sums[1][j - b]
                mean = (first + second / ratio) / 2
                delta = abs(second - first * ratio) / math.sqrt(6.8 * max(mean, 1))
                cost = (
                    costs[i - a, j - b]
                    - math.log(prior)
                    - math.log(max(math.erfc(delta / math.sqrt(2)), 1e-300))
                )
                if cost < costs[i, j]:
                    costs[i, j], steps[i, j] = cost, (a, b)
    found: Gold = []
    i, j = n, m
    while i or j:
        a, b = steps[i, j]
        i, j = i - a, j - b
        if a and b:
            found.append((tuple(range(i, i + a)), tuple(range(j, j + b))))
    return found[::-1]


def scores(found: Sequence[Gold], gold: Sequence[Gold]) -> np.ndarray:
    """Of each document: links found, of gold, the same in both, and found ones with a sentence pair of a gold one."""
    counts = []
    for ours, theirs in zip(found, gold, strict=True):
        cells = {(i, j) for source, target in theirs for i in source for j in target}
        near = sum(any((i, j) in cells for i in source for j in target) for source, target in ours)
        counts.append([len(ours), len(theirs), len({*ours} & {*theirs}), near])
    return np.array(counts)


def f1(counts: np.ndarray) -> tuple[float, float, float]:
    """Precision, recall and F1 in percent, of exact links."""
    ours, theirs, both, _ = counts.sum(axis=0)
    precision, recall = 100 * both / max(ours, 1), 100 * both / theirs
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def interval(counts: np.ndarray) -> tuple[float, float]:
    """95 % of F1 over 1,000 draws of documents."""
    draws = np.random.default_rng(SEED).integers(0, len(counts), (1000, len(counts)))
    low, high = np.quantile([f1(counts[rows])[2] for rows in draws], [0.025, 0.975])
    return float(low), float(high)


def by_margins(
    texts: Sequence[Sequence[str]], x: Side, y: Side, gold: Gold, draws: np.random.Generator
) -> dict[str, list[Link]]:
    """Links of a document by either margin."""
    lengths = Document(texts[0], []).lengths(), Document(texts[1], []).lengths()
    some = len(x[0]) and len(y[0])
    margins: tuple[Margin, ...] = ("ratio", "distance")
    return {margin: align(x, y, lengths=lengths, margin=margin) if some else [] for margin in margins}


def by_paragraphs(
    texts: Sequence[Sequence[str]], x: Side, y: Side, gold: Gold, draws: np.random.Generator
) -> dict[str, list[Link]]:
    """Links of a document with paragraphs of one to four right links, and with wrong ones.

    Wrong ones: the English side lacks the start of a paragraph, the other side that of the next, or of any other.
    With fewer than four paragraphs, all ways are as without.
    """
    lengths = Document(texts[0], []).lengths(), Document(texts[1], []).lengths()
    whole = align(x, y, lengths=lengths) if len(x[0]) and len(y[0]) else []
    cuts = list(np.cumsum(draws.integers(1, 5, len(gold))))
    starts = [(0, 0), *((gold[cut][0][0], gold[cut][1][0]) for cut in cuts if cut < len(gold))]
    ways = {"whole": whole}
    near = int(draws.integers(1, max(len(starts) - 1, 2)))
    first, second = draws.permutation(np.arange(1, max(len(starts), 3)))[:2]
    for way, (one, other) in {"right": (0, 0), "next": (near, near + 1), "any": (first, second)}.items():
        sides = (
            [i for n, (i, _) in enumerate(starts) if n != one or not n],
            [j for n, (_, j) in enumerate(starts) if n != other or not n],
        )
        short = len(starts) < 4
        ways[f"{way}, always"] = whole if short else align(x, y, lengths=lengths, paragraphs=sides)
        both = Document(texts[0], [], sides[0]), Document(texts[1], [], sides[1])
        ways[f"{way}, if matching"] = whole if short else links_of(both, x, y)[0]
    return ways


def main() -> None:
    """Print a row for each text, language, part of the vectors and margin, and write them as records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="vectors, kept")
    parser.add_argument("--output", type=Path, help="records, CSV")
    parser.add_argument("--dev", action="store_true")
    parser.add_argument("--languages", nargs="+", default=["de", "ru", "zh", "sw"], help="beside English")
    parser.add_argument("--paragraphs", action="store_true", help="right and wrong ones, instead of margins")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    model, part = load(given.model, device="cpu"), "dev" if given.dev else "test"
    records: list[dict[str, object]] = []
    for corpus in LANGUAGES:
        text = disturbed(list(rows(corpus, part, given.shared)), SEED)
        gold = _of_documents(text, text.gold)
        vectors = {}
        for language in ["en", *given.languages]:
            sentences = text.sentences[language]
            for size in SIZES:
                joined = Document(sentences, []).joined(size)
                file = given.work / f"{corpus}.{part}.{language}.{size}.npy"
                vectors[language, size] = text_vectors(
                    model, joined, file, part="sentence", language=language
                )
        for other in given.languages:
            ways = {"lengths (Gale and Church)": [gale_church(*both) for both in _texts(text, other)]}
            for view in ("sentence", "meaning"):
                sides = {
                    (language, size): _view(model, vectors[language, size], view, language, pair)
                    for language, pair in (("en", other), (other, "en"))
                    for size in SIZES
                }
                draws = np.random.default_rng(SEED)
                for ((i, j), (k, last)), both, right in zip(
                    pairwise(text.starts), _texts(text, other), gold, strict=True
                ):
                    x = [sides["en", size][i : max(k - size + 1, i)] for size in SIZES]
                    y = [sides[other, size][j : max(last - size + 1, j)] for size in SIZES]
                    found = by_paragraphs if given.paragraphs else by_margins
                    for way, links in found(both, x, y, right, draws).items():
                        linked = [(tuple(range(s, s + a)), tuple(range(t, t + b))) for s, t, a, b, _ in links]
                        ways.setdefault(f"{view}, {way}", []).append(linked)
            for way, found in ways.items():
                counts = scores(found, gold)
                precision, recall, middle = f1(counts)
                low, high = interval(counts)
                near = 100 * counts[:, 3].sum() / max(counts[:, 0].sum(), 1)
                sys.stdout.write(
                    f"| {corpus} | en-{other} | {way} | {precision:.1f} | {recall:.1f} | {middle:.1f} "
                    f"[{low:.1f}, {high:.1f}] | {near:.1f} | {counts[:, 1].sum()} | {len(counts)} |\n"
                )
                sys.stdout.flush()
                about = {"text": corpus, "pair": f"en-{other}", "way": way}
                records.append(
                    about
                    | {"precision": precision, "recall": recall, "f1": middle, "low": low, "high": high}
                    | {"near": near, "gold": counts[:, 1].sum(), "documents": len(counts)}
                )
    if given.output:
        pd.DataFrame(records).round(4).to_csv(given.output, index=False)


def _of_documents(text: Text, links: Gold) -> list[Gold]:
    """The links of each document, numbered from its first sentences."""
    return [
        [
            (tuple(s - i for s in source), tuple(t - j for t in target))
            for source, target in links
            if i <= source[0] < k and j <= target[0] < last
        ]
        for (i, j), (k, last) in pairwise(text.starts)
    ]


def _texts(text: Text, other: str) -> Iterator[tuple[list[str], list[str]]]:
    for (i, j), (k, last) in pairwise(text.starts):
        yield text.sentences["en"][i:k], text.sentences[other][j:last]


def _view(model: Model, vectors: np.ndarray, view: str, language: str, partner: str) -> np.ndarray:
    """The vectors, or their meaning parts, of length 1."""
    if view == "sentence" or model.decomposer is None:
        return np.asarray(vectors)
    return unit(model.decomposer.transform(np.asarray(vectors), language, partner).meaning)


if __name__ == "__main__":
    main()
