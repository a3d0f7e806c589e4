"""All closed forms: fitted, applied, written to disk and read back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from worlds import DIM, Texts, split, world

from orthoglot.decomposers import architecture as named
from orthoglot.decomposers import names
from orthoglot.decomposers.base import ClosedForm, Decomposer, load_decomposer
from orthoglot.decomposers.closed_forms import compute
from orthoglot.decomposers.cross_validation import Block
from orthoglot.errors import DataError

SETTINGS: dict[str, dict[str, Any]] = {
    "lir": {"rank": 2},
    "lsar": {"rank": 2},
    "whitening": {"shrinkage": 0.1},
    "plda": {"shrinkage": 0.3},
    "procrustes": {"ridge": 0.1},
    "shift": {"scale": 0.7},
}
CLOSED_FORMS = [name for name in names() if isinstance(named(name), ClosedForm)]
# The meaning of PLDA has coordinates of its own.
ADDING_UP = [name for name in CLOSED_FORMS if name not in ("plda", "shift")]


def blocks(texts: Texts, size: int = 60) -> Iterator[Block]:
    """English with every other language, the first 60 sentences of each, in blocks."""
    for name in ("de", "ja", "zh"):
        for start in range(0, 60, size):
            rows = slice(start, min(start + size, 60))
            yield texts["en"][rows], texts[name][rows], ("en", name)


def alike(found: Iterable[Block]) -> Iterator[Block]:
    """The same with translations that have something in common, without which PLDA fits nothing."""
    rng = np.random.default_rng(0)
    for source, target, pair in found:
        shared = 6 * rng.normal(size=source.shape)
        yield source + shared, target + shared, pair


def computed(architecture: str, found: Iterable[Block], languages: Sequence[str]) -> dict[str, np.ndarray]:
    form = named(architecture)
    assert isinstance(form, ClosedForm)
    found = alike(found) if architecture == "plda" else found
    return compute(form, found, languages, DIM, SETTINGS.get(architecture, {}))[0]


def fitted(architecture: str, texts: Texts, size: int = 60) -> Decomposer:
    weights = computed(architecture, blocks(texts, size), list(texts))
    return Decomposer(architecture, "m", "toy", "abc", list(texts), DIM, weights, {})


@pytest.mark.parametrize("architecture", CLOSED_FORMS)
def test_parts_are_float32_and_come_back_from_disk(architecture: str, tmp_path: Path) -> None:
    texts = world()
    decomposer = fitted(architecture, texts)
    decomposer.save(tmp_path)
    loaded = load_decomposer(tmp_path)
    assert all(array.dtype == np.float32 for array in loaded.weights.values())
    for name, vectors in texts.items():
        for ours, theirs in zip(
            loaded.transform(vectors, name), decomposer.transform(vectors, name), strict=True
        ):
            assert ours.dtype == np.float32
            np.testing.assert_array_equal(ours, theirs)
        assert np.abs(loaded.transform(vectors, name).language).max() > 0.1


@pytest.mark.parametrize("architecture", ADDING_UP)
def test_parts_add_up_to_float32_rounding(architecture: str) -> None:
    texts = world()
    decomposer = fitted(architecture, texts)
    for name, vectors in texts.items():
        parts = decomposer.transform(vectors, name)
        largest = np.maximum(np.abs(parts.meaning), np.abs(parts.language))
        error = np.abs(parts.meaning + parts.language - parts.sentence)
        assert (error <= 2 * np.spacing(largest)).all()


@pytest.mark.parametrize("architecture", CLOSED_FORMS)
def test_float32_results_agree_with_float64(architecture: str) -> None:
    texts = world()
    decomposer = fitted(architecture, texts)
    exact, _ = split(architecture, decomposer.weights, texts)
    for name, vectors in texts.items():
        np.testing.assert_allclose(decomposer.transform(vectors, name).meaning, exact[name], atol=1e-4)


@pytest.mark.parametrize("architecture", CLOSED_FORMS)
def test_the_size_of_the_blocks_changes_nothing(architecture: str) -> None:
    texts = world()
    one, other = fitted(architecture, texts), fitted(architecture, texts, size=7)
    for name, vectors in texts.items():
        ours, theirs = (found.transform(vectors, name).meaning for found in (one, other))
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize("architecture", CLOSED_FORMS)
def test_sentences_of_several_languages_are_split_row_by_row(architecture: str) -> None:
    texts = world()
    decomposer = fitted(architecture, texts)
    names = ["zh", "de", "zh", "en"]
    rows = np.stack([texts[name][i] for i, name in enumerate(names)])
    mixed = decomposer.transform(rows, names)
    for i, name in enumerate(names):
        alone = decomposer.transform(rows[i : i + 1], name)
        np.testing.assert_allclose(mixed.meaning[i], alone.meaning[0], atol=1e-4)
        np.testing.assert_allclose(mixed.language[i], alone.language[0], atol=1e-4)


@pytest.mark.parametrize("architecture", CLOSED_FORMS)
def test_an_unknown_language_is_refused_where_languages_have_weights_of_their_own(architecture: str) -> None:
    texts = world()
    decomposer = fitted(architecture, texts)
    form = named(architecture)
    assert isinstance(form, ClosedForm)
    if form.by_language:
        with pytest.raises(DataError, match="no weights of language 'fr'; known: de, en, ja, zh"):
            decomposer.transform(texts["de"], "fr")
    else:
        parts = decomposer.transform(texts["de"], "fr")
        np.testing.assert_array_equal(parts.meaning, decomposer.transform(texts["de"], "de").meaning)


@pytest.mark.parametrize("architecture", CLOSED_FORMS)
def test_a_language_without_sentences_is_refused(architecture: str) -> None:
    texts = world()
    with pytest.raises(DataError, match=r"no training sentence in fr|no translations link fr"):
        computed(architecture, blocks(texts), [*texts, "fr"])


def test_a_form_that_reads_sums_alone_refuses_it_too() -> None:
    form = ClosedForm(
        lambda moments: {"mean": moments.sums.sum(axis=0) / moments.counts.sum()},
        lambda weights, vectors, _: (vectors - weights["mean"], weights["mean"]),
        {"mean": "D"},
    )
    with pytest.raises(DataError, match="no training sentence in fr"):
        compute(form, blocks(world()), [*world(), "fr"], DIM, {})


def test_s10_means_vanish_and_a_constant_shift_of_a_language_changes_nothing() -> None:
    texts = dict(world())
    before = fitted("centering", texts)
    for name in texts:
        own = texts[name][:60]
        assert np.abs(before.transform(own, name).meaning.mean(axis=0)).max() < 1e-5
    moved = {**texts, "zh": texts["zh"] + 4.0}
    after = fitted("centering", moved)
    for name in texts:
        ours, theirs = before.transform(texts[name], name), after.transform(moved[name], name)
        np.testing.assert_allclose(ours.meaning, theirs.meaning, atol=1e-5)


def test_a_pivot_is_centred_by_its_mean_in_the_pair() -> None:
    texts = world()
    source, target, pair = next(blocks(texts))
    # English differs in its pair with German.
    by_pair = [(source + 3.0, target, pair), *list(blocks(texts))[1:]]
    weights = computed("pair_centering", by_pair, list(texts))
    decomposer = Decomposer("pair_centering", "m", "toy", "abc", list(texts), DIM, weights, {})
    pooled = computed("centering", by_pair, list(texts))["means"]
    en = list(texts).index("en")
    for other, theirs in (("de", source + 3.0), ("zh", source)):
        centred = decomposer.transform(theirs, "en", other).meaning
        assert np.abs(centred.mean(axis=0)).max() < 1e-5
    # Without a partner, or one without translations: as plain centering.
    for partner in (None, "en"):
        found = decomposer.transform(source, "en", partner)
        np.testing.assert_allclose(found.language[0], pooled[en], atol=1e-6)
    with pytest.raises(DataError, match="no weights of language 'fr'"):
        decomposer.transform(source, "en", "fr")
    german = decomposer.transform(texts["de"], "de", "zh")
    np.testing.assert_allclose(german.language[0], pooled[list(texts).index("de")], atol=1e-6)
    assert np.abs(decomposer.transform(source, "en", "de").language[0] - pooled[en]).max() > 1
