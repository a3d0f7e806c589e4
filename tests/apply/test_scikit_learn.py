"""scikit-learn's own checks of an estimator, and its names and habits beside ours."""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse
import torch
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import orthoglot
from orthoglot.apply import ready
from orthoglot.decomposers.base import unit
from orthoglot.errors import ConfigError, DataError

N, D = 400, 12
GENERATOR = np.random.default_rng(5)
MEANING = GENERATOR.normal(size=(N, D)) * np.linspace(2, 0.1, D)
A, B = (
    (MEANING + 0.2 * GENERATOR.normal(size=(N, D)) + GENERATOR.normal(size=D)).astype(np.float32)
    for _ in range(2)
)


class OneArgument(orthoglot.Decomposer):
    """The estimator for checks that call fit(X): the translations are X with a little of each row's square."""

    def __init__(
        self, shrinkage: float = 0.5, random_state: int | None = None, n_jobs: int | None = None
    ) -> None:
        super().__init__(shrinkage=shrinkage, random_state=random_state, n_jobs=n_jobs)

    def fit(self, X: Any, y: Any = None) -> OneArgument:
        dense = np.asarray(X, dtype=float) if not scipy.sparse.issparse(X) else X
        if not scipy.sparse.issparse(X) and dense.ndim == 2:
            dense = dense + 0.01 * dense**2 + 0.3
        return super().fit(X, dense, "en", "gn")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


@parametrize_with_checks([OneArgument()])
def test_the_checks_of_scikit_learn_pass(estimator: Any, check: Any) -> None:
    check(estimator)


def independent_plda(a: np.ndarray, b: np.ndarray, shrinkage: float) -> tuple[np.ndarray, np.ndarray]:
    """The directions of PLDA by another way: the generalised eigenproblem of both scatters, the largest first.

    Of one pair of languages the shared covariance is a multiple of the identity (`_shared`: r is 1).
    """
    x, y = (side.astype(float) / np.linalg.norm(side, axis=1, keepdims=True) for side in (a, b))
    within = (x - y).T @ (x - y) / len(x) / 2
    within = (1 - shrinkage) * within + shrinkage * np.trace(within) / D * np.eye(D)
    between = np.trace((x - x.mean(0)).T @ (y - y.mean(0)) / len(x)) / D * np.eye(D)
    w, directions = scipy.linalg.eigh(between, within)
    return w[::-1], directions[:, ::-1]


@pytest.mark.parametrize("dim", [2, 5, D])
def test_dim_keeps_the_directions_in_which_meanings_differ_most(dim: int) -> None:
    split = orthoglot.Decomposer(dim=dim, shrinkage=0.3).fit(A, B, "en", "gn")
    found = split.transform(A)
    w, directions = independent_plda(A, B, 0.3)
    x, y = unit(A).astype(float), unit(B).astype(float)
    centred = x - (x.mean(0) + y.mean(0)) / 2
    # The variance of a number between meanings is w^2 / (1 + w): its scale is sqrt(w / (1 + w)).
    expected = centred @ directions * np.sqrt(w / (1 + w))
    assert found.shape == (N, dim)
    assert (np.diff(w**2 / (1 + w)) <= 0).all()
    np.testing.assert_allclose(
        np.abs(found[:, 1:]), np.abs(expected[:, : dim - 1]), atol=2e-4 * np.abs(expected).max()
    )
    assert np.ptp(found[:, 0]) < 1e-6 * found[0, 0]
    assert split.language_part(A).shape == (N, D)
    # The same numbers as without dim, and as `encode(dim=)` before it scales them.
    whole = orthoglot.Decomposer(shrinkage=0.3).fit(A, B, "en", "gn").transform(A)
    np.testing.assert_allclose(found, whole[:, :dim], atol=1e-5)


def test_a_cut_split_is_saved_and_opened_again(tmp_path: Path) -> None:
    split = orthoglot.Decomposer(dim=4).fit(A, B, "en", "gn")
    split.save(tmp_path / "cut")
    again = orthoglot.Decomposer.load(tmp_path / "cut")
    np.testing.assert_array_equal(again.transform(A), split.transform(A))
    assert again.get_feature_names_out().tolist() == [f"decomposer{n}" for n in range(4)]
    assert again.dim == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "seed", "dim": 4}, "dim does nothing with method 'seed'"),
        ({"method": "whitening", "dim": 4}, "dim does nothing with method 'whitening'"),
        ({"method": "original", "dim": 4}, "dim does nothing with method 'original'"),
        ({"dim": 1}, "dim 1: the vectors have 12 dimensions"),
        ({"dim": D + 1}, "dim 13: the vectors have 12 dimensions"),
        ({"dim": 4.0}, "dim 4.0: give a whole number"),
        (
            {"method": "seed", "shrinkage": 0.3},
            "method seed: shrinkage does nothing with architecture 'residual'",
        ),
        ({"shrinkage": 1.0}, "shrinkage: Input should be less than 1"),
        ({"method": "leace", "prior": "ready"}, "prior does nothing with method 'leace'"),
        ({"prior": "small"}, "prior 'small': give 'ready' or None"),
        ({"seed": 1, "random_state": 2}, "seed 1 and random_state 2: these are two names of one setting"),
        ({"threads": 1, "n_jobs": 2}, "threads 1 and n_jobs 2: these are two names"),
        ({"random_state": np.random.RandomState(1)}, "random_state .*: give a whole number"),
        ({"seed": True}, "seed True: give a whole number"),
        ({"n_jobs": 0}, "threads 0: must be at least 1"),
        ({"threads": -1}, "threads -1: must be at least 1"),
    ],
)
def test_settings_that_do_nothing_or_contradict_each_other_are_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        orthoglot.Decomposer(**settings).fit(A, B, "en", "gn")


def test_the_names_of_scikit_learn_mean_the_same_as_ours(tmp_path: Path) -> None:
    fast: dict[str, Any] = {"method": "seed", "max_epochs": 2, "batch_size": 128, "device": "cpu"}
    ours = orthoglot.Decomposer(**fast, seed=3, threads=1).fit(A, B, "en", "gn")
    theirs = orthoglot.Decomposer(**fast, random_state=3, n_jobs=1).fit(A, B, "en", "gn")
    other = orthoglot.Decomposer(**fast, random_state=4).fit(A, B, "en", "gn")
    np.testing.assert_array_equal(ours.transform(A), theirs.transform(A))
    assert not np.array_equal(ours.transform(A), other.transform(A))
    assert ours.decomposer_.details["seed"] == theirs.decomposer_.details["seed"] == 3
    assert orthoglot.Decomposer(n_jobs=-1)._threads() >= 1
    # Both given, and equal.
    orthoglot.Decomposer(**fast, seed=3, random_state=3).fit(A, B, "en", "gn")
    copied = clone(theirs)
    assert copied.get_params() == theirs.get_params()
    assert copied.set_params(random_state=5).random_state == 5
    # A grid of NumPy's numbers, which no JSON holds.
    (grid,) = ParameterGrid(
        {"batch_size": np.array([128]), "random_state": np.array([3]), "learning_rate": [1e-3]}
    )
    searched = clone(theirs).set_params(**grid).fit(A, B, "en", "gn")
    np.testing.assert_array_equal(searched.transform(A), ours.transform(A))
    searched.save(tmp_path / "grid")
    assert orthoglot.Decomposer.load(tmp_path / "grid").get_params() == searched.get_params()


def test_a_shrinkage_lets_few_pairs_do() -> None:
    with pytest.raises(
        DataError, match=r"shrinkage is chosen with 10 sentence pairs .*: give more pairs, or shrinkage"
    ):
        orthoglot.Decomposer().fit(A[:9], B[:9], "en", "gn")
    with pytest.raises(DataError, match=r"1 sample\(s\) of translations: PLDA needs 2"):
        orthoglot.Decomposer(shrinkage=0.5).fit(A[:1], B[:1], "en", "gn")
    for n in (2, 5, 9):
        few = orthoglot.Decomposer(shrinkage=0.5).fit(A[:n], B[:n], "en", "gn")
        assert few.decomposer_.details["shrinkage"] == 0.5
        assert np.isfinite(few.transform(A)).all()
    chosen = orthoglot.Decomposer().fit(A, B, "en", "gn")
    given = orthoglot.Decomposer(shrinkage=chosen.decomposer_.details["shrinkage"]).fit(A, B, "en", "gn")
    np.testing.assert_array_equal(given.transform(A), chosen.transform(A))


def test_frames_go_in_and_out() -> None:
    columns = [f"e{n}" for n in range(D)]
    a, b = (pd.DataFrame(side, columns=columns, index=range(5, 5 + N)) for side in (A, B))
    split = orthoglot.Decomposer().fit(a, b, "en", "gn").set_output(transform="pandas")
    assert split.feature_names_in_.tolist() == columns
    found = split.transform(a)
    assert isinstance(found, pd.DataFrame)
    assert (
        found.columns.tolist()
        == split.get_feature_names_out().tolist()
        == [f"decomposer{n}" for n in range(D)]
    )
    assert found.index.equals(a.index)
    plain = orthoglot.Decomposer().fit(A, B, "en", "gn").transform(A)
    np.testing.assert_allclose(found, plain, atol=1e-4)
    np.testing.assert_allclose(split.set_output(transform="default").transform(a), plain, atol=1e-4)
    with pytest.raises(ValueError, match="feature names"):
        split.transform(a[columns[::-1]])


@pytest.mark.parametrize(
    "given",
    [
        torch.tensor(A, requires_grad=True),
        torch.tensor(A).double(),
        A.astype(np.float64),
        np.asfortranarray(A),
        np.repeat(A, 2, axis=0)[::2],
        A.tolist(),
        pd.DataFrame(A),
    ],
    ids=lambda given: type(given).__name__,
)
def test_every_form_of_the_same_numbers_gives_the_same(given: Any) -> None:
    expected = orthoglot.Decomposer().fit(A, B, "en", "gn").transform(A)
    found = orthoglot.Decomposer().fit(given, B, "en", "gn").transform(given)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_small_types_are_taken_as_float32() -> None:
    split = orthoglot.Decomposer().fit(A, B, "en", "gn")
    for small in (A.astype(np.float16), torch.tensor(A).bfloat16()):
        exact = np.asarray(torch.as_tensor(small).float())
        np.testing.assert_array_equal(split.transform(small), split.transform(exact))
        assert split.transform(small).dtype == np.float32
    whole = np.rint(10 * A).astype(np.int8)
    np.testing.assert_array_equal(split.transform(whole), split.transform(whole.astype(np.float32)))


@pytest.mark.parametrize(
    "make", [scipy.sparse.csr_matrix, scipy.sparse.coo_array, lambda x: torch.tensor(x).to_sparse()]
)
def test_sparse_vectors_are_refused_by_name(make: Any) -> None:
    split = orthoglot.Decomposer().fit(A, B, "en", "gn")
    for name, call in (
        ("a", lambda: orthoglot.Decomposer().fit(make(A), B, "en", "gn")),
        ("b", lambda: orthoglot.Decomposer().fit(A, make(B), "en", "gn")),
        ("x", lambda: split.transform(make(A))),
        ("x", lambda: split.language_part(make(A))),
    ):
        with pytest.raises(TypeError, match=f"^{name} is a sparse .*dense data is required"):
            call()


def test_what_is_no_table_of_numbers_is_said() -> None:
    split = orthoglot.Decomposer().fit(A, B, "en", "gn")
    for given, message in (
        (A[0], r"x is \(12,\), expected \(N, D\). Reshape your data"),
        (A[None], r"x is \(1, 400, 12\), expected"),
        (None, "x is NoneType, expected vectors"),
        ([[1.0], [1.0, 2.0]], "x: its rows differ in length"),
        (A[:, :3], "X has 3 features, but Decomposer is expecting 12"),
    ):
        with pytest.raises(ValueError, match=message):
            split.transform(given)
    with pytest.raises(TypeError, match=r"lang_a\[1\] is None; give strings$"):
        orthoglot.Decomposer().fit(A[:2], B[:2], ["en", None], "gn")
    assert split.transform(A[:0]).shape == (0, D)


@pytest.mark.parametrize("method", ["plda", "centering", "whitening", "lsar", "procrustes", "seed"])
def test_a_row_of_nan_stays_one_and_fit_leaves_its_pair_out(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    fast: dict[str, Any] = {"max_epochs": 2, "batch_size": 64, "device": "cpu"}
    a, b = A.copy(), B.copy()
    a[[3, 7]] = b[[7, 11]] = np.nan
    kept = np.setdiff1d(np.arange(N), [3, 7, 11])
    mask = np.arange(N) % 10 == 1  # row 11 among them
    langs = np.where(np.arange(N) % 2, "gn", "ay")
    with caplog.at_level(logging.WARNING):
        split = orthoglot.Decomposer(method, **fast).fit(a, b, "en", langs, valid=mask)
    assert "fit: left out 3 of 400 pairs with a blank side (NaN)" in caplog.text
    expected = orthoglot.Decomposer(method, **fast).fit(A[kept], B[kept], "en", langs[kept], valid=mask[kept])
    for part in ("transform", "language_part"):
        found = getattr(split, part)(a, "en")
        assert np.isnan(found[[3, 7]]).all()
        np.testing.assert_allclose(found[kept], getattr(expected, part)(A[kept], "en"), atol=1e-5)
    with pytest.raises(DataError, match="0 pairs to train on"):
        orthoglot.Decomposer(method, **fast).fit(np.full_like(A, np.nan), B, "en", "gn")


@pytest.mark.parametrize(("value", "row"), [(np.nan, 3), (np.inf, 5), (-np.inf, 0)])
def test_any_other_row_that_is_not_finite_is_named(value: float, row: int) -> None:
    wrong = A.copy()
    wrong[9] = np.nan  # a blank line's
    wrong[row, 2] = value
    split = orthoglot.Decomposer().fit(A, B, "en", "gn")
    for name, call in (
        ("a", lambda: orthoglot.Decomposer().fit(wrong, B, "en", "gn")),
        ("b", lambda: orthoglot.Decomposer().fit(A, wrong, "en", "gn")),
        ("x", lambda: split.transform(wrong)),
    ):
        with pytest.raises(
            DataError, match=rf"^{name}: row {row} \(from 0\) has a number that is not finite"
        ):
            call()


def test_a_pipeline_takes_the_languages_by_the_name_of_its_step() -> None:
    pipe = Pipeline([("decomposer", orthoglot.Decomposer())])
    pipe.fit(A, B, decomposer__lang_a="en", decomposer__lang_b="gn")
    np.testing.assert_array_equal(
        pipe.transform(A), orthoglot.Decomposer().fit(A, B, "en", "gn").transform(A)
    )
    assert pipe.get_feature_names_out()[0] == "decomposer0"
    # joblib sends pipelines to other processes so.
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(pipe)).transform(A), pipe.transform(A))


def of_the_ready_encoder(n: int, seed: int = 2, noise: float = 1) -> tuple[np.ndarray, np.ndarray]:
    """Vectors that lie as those of the ready model's encoder do, by its stored mean and covariances.

    `noise` times as far apart are translations.
    """
    scatter = ready.load().prior.scatter
    generator = np.random.default_rng(seed)

    def drawn(covariance: np.ndarray) -> np.ndarray:
        sizes, axes = np.linalg.eigh(covariance)
        return generator.normal(size=(n, len(sizes))) * np.sqrt(np.maximum(sizes, 0)) @ axes.T

    meaning = scatter.mean + drawn(scatter.between)
    return tuple((meaning + noise * drawn(scatter.within)).astype(np.float32) for _ in range(2))  # type: ignore[return-value]


def test_the_ready_model_is_a_start_for_its_own_encoder() -> None:
    a, b = of_the_ready_encoder(300, noise=2)
    x, y = of_the_ready_encoder(40, seed=3)
    found = orthoglot.Decomposer(prior="ready").fit(x, y, "en", "gn")
    details = found.decomposer_.details
    prior = ready.load()
    assert details["prior_pairs"] == prior.prior.scatter.pairs
    assert details["start"] == {"sha256": prior.sha256, "text": prior.about["text"]}
    assert details["shrinkage"] == prior.prior.settings["shrinkage"]
    json.dumps(details)

    def p_at_1(split: orthoglot.Decomposer) -> float:
        one, other = unit(split.transform(a)), unit(split.transform(b))
        return float(((one @ other.T).argmax(axis=1) == np.arange(300)).mean())

    assert p_at_1(found) > p_at_1(orthoglot.Decomposer().fit(x, y, "en", "gn"))
    # Two pairs, and a shrinkage of one's own.
    few = orthoglot.Decomposer(prior="ready", shrinkage=0.7).fit(x[:2], y[:2], "en", "gn")
    assert few.decomposer_.details["shrinkage"] == 0.7
    assert few.languages_ == ["en", "gn"]


def test_the_ready_model_is_refused_for_vectors_of_another_encoder() -> None:
    with pytest.raises(DataError, match="whose vectors have 384 numbers; these have 12"):
        orthoglot.Decomposer(prior="ready").fit(A, B, "en", "gn")
    a, b = of_the_ready_encoder(40)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(384, 384)))[0]
    with pytest.raises(DataError, match=r"the cosine of the mean directions is .*, expected 0.7 or more"):
        orthoglot.Decomposer(prior="ready").fit(a @ turn, b @ turn, "en", "gn")
