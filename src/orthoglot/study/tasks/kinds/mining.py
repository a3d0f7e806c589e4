"""Mining of translations out of two lists of sentences of which few translate each other: the protocol of BUCC."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orthoglot.decomposers.base import unit
from orthoglot.errors import DataError
from orthoglot.random_streams import derive
from orthoglot.search.exact_or_cells import search
from orthoglot.search.margins import Mined, best_threshold, mine
from orthoglot.statistics.records import F1
from orthoglot.statistics.weighted import Metric, share_of
from orthoglot.study.benchmarks.base import PairSet
from orthoglot.study.benchmarks.kinds import mining
from orthoglot.study.benchmarks.kinds.mining import MiningSet
from orthoglot.study.tasks.base import Result, Task, TaskData
from orthoglot.study.tasks.registry import RETRIEVAL
from orthoglot.text.keys import keys_of
from orthoglot.usable_vectors import usable

TITLE = "Mining of translations"
QUESTION = (
    "Of two texts, a few sentences translate each other: how well are these pairs separated from the rest?"
)
BETTER = RETRIEVAL
EXAMPLES = (
    "Mined pairs that are not in the gold",
    "By falling margin. Some are translations that the gold lacks; precision counts them as errors.",
)
# Each source sentence has correct, mined and gold pairs and, with the best threshold, correct and mined ones.
MEASURES = {
    "mining": (
        Metric(F1, share_of([(0, 2)], [1, 2])),
        Metric("precision", share_of([(0, 1)], [1])),
        Metric("recall", share_of([(0, 1)], [2])),
        Metric("F1:best", share_of([(3, 2)], [4, 2])),
    )
}
NEIGHBOURS = 4
# Gold pairs in a set that is made of held-out pairs, as a share of either side's sentences [BUCC 2018: 0.020 to 0.033].
SHARE = 0.03
# How many mined pairs of a language pair are shown as examples.
SHOWN = 10
# A half with fewer gold pairs teaches no threshold.
FEWEST_GOLD = 5
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Mining:
    """One language pair's lists, mined by ratio margin with 4 neighbours, one-to-one ("max").

    Pairs whose margin is at least a threshold count as mined. F1 = 2 correct / (mined + gold), precision and recall,
    0 to 100, chance near 0. The threshold has the best F1 on the set's own training set; without one, source
    sentences are halved by chance and each half learns the threshold for the other. "F1:best" has the threshold with
    the best F1 on the very pairs that it is scored on, which is optimistic; EMS reports it. Items are source sentences.

    Higher is better for the meaning view, lower for the language view.

    Source: docs/papers.md#protocol-bucc.
    """

    name: str  # of the task
    texts: MiningSet  # sentences and gold pairs
    seed: int  # of the halves
    device: str = "cpu"  # of the search
    measure: str = "mining"

    def __post_init__(self) -> None:
        """Each half needs gold pairs to learn a threshold from."""
        gold = [len(_gold(self.texts, half)) for half in self.halves()]
        if not self.texts.train and min(gold) < FEWEST_GOLD:
            raise DataError(
                f"{self.name} {self.dataset} {self.texts.pair}: halves with {gold[0]} and {gold[1]} gold pairs, "
                f"{FEWEST_GOLD} are needed to learn a threshold"
            )

    @property
    def dataset(self) -> str:
        """Benchmark folder, or "test"."""
        return self.texts.name

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """The two lists, and those of the training set."""
        names = ("source", "target", "train source", "train target")
        sides = self.texts.sides()  # two where there is no training set
        return {
            name: (sentences, language)
            for name, (language, sentences) in zip(names[: len(sides)], sides, strict=True)
        }

    def keys(self) -> np.ndarray:
        """(N,) uint64 of the source sentences."""
        return keys_of(self.texts.source_sentences)

    def halves(self) -> list[np.ndarray]:
        """Two (N,) masks of the source sentences, which depend on the seed and the sentence alone."""
        numbers = [derive(self.seed, "mining", key) for key in self.keys().tolist()]
        first = np.array([number % 2 == 0 for number in numbers], dtype=bool)
        return [first, ~first]

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """(N, 5) counts of correct, mined and gold pairs, and of correct and mined ones with the best threshold.

        NaN for a source sentence that has no direction, or whose translation has none. Examples are the mined pairs
        of the highest margins that are not gold.
        """
        texts = self.texts
        everyone = np.ones(len(texts.source_sentences), dtype=bool)
        pairs, correct, facts = self._mined(texts, vectors["source"], vectors["target"])
        if train := texts.train:
            train_pairs, hits, _ = self._mined(train, vectors["train source"], vectors["train target"])
            parts = [(everyone, _threshold(train_pairs.margins, hits, len(train.gold)))]
        else:
            first, second = self.halves()
            parts = []
            for half, taught in ((first, second), (second, first)):
                learnt = taught[pairs.sources]
                threshold = _threshold(pairs.margins[learnt], correct[learnt], len(_gold(texts, taught)))
                parts.append((half, threshold))
        best = _threshold(pairs.margins, correct, len(texts.gold))
        accepted = np.zeros(len(pairs.margins), dtype=bool)
        for half, threshold in parts:
            accepted |= half[pairs.sources] & (pairs.margins >= threshold)
        at_best = pairs.margins >= best
        n = len(everyone)
        columns = [
            pairs.sources[correct & accepted],
            pairs.sources[accepted],
            np.array([i for i, _ in texts.gold]),
            pairs.sources[correct & at_best],
            pairs.sources[at_best],
        ]
        counts = np.stack([np.bincount(rows, minlength=n) for rows in columns], axis=1).astype(np.float64)
        lost = ~usable(vectors["target"])
        counts[~usable(vectors["source"])] = np.nan
        counts[[i for i, j in texts.gold if lost[j]]] = np.nan
        facts |= {"threshold": ",".join(f"{threshold:.6g}" for _, threshold in parts)}
        extra = np.flatnonzero(accepted & ~correct)[:SHOWN]
        rows = [
            {
                "Margin": f"{margin:.3f}",
                "Source": texts.source_sentences[source],
                "Target": texts.target_sentences[target],
            }
            for source, target, margin in zip(*(column[extra] for column in pairs), strict=True)
        ]
        return Result({texts.pair: counts}, facts, rows)

    def facts(self, subset: str) -> dict[str, object]:
        """How pairs are scored and chosen, and the sizes."""
        texts = self.texts
        return {
            "margin": "ratio",
            "k": NEIGHBOURS,
            "strategy": "max",
            "threshold_from": "train" if texts.train else "other-half",
            "sources": len(texts.source_sentences),
            "targets": len(texts.target_sentences),
            "gold": len(texts.gold),
            "chance": 0,
        }

    def _mined(
        self, texts: MiningSet, source: np.ndarray, target: np.ndarray
    ) -> tuple[Mined, np.ndarray, dict[str, object]]:
        """Pairs by number of sentence, whether each is a gold pair, and facts of the search."""
        used = [np.flatnonzero(usable(side)) for side in (source, target)]
        empty = np.empty(0, dtype=np.int64)
        if not all(map(len, used)):
            return Mined(empty, empty, np.empty(0)), np.empty(0, dtype=bool), {"search": "none"}
        x, y = (unit(side[rows]) for side, rows in zip((source, target), used, strict=True))
        nearest, facts = search(x, y, NEIGHBOURS, device=self.device)
        mined = mine(x, y, nearest)
        pairs = Mined(used[0][mined.sources], used[1][mined.targets], mined.margins)
        gold = set(texts.gold)
        both = zip(pairs.sources.tolist(), pairs.targets.tolist(), strict=True)
        return pairs, np.array([pair in gold for pair in both], dtype=bool), facts


def make(name: str, data: TaskData) -> list[Task]:
    """Benchmarks of mining, and sets made of held-out pairs; a warning names those with too few gold pairs."""
    seed, device = data.settings.seed, data.device
    tasks: list[Task] = [Mining(name, texts, seed, device) for texts in data.sets(mining.read)]
    for pairs, _ in data.held_out_sets():
        try:
            tasks.append(Mining(name, diluted(pairs, SHARE), seed, device))
        except DataError as error:
            logger.warning("%s; the pair is left out", error)
    return tasks


def diluted(pairs: PairSet, share: float) -> MiningSet:
    """Two lists made of N sentence pairs, of which g are in both lists and the others in one: as in BUCC.

    Every second one of the others gives its source sentence and the rest their targets, so that a list has (N + g) / 2
    sentences; g = share N / (2 - share) makes the gold pairs the wanted share of it. The pairs of both lists are spread
    evenly over the N.
    """
    n = len(pairs.source_sentences)
    gold = round(share * n / (2 - share))
    whole = set(np.linspace(0, n - 1, gold).round().astype(int).tolist()) if gold else set()
    sources: list[str] = []
    targets: list[str] = []
    both = []
    for row in range(n):
        if row in whole:
            both.append((len(sources), len(targets)))
        alone = row % 2
        if row in whole or alone == 0:
            sources.append(pairs.source_sentences[row])
        if row in whole or alone == 1:
            targets.append(pairs.target_sentences[row])
    return MiningSet(pairs.name, pairs.source, pairs.target, sources, targets, both)


def _gold(texts: MiningSet, half: np.ndarray) -> list[tuple[int, int]]:
    """The gold pairs whose source sentence is in a half."""
    return [pair for pair in texts.gold if half[pair[0]]]


def _threshold(margins: np.ndarray, correct: np.ndarray, gold: int) -> float:
    """The best threshold; above all margins where no pair was mined."""
    return best_threshold(margins, correct, gold).value if len(margins) else np.inf
