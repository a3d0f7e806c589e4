"""The mean cosine of translations on a small example."""

from __future__ import annotations

import numpy as np

from orthoglot.study.benchmarks.base import PairSet
from orthoglot.study.tasks.kinds.translation_cosine import TranslationCosine


def test_cosines_are_those_of_the_pairs_and_a_zero_vector_is_left_out() -> None:
    pairs = PairSet("test", "en", "de", ["a", "b", "c"], ["x", "y", "z"])
    vectors = {"source": np.array([[2.0, 0], [1, 0], [0, 0]]), "target": np.array([[3.0, 4], [0, 5], [1, 1]])}
    found = TranslationCosine("translation-cosine", pairs).score(vectors).scores
    # 6 / (2 x 5), orthogonal, and no direction.
    np.testing.assert_allclose(found["en-de"], [[0.6], [0], [np.nan]])
