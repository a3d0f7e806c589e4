"""The cleaning of a language pair with all of it in memory, as a check of what is done on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from orthoglot.corpora import cleaning
from orthoglot.corpora.bitext import SentencePair
from orthoglot.corpora.preparation_settings import CleaningSettings


def clean(
    pairs: Iterable[SentencePair],
    settings: CleaningSettings,
    source: str,
    target: str,
    banned: Mapping[str, Iterable[str]],
    counts: Counter[str],
    overlaps: Counter[str] | None = None,
) -> list[SentencePair]:
    """The pairs that stay in their order; `counts` gets "kept" and the reasons of the others."""
    accepted, seen = [], set()
    for pair, keys in cleaning.clean(pairs, settings, source, target, banned, counts, overlaps):
        key = cleaning.duplicate_key(pair, keys, settings)
        if settings.drop_duplicates and key in seen:
            counts["duplicate"] += 1
        else:
            seen.add(key)
            accepted.append(pair)
    lengths = np.array([[*map(len, pair)] for pair in accepted], dtype=float).reshape(-1, 2)
    rows = np.arange(len(accepted))
    while len(rows) and not settings.opusfilter:
        scaled = np.log(lengths[rows] / lengths[rows].mean(axis=0))
        similar = np.abs(scaled[:, 0] - scaled[:, 1]) <= np.log(settings.max_ratio)
        if similar.all():
            break
        rows = rows[similar]
    counts["ratio"] += len(accepted) - len(rows)
    counts["kept"] += len(rows)
    return [accepted[row] for row in rows]
