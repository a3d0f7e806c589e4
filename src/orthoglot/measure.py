"""How well held-out translations find each other in the three views: records of one decomposer, and their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from orthoglot import __version__
from orthoglot.decomposers.base import Decomposer
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.errors import DataError
from orthoglot.evaluation.base import ALL, VIEWS, Record, sign, view
from orthoglot.evaluation.heldout import HeldOut, read_held_out
from orthoglot.evaluation.resampling import Scores, intervals, pool
from orthoglot.evaluation.retrieval import Retrieval, distinct
from orthoglot.languages import parse_pair
from orthoglot.streams import derive

CANDIDATES = 1000  # pairs of a test part that are scored, as in Tatoeba-style benchmarks
RESAMPLES = 10_000
CONFIDENCE = 0.95
TITLES = {"sentence": "original", "meaning": "meaning", "language": "language"}


def held_out(bitext: Sequence[Path]) -> dict[str, HeldOut]:
    """The unseen test pairs of prepared folders, by language pair.

    Raises:
        DataError: a language pair has fewer than two of them: there is nothing to choose between.
    """
    found = read_held_out(bitext)
    for name, unseen in found.items():
        if len(unseen.pairs) < 2:
            raise DataError(
                f"{name}: {len(unseen.pairs)} test pairs, too few to measure; raise the test share"
            )
    return found


def retrieval(
    decomposer: Decomposer, store: EmbeddingStore, unseen: Mapping[str, HeldOut], seed: int
) -> list[Record]:
    """P@1 of held-out translations in every view, both directions, with intervals over pivot sentences.

    Args:
        decomposer: whose views are scored; the original vector is scored beside them.
        store: vectors of the test pairs.
        unseen: as `held_out` gives it; the first 1,000 distinct pairs of each language pair are used.
        seed: of the decomposer's training, for the record, and of the resampling.
    Returns:
        Records in percent: each direction, and "all", the unweighted mean over language pairs.
    Raises:
        DataError: in a view no vector of a language pair has a direction.
    Source: methods 7.1, 7.14.
    """
    tables: dict[str, dict[str, dict[str, Scores]]] = {}
    facts: dict[str, dict[str, object]] = {}
    for name, held in unseen.items():
        pairs, repeated = distinct(held.pairs, CANDIDATES)
        sides = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        dropped = {"duplicates_dropped": repeated, "seen_dropped": held.seen_dropped}
        task = Retrieval("heldout", "test", *parse_pair(name), *sides, dropped=dropped)
        rows = {side: store.rows(texts, code) for side, (texts, code) in task.sides().items()}
        for seen in VIEWS:
            hits = task.score(
                {
                    side: view(store.take(rows[side]), decomposer, code, seen)
                    for side, (_, code) in task.sides().items()
                }
            ).scores
            directions = {subset: Scores(values, task.keys()) for subset, values in hits.items()}
            for subset, one in directions.items():
                tables.setdefault(subset, {})[seen] = {name: pool([one])}
                facts[subset] = task.facts(subset)
            tables.setdefault(ALL, {}).setdefault(seen, {})[name] = pool(list(directions.values()))
    facts[ALL] = {"similarity": "cosine", "mean": "over-language-pairs", "pairs": len(unseen)}
    how = {
        "interval": "bootstrap-percentile",
        "resampled": "pivot-sentences",
        "resamples": RESAMPLES,
        "confidence": CONFIDENCE,
        "resampling_seed": seed,
        "encoder": decomposer.identity,
        "orthoglot": __version__,
    }
    records = []
    for subset, by_view in tables.items():
        generator = np.random.default_rng(derive(seed, "heldout", subset))
        found = intervals(
            list(by_view.values()), resamples=RESAMPLES, confidence=CONFIDENCE, generator=generator
        )
        for name, interval in zip(by_view, found, strict=True):
            value, low, high = (round(100 * number, 6) for number in interval[:3])
            records.append(
                Record(
                    task="heldout",
                    dataset="test",
                    subset=subset,
                    view=name,
                    encoder=decomposer.encoder,
                    method=decomposer.method,
                    seed=seed,
                    metric="accuracy",
                    value=value,
                    low=low,
                    high=high,
                    n=interval.n,
                    signature=sign({"metric": "accuracy", **facts[subset], "units": interval.units, **how}),
                )
            )
    return records


def table(records: Sequence[Record]) -> str:
    """Records of held-out retrieval as a Markdown table: one row per direction and for the mean."""
    subsets = sorted({record.subset for record in records}, key=lambda subset: (subset == ALL, subset))
    cells = {(record.subset, record.view): record for record in records}
    rows = [
        "| Retrieval | " + " | ".join(TITLES.values()) + " | n |",
        "| --- | " + "--- | " * (len(TITLES) + 1),
    ]
    for subset in subsets:
        values = [_cell(cells[subset, seen]) for seen in TITLES]
        rows.append(f"| {subset} | {' | '.join(values)} | {cells[subset, 'meaning'].n} |")
    return "\n".join(row.rstrip() for row in rows)


def _cell(record: Record) -> str:
    return f"{record.value:.1f} [{record.low:.1f}, {record.high:.1f}]"
