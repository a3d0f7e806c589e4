"""Mined pairs for a person to judge, and what the judgements say of all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orthoglot.errors import DataError
from orthoglot.search.margins import Mined
from orthoglot.statistics.intervals import wilson
from orthoglot.text.bitext import BLANK, write_lines
from orthoglot.text.tables import read_table

COLUMNS = ("right", "of", "threshold", "margin", "source", "target")
YES, NO = ("yes", "y", "1", "true"), ("no", "n", "0", "false")
SEED, CONFIDENCE = 1, 0.95


class Judged(NamedTuple):
    """What a person said of drawn pairs."""

    pairs: int  # how many are judged, of those at or above the threshold
    right: int  # how many of these are right
    precision: list[float]  # share of right ones, with its Wilson interval
    left: int  # pairs without a judgement


def digest(*made_of: object) -> str:
    """What pairs were mined of, in 16 hex digits."""
    return hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]


def draw(
    output: Path, pairs: Mined, texts: Sequence[Sequence[str]], threshold: float, count: int, of: str
) -> int:
    """Write pairs at or above the threshold, drawn at random, to a TSV with an empty column `right`.

    Args:
        output: The file.
        pairs: All that were mined.
        texts: The sentences of both texts.
        threshold: The least margin.
        count: How many are drawn at most.
        of: See `digest`.
    Returns:
        How many were drawn.
    """
    above = np.flatnonzero(pairs.margins >= threshold)
    drawn = np.random.default_rng(SEED).permutation(above)[:count]
    rows = [COLUMNS]
    for row in drawn:
        source, target = texts[0][pairs.sources[row]], texts[1][pairs.targets[row]]
        rows.append(("", of, repr(threshold), repr(float(pairs.margins[row])), source, target))
    write_lines(output, ("\t".join(cell.translate(BLANK) for cell in row) for row in rows))
    return len(drawn)


def read(path: Path, threshold: float, of: str) -> Judged:
    """What a person wrote in the column `right`: yes or no; the pairs below the threshold do not count.

    Raises:
        DataError: not a file of `draw`, or of other pairs; another word; drawn above a higher threshold, which says
            nothing of the pairs between the two.
    """
    head, *rows = read_table(path)
    if head != [*COLUMNS]:
        raise DataError(f"{path}: its columns are not {', '.join(COLUMNS)}: remove it to draw pairs anew")
    words: list[str] = []
    for number, row in enumerate(rows, 2):
        word = row[0].strip().lower()
        if word not in ("", *YES, *NO):
            raise DataError(f"{path}: line {number}: {row[0]!r} is neither yes nor no")
        if row[1] != of:
            raise DataError(
                f"{path}: its pairs are of other texts, another model or options: remove it to draw anew"
            )
        try:
            drawn_above, margin = float(row[2]), float(row[3])
        except ValueError as error:
            raise DataError(f"{path}: line {number}: {error}") from error
        if drawn_above > threshold:
            raise DataError(
                f"{path}: its pairs were drawn above {drawn_above:.4f}, and the threshold is {threshold:.4f}: remove "
                "it to draw pairs anew"
            )
        words += [word] * (margin >= threshold)
    right, judged = sum(word in YES for word in words), sum(word != "" for word in words)
    share = right / judged if judged else 0.0
    interval = wilson(share, judged, CONFIDENCE) if judged else (0.0, 1.0)
    return Judged(judged, right, [share, *interval], len(words) - judged)
