"""Language-identification probe: a linear classifier from a vector to its language."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orthoglot import settings
from orthoglot.decomposers.base import unit
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.random_streams import derive
from orthoglot.statistics.records import ACCURACY, ALL, LEFT_OUT
from orthoglot.study.tasks.base import Result, Task, TaskData
from orthoglot.study.tasks.registry import PROBE
from orthoglot.text.keys import keys_of
from orthoglot.usable_vectors import usable

TITLE = "Language probe"
QUESTION = "How often does a linear classifier tell a sentence's language from its vector?"
BETTER = PROBE
# A language with fewer sentences to train on or to test on is left out: all languages have as many as the smallest.
FEWEST = 10
logger = logging.getLogger(__name__)


class Settings(settings.Settings):
    """What the probe adds to the settings of an evaluation."""

    probe_sentences: settings.Count = 500
    """Sentences of each language in the task `language-probe`, at most."""
    probe_test_share: settings.Share = 0.5
    """Share of these that the probe is tested on; it learns from the others."""


@dataclass(frozen=True)
class LanguageProbe:
    """Multinomial logistic regression from a vector to its language, equally many sentences per language.

    Accuracy, scale 0 to 100, chance 100 / K. Higher is better for the language view, lower for the meaning
    view, whose ideal is chance. The last `n_test` sentences of each language are the test part, so which
    items are scored never depends on the vectors; `pivots` are the keys of their pivot sentences.
    Source: docs/papers.md#protocol-probe.
    """

    sentences: Mapping[str, Sequence[str]]
    pivots: Mapping[str, Sequence[int]]
    n_test: int
    name: str = "language-probe"
    dataset: str = "test"
    measure: str = ACCURACY

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """One side per language."""
        return {language: (texts, language) for language, texts in self.sentences.items()}

    def keys(self) -> np.ndarray:
        """(K * n_test,) uint64, languages in sorted order."""
        return np.concatenate([np.array(self.pivots[name], dtype=np.uint64) for name in sorted(self.pivots)])

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """{language: (n, D)} -> hits of "all", (K * n_test,), languages in sorted order.

        Rows that are zero or not finite are left out of the training and of the hits. A DataError if fewer than two
        languages have a usable training vector.
        """
        from orthoglot.study.tasks import logistic

        languages = sorted(vectors)
        train = np.concatenate([vectors[language][: -self.n_test] for language in languages])
        test = np.concatenate([vectors[language][-self.n_test :] for language in languages])
        taught = np.repeat(languages, [len(vectors[language]) - self.n_test for language in languages])
        learnt, scored = usable(train), usable(test)
        train, taught = train[learnt], taught[learnt]
        if len(set(taught)) < 2:
            raise DataError("language probe: fewer than two languages have usable training vectors")
        directions = unit(train.astype(np.float64))
        classifier, converged = logistic.trained(logistic.regression(), directions, taught, "language probe")
        hits = np.full(len(test), LEFT_OUT, dtype=np.int8)
        if scored.any():
            predicted = classifier.predict(unit(test[scored].astype(np.float64)))
            hits[scored] = predicted == np.repeat(languages, self.n_test)[scored]
        return Result({ALL: hits}, {"converged": int(converged)})

    def facts(self, subset: str) -> dict[str, object]:
        """Classifier, sizes, chance."""
        from orthoglot.study.tasks import logistic

        k = len(self.sentences)
        n = len(next(iter(self.sentences.values())))
        return {
            **logistic.FACTS,
            "languages": k,
            "train": k * (n - self.n_test),
            "test": k * self.n_test,
            "chance": round(100 / k, 6),
        }


def make(name: str, data: TaskData) -> list[Task]:
    """The probe over the held-out sentences of all language pairs."""
    sentences: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for pair, unseen in data.held_out.items():
        keys = keys_of(aligned.source for aligned in unseen.pairs).tolist()
        for side, language in enumerate(parse_pair(pair)):
            sentences[language] += [
                (aligned[side], key) for aligned, key in zip(unseen.pairs, keys, strict=True)
            ]
    size, share = data.settings.probe_sentences, data.settings.probe_test_share
    return [sample(sentences, size=size, test_share=share, seed=data.settings.seed)]


def sample(
    sentences: Mapping[str, Iterable[tuple[str, int]]], *, size: int, test_share: float, seed: int
) -> LanguageProbe:
    """A probe over equally many distinct sentences of each language.

    A hash of the pivot's key decides which half a sentence is drawn for, so translations are never in both. A
    sentence that translates two pivot sentences is in neither. A language with fewer than `FEWEST` sentences in a half
    is left out, which is logged, if two languages have more.

    Halves and draw are the same for every encoder, method and view.

    Args:
        sentences: (held-out sentence, key of its pivot sentence) by language; at least two languages.
        size: Sentences per language, fewer if a language has too few for a half.
        test_share: Share of each language's sentences that is scored.
    Raises:
        DataError: Fewer than two languages, or too few sentences to train and test on.
    """
    halves = {name: _halves(sentences[name], test_share, seed) for name in sorted(sentences)}
    if len(halves) < 2:
        raise DataError(f"language probe: needs at least two languages, got {', '.join(halves) or 'none'}")
    enough = {name: parts for name, parts in halves.items() if min(map(len, parts)) >= FEWEST}
    if 2 <= len(enough) < len(halves):
        left = ", ".join(name for name in halves if name not in enough)
        logger.warning("language probe: fewer than %d sentences in a half, left out: %s", FEWEST, left)
        halves = enough
    n_test = max(1, round(size * test_share))
    sizes = []
    for half, wanted in enumerate((max(1, size - n_test), n_test)):
        smallest = min(halves, key=lambda name: len(halves[name][half]))
        sizes.append(min(wanted, len(halves[smallest][half])))
        if not sizes[half]:
            counts = " and ".join(str(len(part)) for part in halves[smallest])
            raise DataError(
                f"language probe: {smallest} has {counts} held-out sentences to train and to test on"
            )
    drawn = {}
    for language, parts in halves.items():
        generator = np.random.default_rng(derive(seed, "language-probe", language))
        orders = [generator.permutation(len(part))[:n] for part, n in zip(parts, sizes, strict=True)]
        drawn[language] = [part[i] for part, order in zip(parts, orders, strict=True) for i in order]
    return LanguageProbe(
        sentences={language: [text for text, _ in items] for language, items in drawn.items()},
        pivots={language: [key for _, key in items[-sizes[1] :]] for language, items in drawn.items()},
        n_test=sizes[1],
    )


def _halves(
    sentences: Iterable[tuple[str, int]], test_share: float, seed: int
) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Distinct sentences to train and to test on, in sorted order."""
    pivots: dict[str, set[int]] = defaultdict(set)
    for text, key in sentences:
        pivots[text].add(key)
    halves: tuple[list[tuple[str, int]], list[tuple[str, int]]] = [], []
    for text, (key, *others) in sorted((text, sorted(keys)) for text, keys in pivots.items()):
        if not others:
            tested = derive(seed, "language-probe", "half", key) < test_share * 2**63
            halves[tested].append((text, key))
    return halves
