"""The cleaning of a language pair with all of it in memory, as a check of what is done on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache

import numpy as np

from orthoglot.corpora import cleaning
from orthoglot.corpora.filters import Filter
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.text.bitext import SentencePair
from orthoglot.text.keys import normalised


def alone(pair: tuple[str, str]) -> tuple[list[str], list[str]]:
    """The sides of one pair, as filters and keys of several pairs want them."""
    return [pair[0]], [pair[1]]


def accepted_by(one: Filter, pair: SentencePair, keys: tuple[str, str]) -> bool:
    """What a filter says of a tidied pair with these keys."""
    return bool(one.accepts(one.scores(alone(keys if one.of_keys else pair)))[0])


@cache
def _threes(text: str) -> set[str]:
    return {f"\t{text}\t"[place : place + 3] for place in range(len(text))}


def jaccard(first: str, second: str) -> float:
    """Of the sequences of three characters that two texts have between tabs, the share that both have."""
    ours, theirs = map(_threes, (first, second))
    return len(ours & theirs) / len(ours | theirs)


def clean(
    pairs: Iterable[SentencePair],
    settings: CleaningSettings,
    source: str,
    target: str,
    banned: Mapping[str, Iterable[str]],
    counts: Counter[str],
    overlaps: Counter[str] | None = None,
    part: Callable[[str], int] = lambda key: 0,
) -> list[SentencePair]:
    """The pairs that stay in their order; `counts` gets "kept" and the reasons of the others.

    Of near-duplicates the first stays, in the order of a number that `part` makes of the source's key.
    """
    accepted, seen = [], set()
    judges = cleaning.make_filters(settings, (source, target))
    for read in pairs:
        pair = SentencePair(
            cleaning.tidy(read.source, source, controls=settings.drop_controls),
            cleaning.tidy(read.target, target or source, controls=settings.drop_controls),
        )
        keys = SentencePair(*map(normalised, pair))
        reason = next((one.reason for one in judges if not accepted_by(one, pair, keys)), "")
        if not reason and (keys.source in banned or keys.target in banned):
            reason = "benchmark"
            if overlaps is not None:
                overlaps.update({name for key in keys for name in banned.get(key, ())})
        if not reason and settings.drop_duplicates and keys in seen:
            reason = "duplicate"
        if reason:
            counts[reason] += 1
        else:
            seen.add(keys)
            accepted.append(pair)
    if settings.near_duplicates:
        different: list[str] = []
        near = set()
        texts = ["\t".join(map(normalised, pair)) for pair in accepted]
        for row in sorted(range(len(texts)), key=lambda row: part(normalised(accepted[row].source))):
            if max((jaccard(texts[row], one) for one in different), default=0) >= settings.near_duplicates:
                near.add(row)
            else:
                different.append(texts[row])
        counts["near_duplicate"] += len(near)
        accepted = [pair for row, pair in enumerate(accepted) if row not in near]
    lengths = np.array([[*map(len, pair)] for pair in accepted], dtype=float).reshape(-1, 2)
    rows = np.arange(len(accepted))
    while len(rows):
        scaled = np.log(lengths[rows] / lengths[rows].mean(axis=0))
        similar = np.abs(scaled[:, 0] - scaled[:, 1]) <= np.log(settings.max_ratio)
        if similar.all():
            break
        rows = rows[similar]
    counts["ratio"] += len(accepted) - len(rows)
    counts["kept"] += len(rows)
    return [accepted[row] for row in rows]
