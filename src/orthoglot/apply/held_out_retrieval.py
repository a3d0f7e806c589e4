"""How well held-out translations find each other in the three views: records of one decomposer, and their table."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path

from orthoglot import __version__
from orthoglot.decomposers.base import Decomposer
from orthoglot.decomposers.views import view
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.search.hits import facts, hits
from orthoglot.statistics.records import ALL, VIEWS, Record
from orthoglot.statistics.resampling import Scores
from orthoglot.statistics.settings import ResamplingSettings
from orthoglot.statistics.summary import Key, summarise
from orthoglot.text.held_out import UnseenPairs, distinct, read_held_out
from orthoglot.text.keys import are_new, keys_of
from orthoglot.text.prepared import read_split
from orthoglot.text.splitting import Split

# Pairs that are measured on: Tatoeba-style benchmarks have as many.
QUERIES = 1000
INTERVALS = ResamplingSettings(resamples=10_000, confidence=0.95, seed=1)
# Pairs below which an interval says little.
FEW = 30
# Pairs of which some fall into a test part of 5 %, but for one text in 170.
MANY = 100
# Sentences of a side that can be found by mistake, at most: all views of them are in memory at once.
MOST = 100_000
# P@1 from which on nothing can be seen to be better.
FULL = 99.0
SATURATED = (
    "Original and meaning both find nearly all translations among these candidates, so this table cannot tell them "
    "apart. Mining among more text can; so can `orthoglot evaluate` on a harder benchmark."
)
BELOW = (
    "The meaning part finds fewer held-out translations than the encoder's own vector: take the method plda, or more "
    "pairs."
)
SPLITS: tuple[Split, ...] = ("train", "valid", "test")
TITLES = {"sentence": "original", "meaning": "meaning", "language": "language"}
logger = logging.getLogger(__name__)


def held_out(bitext: Sequence[Path]) -> dict[str, UnseenPairs]:
    """The unseen test pairs of prepared folders, by language pair; a DataError if one has fewer than two of them."""
    by_pair = read_held_out(bitext)
    folders = {folder.name: folder for folder in bitext}
    for name, unseen in by_pair.items():
        if (
            not unseen.pairs
            and (count := sum(len(read_split(folders[name], split)) for split in SPLITS)) >= MANY
        ):
            raise DataError(
                f"{name}: none of {count} pairs falls into the test part, as in a text whose test part was taken out "
                "before by the same hash (a training shard of the workflow): give the whole text, or a --test-share "
                "above the test and validation shares of that split together"
            )
        if len(unseen.pairs) < 2:
            raise DataError(
                f"{name}: {len(unseen.pairs)} test pairs, too few to measure; raise the test share"
            )
        if len(unseen.pairs) < FEW:
            logger.warning("%s: %d test pairs are few: the intervals are rough", name, len(unseen.pairs))
    return by_pair


def further(bitext: Sequence[Path]) -> dict[str, tuple[list[str], list[str]]]:
    """All sentences of prepared folders by language pair, source and target side, at most 100,000 of each.

    Each stands there once, in the order of the training, validation and test part.
    """
    sentences = {}
    for folder in bitext:
        pairs = [pair for split in SPLITS for pair in read_split(folder, split)]
        source, target = (list(dict.fromkeys(pair[side] for pair in pairs))[:MOST] for side in (0, 1))
        sentences[folder.name] = source, target
    return sentences


def retrieval(
    decomposer: Decomposer,
    store: EmbeddingStore,
    unseen: Mapping[str, UnseenPairs],
    seed: int,
    others: Mapping[str, tuple[Sequence[str], Sequence[str]]] | None = None,
) -> list[Record]:
    """P@1 of held-out translations in every view, both directions, with intervals over pivot sentences.

    Args:
        decomposer: The decomposer whose views are scored, along with the original vector.
        store: The vectors of the test pairs and of `others`.
        unseen: What `held_out` gives; the first 1,000 distinct pairs of each language pair query.
        seed: The seed of the decomposer's training, for the record.
        others: By language pair, sentences of each side that can be found by mistake, as `further` gives them; those
            with the letters and digits of a query's sentence are left out. None: the test pairs alone are candidates.
    Returns:
        Records in percent: each direction, and "all", the unweighted mean over language pairs.
    Raises:
        DataError: in a view no vector of a language pair has a direction.
    Source: docs/papers.md#protocol-retrieval, docs/papers.md#protocol-significance.
    """
    scored: dict[Key, Scores] = {}
    stated: dict[Key, dict[str, object]] = {}
    for pair, pairs in unseen.items():
        languages = parse_pair(pair)
        source, target, repeated = distinct(pairs.pairs, QUERIES)
        dropped = {"duplicates_dropped": repeated, "seen_dropped": pairs.seen_dropped}
        sides = [
            [*queries, *compress(more, are_new(more, queries))]
            for queries, more in zip((source, target), (others or {}).get(pair, ((), ())), strict=True)
        ]
        stored = [store.take(store.rows(side, code)) for side, code in zip(sides, languages, strict=True)]
        directions = languages, languages[::-1]
        keys = keys_of(source)
        for name in VIEWS:
            x, y = (
                view(vectors, decomposer, code, name, partner)
                for vectors, (code, partner) in zip(stored, directions, strict=True)
            )
            scores_both_ways = hits(x, y, n=len(source))
            for scores, (code, partner), candidates in zip(
                scores_both_ways, directions, reversed(sides), strict=True
            ):
                key = Key("heldout", "test", f"{code}->{partner}", name, seed)
                scored[key] = Scores(scores, keys)
                stated[key] = facts(key.subset, len(candidates), dropped)
    made = {"identity": decomposer.identity, "orthoglot": __version__}
    encoder, method = decomposer.encoder, decomposer.method
    records = summarise(scored, stated, INTERVALS, encoder=encoder, method=method, made=made)
    # One seed is its own mean.
    return [record for record in records if record.seed == seed]


def table(records: Sequence[Record]) -> str:
    """Records of held-out retrieval as a Markdown table: one row per direction and for the mean.

    It has the views that there are. A sentence below it says if original vector and meaning part both find 99 % or
    more, which compares nothing, or what to do if the meaning part finds fewer.
    """
    subsets = sorted({record.subset for record in records}, key=lambda subset: (subset == ALL, subset))
    cells = {(record.subset, record.view): record for record in records}
    titles = {view: title for view, title in TITLES.items() if any(record.view == view for record in records)}
    rows = [
        "| Retrieval | " + " | ".join(titles.values()) + " | candidates | n |",
        "| --- | " + "--- | " * (len(titles) + 2),
    ]
    for subset in subsets:
        values = [_cell(cells[subset, view]) for view in titles]
        shown = cells[subset, "sentence"]
        candidates = shown.facts.get("candidates", "")
        rows.append(f"| {subset} | {' | '.join(values)} | {candidates} | {shown.n} |")
    if "meaning" in titles and cells[ALL, "meaning"].value < cells[ALL, "sentence"].value:
        rows += ["", BELOW]
    if "meaning" in titles and all(cells[ALL, view].value >= FULL for view in ("sentence", "meaning")):
        rows += ["", SATURATED]
    return "\n".join(row.rstrip() for row in rows)


def _cell(record: Record) -> str:
    return f"{record.value:.1f} [{record.low:.1f}, {record.high:.1f}]"
