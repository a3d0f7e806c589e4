"""A page that shows which sentences are nearest: by the encoder's own vector, and by meaning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from orthoglot import __version__
from orthoglot.apply.model import Model
from orthoglot.apply.pool import Pool
from orthoglot.decomposers.base import unit
from orthoglot.decomposers.own_mean import adaptable
from orthoglot.drawing.page import render
from orthoglot.drawing.svg import COLOURS
from orthoglot.errors import ConfigError, DataError
from orthoglot.progress import EarlyMeter
from orthoglot.search.neighbours import cosines, nearest
from orthoglot.usable_vectors import not_finite

PARTS = {"sentence": "The encoder's vector", "meaning": "The meaning part"}
TEMPLATE = Path(__file__).with_name("explore.html.j2")
SCRIPT = Path(__file__).with_name("explore.js")
# JSON within HTML: no tag begins in it.
IN_HTML = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


class Neighbours(NamedTuple):
    """The k nearest others of each of N sentences (N, k), the nearest first, and their cosines."""

    rows: np.ndarray
    cosines: np.ndarray


class Shares(NamedTuple):
    """Means over all sentences, of their k nearest."""

    own: dict[str, float]  # share that is of the sentence's own language, by name of the part of the vectors
    chance: float  # what that would be if neighbours were drawn at random
    translations: dict[str, float]  # share that translates the sentence; empty if none do
    possible: float  # the highest share of translations, 0 if there are none


def vectors(model: Model, pool: Pool, own_mean: bool = True) -> dict[str, np.ndarray]:
    """The vectors of each of `PARTS` (N, D); each sentence is encoded once.

    `own_mean` gives the meaning part of each language the mean of its sentences, where the model supports it.

    Raises:
        ConfigError: the model has no decomposer.
        DataError: a vector is not finite, or a language has no weights where the method has some for each.
    """
    if model.decomposer is None:
        raise ConfigError(
            f"{model.encoder.name} is an encoder alone, without a meaning part: give a model of orthoglot fit or get"
        )
    by_part: dict[str, np.ndarray] = {}
    count = len(pool.sentences)
    with EarlyMeter(total=count, label="encode", unit="sentences") as meter:
        for code in dict.fromkeys(pool.languages):
            rows = [row for row, language in enumerate(pool.languages) if language == code]
            texts = [pool.sentences[row] for row in rows]
            # An encoder refuses a language that it does not state, though it has vectors for any.
            known = code if code in (model.encoder.languages or [code]) else None
            encoded = model.encode(texts, part="sentence", language=known, progress=meter.add)
            if len(wrong := not_finite(encoded)):
                raise DataError(f"the vector of {texts[wrong[0]]!r} is not finite")
            of_code = model.adapted(encoded) if own_mean and adaptable(model.decomposer, "meaning") else model
            for part, view in (("sentence", encoded), ("meaning", of_code.split(encoded, code).meaning)):
                by_part.setdefault(part, np.empty((count, view.shape[1]), np.float32))[rows] = view
    return by_part


def neighbours(vectors: np.ndarray, k: int, device: str = "cpu") -> Neighbours:
    """The k nearest others of each of N vectors, all if there are fewer; see `orthoglot.search.neighbours.nearest`."""
    x = unit(vectors)
    k = min(k, len(x) - 1)
    nearest_rows = nearest(x, x, k + 1, device=device).forward
    itself = nearest_rows == np.arange(len(x))[:, None]
    itself[~itself.any(axis=1), -1] = True  # k + 1 others are equal to it
    rows = nearest_rows[~itself].reshape(len(x), k)
    return Neighbours(rows, cosines(x, x, rows))


def neighbour_counts(pool: Pool, near: Neighbours) -> tuple[np.ndarray, np.ndarray]:
    """How many neighbours of each sentence are of its own language, and how many translate it, (N,) each."""
    _, languages = np.unique(pool.languages, return_inverse=True)
    translations = zip(_translations(pool), near.rows.tolist(), strict=True)
    same_language = (languages[near.rows] == languages[:, None]).sum(axis=1)
    return same_language, np.array([len(right.intersection(rows)) for right, rows in translations])


def shares(pool: Pool, by_part: dict[str, Neighbours]) -> Shares:
    """How many neighbours are of the query's own language, and how many translate it."""
    k = next(iter(by_part.values())).rows.shape[1]
    counts = {part: neighbour_counts(pool, near) for part, near in by_part.items()}
    _, languages, sizes = np.unique(pool.languages, return_inverse=True, return_counts=True)
    same_language = {part: float(count.mean()) / k for part, (count, _) in counts.items()}
    chance = float((sizes[languages] - 1).mean() / (len(languages) - 1))
    if pool.lines is None:
        return Shares(same_language, chance, {}, 0)
    right = {part: float(count.mean()) / k for part, (_, count) in counts.items()}
    possible = float(np.mean([min(k, len(rows)) for rows in _translations(pool)])) / k
    return Shares(same_language, chance, right, possible)


def widest(pool: Pool, by_part: dict[str, Neighbours]) -> int:
    """Return the row of the sentence whose neighbours differ most between the vector and the meaning part.

    It is the one that gains most translations; among equal ones, the one that loses most neighbours of its own
    language; among these, the first.
    """
    before, after = (neighbour_counts(pool, by_part[part]) for part in PARTS)
    language_losses, translation_losses = (old - new for old, new in zip(before, after, strict=True))
    return int(np.lexsort((-language_losses, translation_losses))[0])


def _translations(pool: Pool) -> list[set[int]]:
    """The rows that translate each sentence, those of its lines; empty where no lines are known."""
    if pool.lines is None:
        return [set() for _ in pool.sentences]
    of_line: dict[int, set[int]] = {}
    for row, lines in enumerate(pool.lines):
        for line in lines:
            of_line.setdefault(line, set()).add(row)
    return [
        set[int]().union(*map(of_line.__getitem__, lines)) - {row} for row, lines in enumerate(pool.lines)
    ]


def page(pool: Pool, by_part: dict[str, Neighbours], model: Model) -> str:
    """One HTML page that loads nothing, with all sentences and their neighbours in it."""
    assert model.decomposer is not None
    codes = sorted({*pool.languages})
    content = {
        "sentences": pool.sentences,
        "languages": [*map(codes.index, pool.languages)],
        "codes": codes,
        "colours": [COLOURS[place % len(COLOURS)] for place in range(len(codes))],
        "lines": pool.lines,
        "first": widest(pool, by_part),
        "parts": [
            {"rows": near.rows.tolist(), "cosines": np.rint(1000 * near.cosines).astype(int).tolist()}
            for near in by_part.values()
        ],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return render(
        TEMPLATE,
        SCRIPT,
        title="Nearest sentences by vector and by meaning",
        model=f"{model.encoder.name}, {model.decomposer.method}",
        parts=PARTS,
        pool=pool,
        codes=codes,
        k=next(iter(by_part.values())).rows.shape[1],
        shares=shares(pool, by_part),
        version=__version__,
        content=Markup(text.translate(IN_HTML)),  # the signs are within strings alone
    )
