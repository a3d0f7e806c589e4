"""Language-identification probe: can a linear classifier read the language off a vector?"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from orthoglot.errors import DataError
from orthoglot.evaluation.base import ALL, LEFT_OUT, unit, usable
from orthoglot.streams import derive

MAX_ITERATIONS = 500
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LanguageProbe:
    """Multinomial logistic regression from a vector to its language, equally many sentences per language.

    Accuracy, scale 0 to 100, chance 100 / K. Higher is better for the language view, lower for the meaning
    view, whose ideal is chance. The last sentences of each language are the test part, so which items are
    scored never depends on the vectors.
    """

    sentences: Mapping[str, Sequence[str]]
    n_test: int
    name: str = "language-probe"
    dataset: str = "test"

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """One side per language."""
        return {language: (texts, language) for language, texts in self.sentences.items()}

    def score(self, vectors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """{language: (n, D)} -> {"all": (K * n_test,) int8}, languages in sorted order."""
        stacked = {language: vectors[language] for language in sorted(vectors)}
        train = np.concatenate([rows[: -self.n_test] for rows in stacked.values()])
        test = np.concatenate([rows[-self.n_test :] for rows in stacked.values()])
        train_languages = np.concatenate(
            [[name] * (len(rows) - self.n_test) for name, rows in stacked.items()]
        )
        test_languages = np.repeat(list(stacked), self.n_test)
        return {ALL: probe(train, train_languages, test, test_languages)}

    def facts(self, subset: str) -> dict[str, object]:
        """Classifier, sizes, chance."""
        k = len(self.sentences)
        n = len(next(iter(self.sentences.values())))
        return {
            "classifier": "standardised-logistic-regression",
            "languages": k,
            "train": k * (n - self.n_test),
            "test": k * self.n_test,
            "chance": round(100 / k, 6),
        }


def probe(
    train: np.ndarray, train_languages: np.ndarray, test: np.ndarray, test_languages: np.ndarray
) -> np.ndarray:
    """Fit on `train`, score `test`.

    Args:
        train: (n, D); rows that are zero or not finite are left out.
        train_languages: (n,) codes.
        test: (m, D).
        test_languages: (m,) codes.
    Returns:
        (m,) int8: 1 right, 0 wrong, -1 left out.
    Raises:
        DataError: fewer than two languages have a usable training vector.
    """
    kept = usable(train)
    if len(set(train_languages[kept])) < 2:
        raise DataError("language probe: fewer than two languages have usable training vectors")
    result = np.full(len(test), LEFT_OUT, dtype=np.int8)
    scored = usable(test)
    if not scored.any():
        return result
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=MAX_ITERATIONS))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        # float64, as lbfgs stalls on float32 vectors of very small variance.
        classifier.fit(unit(train[kept].astype(np.float64)), train_languages[kept])
    if any(issubclass(warning.category, ConvergenceWarning) for warning in caught):
        logger.warning("language probe: not converged after %d iterations", MAX_ITERATIONS)
    predicted = classifier.predict(unit(test[scored].astype(np.float64)))
    result[scored] = predicted == test_languages[scored]
    return result


def sample(
    sentences: Mapping[str, Sequence[str]], *, size: int, test_share: float, seed: int
) -> LanguageProbe:
    """A probe over equally many distinct sentences of each language.

    Args:
        sentences: every held-out sentence by language; at least two languages.
        size: sentences per language, fewer if the smallest language has fewer.
        test_share: share of each language's sentences that is scored.
        seed: of the draw, which is the same for every encoder, method and view.
    Raises:
        DataError: fewer than two languages, or too few sentences to train and test on.
    """
    texts = {language: sorted(set(sentences[language])) for language in sorted(sentences)}
    if len(texts) < 2:
        raise DataError(f"language probe: needs at least two languages, got {', '.join(texts) or 'none'}")
    smallest = min(texts, key=lambda language: len(texts[language]))
    n = min(size, len(texts[smallest]))
    n_test = max(1, round(n * test_share))
    if n <= n_test:
        raise DataError(
            f"language probe: {smallest} has {len(texts[smallest])} held-out sentences, too few "
            f"to test on {n_test} and train on the rest"
        )
    drawn = {}
    for language, candidates in texts.items():
        order = np.random.default_rng(derive(seed, "language-probe", language)).permutation(len(candidates))
        drawn[language] = [candidates[i] for i in order[:n]]
    return LanguageProbe(sentences=drawn, n_test=n_test)
