from __future__ import annotations

import numpy as np
import pytest

from orthoglot.errors import DataError
from orthoglot.statistics.records import LEFT_OUT
from orthoglot.study.tasks import logistic
from orthoglot.study.tasks.kinds.language_probe import sample
from orthoglot.text.keys import keys_of

LANGUAGES = ("de", "en", "fr", "ja")
# Sentence i of every language says the same.
KEYS = keys_of(f"en {i}" for i in range(500)).tolist()
TEXTS = {language: [(f"{language} {i}", KEYS[i]) for i in range(500)] for language in LANGUAGES}


def accuracy(found: np.ndarray) -> float:
    return float(found[found != LEFT_OUT].mean())


def test_the_probe_reads_language_where_it_is_and_only_there() -> None:
    rng = np.random.default_rng(0)
    probe = sample(TEXTS, size=200, test_share=0.5, seed=1)
    meaning = {language: rng.normal(size=(200, 16)) for language in LANGUAGES}
    centres = {language: rng.normal(size=16) for language in LANGUAGES}
    language = {name: rows + 3 * centres[name] for name, rows in meaning.items()}
    assert probe.facts("all")["chance"] == 25
    assert accuracy(probe.score(language).scores["all"]) > 0.97
    # 400 items at p = 1/4: sd 2.2 points; within four of them.
    assert accuracy(probe.score(meaning).scores["all"]) == pytest.approx(0.25, abs=0.09)


def test_every_language_has_equally_many_sentences_from_its_own() -> None:
    few = [(f"gn {i // 2}", KEYS[i // 2]) for i in range(120)]
    probe = sample({**TEXTS, "gn": few}, size=80, test_share=0.3, seed=1)
    sizes = {language: len(texts) for language, texts in probe.sentences.items()}
    assert set(sizes) == {*LANGUAGES, "gn"}
    assert len(set(sizes.values())) == 1
    assert 40 < sizes["gn"] <= 60
    assert set(probe.sentences["de"]) <= {text for text, _ in TEXTS["de"]}


def test_no_meaning_is_on_both_sides_and_one_of_two_meanings_on_none() -> None:
    twice = [("de twice", KEYS[0]), ("de twice", KEYS[1])]
    probe = sample({**TEXTS, "de": TEXTS["de"] + twice}, size=500, test_share=0.5, seed=1)
    number = {text: i for texts in TEXTS.values() for i, (text, _) in enumerate(texts)}
    train, test = (
        {number[text] for texts in probe.sentences.values() for text in texts[part]}
        for part in (slice(-probe.n_test), slice(-probe.n_test, None))
    )
    assert len(train) > 150
    assert len(test) > 150
    assert not train & test
    tested = [number[text] for name in LANGUAGES for text in probe.sentences[name][-probe.n_test :]]
    assert probe.keys().tolist() == [KEYS[i] for i in tested]


def test_a_fit_that_stops_early_says_so() -> None:
    rng = np.random.default_rng(0)
    probe = sample(TEXTS, size=40, test_share=0.5, seed=1)
    noise = {language: rng.normal(size=(40, 8)) for language in LANGUAGES}
    assert probe.score(noise).facts == {"converged": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logistic, "MAX_ITERATIONS", 1)
        assert probe.score(noise).facts == {"converged": 0}


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
    found = probe.score(vectors).scores["all"]
    assert len(found) == 40
    assert (found == LEFT_OUT).tolist() == [i == 9 for i in range(40)]


def test_too_little_text_is_refused() -> None:
    with pytest.raises(DataError, match="two languages"):
        sample({"de": TEXTS["de"]}, size=5, test_share=0.5, seed=1)
    with pytest.raises(DataError, match=r"en has . and . held-out"):
        sample({"de": TEXTS["de"], "en": TEXTS["en"][:1]}, size=5, test_share=0.5, seed=1)


def test_a_language_with_hardly_a_sentence_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """Else all languages would have as few."""
    whole = sample(TEXTS, size=40, test_share=0.5, seed=1)
    probe = sample({**TEXTS, "gn": [("a", 1), ("b", 2), ("c", 3)]}, size=40, test_share=0.5, seed=1)
    assert probe == whole
    assert "left out: gn" in caplog.text
