"""How well held-out translations find each other in the three views: records of one decomposer, and their table."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from orthoglot import __version__
from orthoglot.decomposers.base import Decomposer
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.errors import DataError
from orthoglot.statistics.records import ALL, Record
from orthoglot.statistics.summary import summarise
from orthoglot.tasks.evaluate import make_tasks, run
from orthoglot.tasks.heldout import UnseenPairs, read_held_out
from orthoglot.tasks.settings import EvaluationSettings

# As many pairs as Tatoeba-style benchmarks have.
HELD_OUT = EvaluationSettings(
    tasks=["heldout"], heldout_pairs=1000, resamples=10_000, confidence=0.95, seed=1
)
# Pairs below which an interval says little.
FEW = 30
TITLES = {"sentence": "original", "meaning": "meaning", "language": "language"}
logger = logging.getLogger(__name__)


def held_out(bitext: Sequence[Path]) -> dict[str, UnseenPairs]:
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
        if len(unseen.pairs) < FEW:
            logger.warning("%s: %d test pairs are few: the intervals are rough", name, len(unseen.pairs))
    return found


def retrieval(
    decomposer: Decomposer, store: EmbeddingStore, unseen: Mapping[str, UnseenPairs], seed: int
) -> list[Record]:
    """P@1 of held-out translations in every view, both directions, with intervals over pivot sentences.

    Args:
        decomposer: whose views are scored, along with the original vector.
        store: vectors of the test pairs.
        unseen: as `held_out` gives it; the first 1,000 distinct pairs of each language pair are used.
        seed: of the decomposer's training, for the record.
    Returns:
        Records in percent: each direction, and "all", the unweighted mean over language pairs.
    Raises:
        DataError: in a view no vector of a language pair has a direction.
    Source: docs/papers.md#protocol-retrieval, docs/papers.md#protocol-significance.
    """
    found = run(make_tasks(HELD_OUT, unseen, []), HELD_OUT, store, {seed: decomposer})
    made = {"encoder": decomposer.identity, "orthoglot": __version__}
    names = {"encoder": decomposer.encoder, "method": decomposer.method}
    records = summarise(found.scored, found.facts, HELD_OUT, **names, made=made)
    # One seed is its own mean.
    return [record for record in records if record.seed == seed]


def table(records: Sequence[Record]) -> str:
    """Records of held-out retrieval as a Markdown table: one row per direction and for the mean.

    It has the views that there are: a decomposer's three, or an encoder's own vector alone.
    """
    subsets = sorted({record.subset for record in records}, key=lambda subset: (subset == ALL, subset))
    cells = {(record.subset, record.view): record for record in records}
    titles = {view: title for view, title in TITLES.items() if any(record.view == view for record in records)}
    rows = [
        "| Retrieval | " + " | ".join(titles.values()) + " | n |",
        "| --- | " + "--- | " * (len(titles) + 1),
    ]
    for subset in subsets:
        values = [_cell(cells[subset, view]) for view in titles]
        rows.append(f"| {subset} | {' | '.join(values)} | {cells[subset, 'sentence'].n} |")
    return "\n".join(row.rstrip() for row in rows)


def _cell(record: Record) -> str:
    return f"{record.value:.1f} [{record.low:.1f}, {record.high:.1f}]"
