from __future__ import annotations

import numpy as np
import pytest

from orthoglot.errors import DataError
from orthoglot.evaluation.base import LEFT_OUT
from orthoglot.evaluation.classification import sample

LANGUAGES = ("de", "en", "fr", "ja")
TEXTS = {language: [f"{language} {i}" for i in range(200)] for language in LANGUAGES}


def accuracy(found: np.ndarray) -> float:
    return float(found[found != LEFT_OUT].mean())


def test_the_probe_reads_language_where_it_is_and_only_there() -> None:
    rng = np.random.default_rng(0)
    probe = sample(TEXTS, size=200, test_share=0.5, seed=1)
    meaning = {language: rng.normal(size=(200, 16)) for language in LANGUAGES}
    centres = {language: rng.normal(size=16) for language in LANGUAGES}
    language = {name: rows + 3 * centres[name] for name, rows in meaning.items()}
    assert probe.facts("all")["chance"] == 25
    assert accuracy(probe.score(language)["all"]) > 0.97
    # 400 items at p = 1/4: sd 2.2 points; within four of them.
    assert accuracy(probe.score(meaning)["all"]) == pytest.approx(0.25, abs=0.09)


def test_every_language_has_equally_many_sentences_from_its_own() -> None:
    probe = sample({**TEXTS, "gn": ["x", "y", "z", "z", "z"]}, size=50, test_share=0.3, seed=1)
    assert {language: len(texts) for language, texts in probe.sentences.items()} == dict.fromkeys(
        [*LANGUAGES, "gn"], 3
    )
    assert probe.n_test == 1
    assert set(probe.sentences["de"]) <= set(TEXTS["de"])


def test_the_draw_depends_on_the_seed_and_not_on_the_order_of_the_texts() -> None:
    backwards = {language: texts[::-1] for language, texts in reversed(TEXTS.items())}
    one = sample(TEXTS, size=20, test_share=0.5, seed=1)
    assert one == sample(backwards, size=20, test_share=0.5, seed=1)
    assert one != sample(TEXTS, size=20, test_share=0.5, seed=2)


def test_vectors_without_direction_are_left_out() -> None:
    probe = sample(TEXTS, size=20, test_share=0.5, seed=1)
    rng = np.random.default_rng(1)
    vectors = {language: rng.normal(size=(20, 4)) for language in LANGUAGES}
    vectors["de"][-1] = 0
    vectors["de"][0] = np.nan
    found = probe.score(vectors)["all"]
    assert len(found) == 40
    assert (found == LEFT_OUT).tolist() == [i == 9 for i in range(40)]


def test_too_little_text_is_refused() -> None:
    with pytest.raises(DataError, match="two languages"):
        sample({"de": ["a", "b"]}, size=5, test_share=0.5, seed=1)
    with pytest.raises(DataError, match="en has 1"):
        sample({"de": ["a", "b"], "en": ["c"]}, size=5, test_share=0.5, seed=1)
