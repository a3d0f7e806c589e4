"""The held-out sentence pairs that no training saw."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.text.bitext import SentencePair
from orthoglot.text.keys import normalised
from orthoglot.text.prepared import read_split
from orthoglot.text.splitting import Split

TRAINED_ON: tuple[Split, ...] = ("train", "valid")


class UnseenPairs(NamedTuple):
    """The test pairs of one language pair neither side of which was trained on.

    `seen_dropped` counts the others.
    """

    pairs: list[SentencePair]
    seen_dropped: int


def read_held_out(bitext: Sequence[Path]) -> dict[str, UnseenPairs]:
    """The unseen test pairs of prepared folders, by language pair.

    Splits are made by the pivot sentence. Another sentence pair, also of another language pair, may have the same
    target in its train or valid part. Both sides are therefore looked up, each in its language.

    Raises:
        DataError: every held-out pair of a language pair was seen.
    Source: docs/papers.md#protocol-held-out.
    """
    tests = {folder.name: read_split(folder, "test") for folder in bitext}
    wanted: dict[str, set[str]] = defaultdict(set)
    for name, pairs in tests.items():
        for side, language in enumerate(parse_pair(name)):
            wanted[language].update(normalised(pair[side]) for pair in pairs)
    seen: dict[str, set[str]] = defaultdict(set)
    for folder in bitext:
        for split in TRAINED_ON:
            pairs = read_split(folder, split)
            for side, language in enumerate(parse_pair(folder.name)):
                # Only what a test part holds is kept: training text may be large.
                seen[language] |= wanted[language].intersection(normalised(pair[side]) for pair in pairs)
    unseen = {}
    for name, pairs in tests.items():
        source, target = (seen[language] for language in parse_pair(name))
        pairs_left = [
            p for p in pairs if normalised(p.source) not in source and normalised(p.target) not in target
        ]
        if pairs and not pairs_left:
            raise DataError(f"{name}: each of {len(pairs)} held-out pairs has a sentence that was trained on")
        unseen[name] = UnseenPairs(pairs_left, len(pairs) - len(pairs_left))
    return unseen


def distinct(pairs: Iterable[tuple[str, str]], limit: float = math.inf) -> tuple[list[str], list[str], int]:
    """The first `limit` pairs of which neither side was seen before, and how many were dropped on the way.

    The same text twice on a side would be a tie that no vector can break.

    Returns:
        The sentences of each side, row by row, and the number of pairs that were dropped.
    """
    sources: dict[str, None] = {}
    targets: dict[str, None] = {}
    dropped = 0
    for source, target in pairs:
        if len(sources) == limit:
            break
        if source in sources or target in targets:
            dropped += 1
            continue
        sources[source] = targets[target] = None
    return list(sources), list(targets), dropped
