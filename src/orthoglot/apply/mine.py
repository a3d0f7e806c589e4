"""Translations out of two texts of which few sentences translate each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from orthoglot.apply.early_checks import check_best
from orthoglot.apply.expected import Decoys
from orthoglot.apply.model import Model
from orthoglot.apply.scored import has_letter
from orthoglot.apply.text_vectors import text_vectors, with_own_mean
from orthoglot.decomposers.own_mean import adaptable, mean_shift, sums
from orthoglot.errors import ConfigError, DataError
from orthoglot.search.exact_or_cells import check_search, search
from orthoglot.search.margins import Margin, Mined, Strategy, both_cosines, candidates, mine_neighbours
from orthoglot.search.neighbours import Nearest
from orthoglot.text.bitext import SIDES
from orthoglot.text.keys import normalised
from orthoglot.usable_vectors import not_finite


class Side(NamedTuple):
    """One text."""

    sentences: Sequence[str]  # distinct ones without blank lines, in the order of first appearance
    lines: Sequence[int]  # number of the first line of each, from 1
    total: int  # lines of the file
    blank: int  # blank lines among them

    def counts(self) -> dict[str, int]:
        """Lines, blank ones and distinct sentences, for a summary."""
        return {"lines": self.total, "blank": self.blank, "distinct": len(self.sentences)}


def distinct(lines: Sequence[str], name: str) -> Side:
    """Each sentence once, without white space at its ends.

    Raises:
        DataError: no line has text.
    """
    first: dict[str, int] = {}
    blank = 0
    for number, line in enumerate(lines, 1):
        if text := line.strip():
            first.setdefault(text, number)
        else:
            blank += 1
    if not first:
        raise DataError(f"{name}: no line has text" if lines else f"{name} is empty")
    return Side(list(first), list(first.values()), len(lines), blank)


def mine(
    x: np.ndarray,
    y: np.ndarray,
    *,
    margin: Margin = "ratio",
    retrieval: Strategy = "max",
    neighborhood: int = 4,
    threshold: float | None = None,
    best: int = 1,
    device: str = "cpu",
    threads: int = 1,
    memory: float = 1.0,
) -> tuple[Mined, dict[str, Any]]:
    """Pairs of rows of two arrays of vectors that may be translations, by falling margin, and how they were searched.

    The facts also hold `suggested_threshold` or, for a given threshold, `expected_precision`, where there is one
    (`orthoglot.apply.expected.Decoys`).

    Args:
        x: (n, D), rows of length 1.
        y: (m, D), rows of length 1.
        margin: "ratio", "distance" or "absolute".
        retrieval: "forward", "backward", "max" or "intersection", see `orthoglot.search.margins.mine`.
        neighborhood: k, the neighbours whose mean cosine a cosine is compared with.
        threshold: The least margin that is kept; None keeps all.
        best: With "forward", the pairs of each row of x.
        device: The device of the search.
        threads: The threads of the search on a CPU.
        memory: GiB, see `orthoglot.search.exact_or_cells.search`.
    Raises:
        ConfigError: see `check_mining`; a search that needs faiss, which is not installed.
        DataError: a vector is not finite.
    Source: docs/papers.md#protocol-margin.
    """
    check_mining(margin, retrieval, neighborhood, threshold, best)
    for name, vectors in (("x", x), ("y", y)):
        if len(wrong := not_finite(vectors)):
            raise DataError(f"{name}: vector {wrong[0]} (from 0) is not finite")
    neighbours, facts = search(x, y, neighborhood, device=device, threads=threads, memory=memory)
    cosine = both_cosines(x, y, neighbours)
    pairs, promise = pairs_of(
        neighbours, cosine, margin=margin, retrieval=retrieval, threshold=threshold, best=best
    )
    return pairs, facts | promise


def pairs_of(
    neighbours: Nearest,
    cosine: Nearest,
    *,
    margin: Margin = "ratio",
    retrieval: Strategy = "max",
    threshold: float | None = None,
    best: int = 1,
) -> tuple[Mined, dict[str, Any]]:
    """`mine` by the neighbours of both sides and the cosines with them; the facts are what is expected of the pairs."""
    facts: dict[str, Any] = {}
    if best > 1:
        pairs = candidates(neighbours, cosine, margin, best)
        pairs = Mined(*(column[np.argsort(-pairs.margins, kind="stable")] for column in pairs))
    else:
        pairs = mine_neighbours(neighbours, cosine, margin, retrieval)
        decoys = Decoys.of(neighbours, cosine, pairs, margin)
        if threshold is None:
            facts["suggested_threshold"] = decoys and decoys.suggested()
        elif decoys and retrieval == "max":
            facts["expected_precision"] = decoys.expected(threshold).precision
    if threshold is not None:
        pairs = Mined(*(column[pairs.margins >= threshold] for column in pairs))
    return pairs, facts


def check_mining(margin: str, retrieval: str, neighborhood: int, threshold: float | None, best: int) -> None:
    """Refuse what `mine` cannot do, before sentences are encoded.

    Raises:
        ConfigError: an unknown margin or retrieval, a threshold that is no finite number, or see `check_best`.
    """
    for name, value, values in (("margin", margin, Margin), ("retrieval", retrieval, Strategy)):
        if value not in get_args(values):
            raise ConfigError(f"{name} {value!r}: give {', '.join(map(repr, get_args(values)))}")
    if threshold is not None and not (isinstance(threshold, Real) and math.isfinite(threshold)):
        raise ConfigError(f"threshold {threshold!r}: give a finite number, or None")
    check_best(best, retrieval, neighborhood)


def side_vectors(
    model: Model,
    sides: tuple[Side, Side],
    checkpoint: Path,
    *,
    languages: tuple[str | None, str | None] = (None, None),
    part: str = "meaning",
    own_mean: bool = True,
    device: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of length 1 of the sentences of both texts, in files of a folder, see `text_vectors`.

    `own_mean` gives each text its own mean, see `with_own_mean`, where the model's part supports it; `device` is that
    of the search that follows.

    Raises:
        ConfigError: they are too many to search without faiss.
    """
    first, second = sides
    check_search(len(first.sentences), len(second.sentences), device)
    checkpoint.mkdir(parents=True, exist_ok=True)
    vectors = []
    for name, side, language, partner in zip(SIDES, sides, languages, reversed(languages), strict=True):
        stored = text_vectors(
            model,
            side.sentences,
            checkpoint / f"{name}.npy",
            part=part,
            language=language,
            partner=partner,
        )
        if own_mean and (decomposer := adaptable(model.decomposer, part)):
            shift = mean_shift(sums(stored, decomposer), decomposer)
            stored = with_own_mean(stored, decomposer, checkpoint / f"{name}.own-mean.npy", shift)
        vectors.append(stored)
    return vectors[0], vectors[1]


def obvious(pairs: Iterable[tuple[str, str]], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Which of so many pairs are no translation whatever their margin, and which have a side without a letter.

    Pairs of the first kind that are not of the second have the same letters and digits on both sides; (P,) bool each.
    """
    copies, wordless = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    for number, (source, target) in enumerate(pairs):
        copies[number] = normalised(source) == normalised(target)
        wordless[number] = not (has_letter(source) and has_letter(target))
    return copies | wordless, wordless
