"""The decomposer in scikit-learn's manner: the workflow's numbers, scikit-learn's habits."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from sklearn.base import clone

import orthoglot
from orthoglot import catalogue
from orthoglot.decomposers.base import load_decomposer
from orthoglot.encoders.threads import cpu_threads
from orthoglot.errors import ConfigError, DataError
from orthoglot.search.hits import hits
from orthoglot.training.batching import PairRows
from orthoglot.training.decompose import Data, fit_decomposer, train
from orthoglot.training.settings import DecompositionSettings

N, D = 600, 16
FAST: dict[str, Any] = {"max_epochs": 3, "batch_size": 128, "device": "cpu"}


def world(n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Translations that differ by their languages' two vectors and a little noise."""
    generator = np.random.default_rng(0)
    meaning = np.concatenate([generator.normal(size=(n, D - 4)), np.zeros((n, 4))], axis=1)
    languages = np.concatenate([np.zeros((2, D - 4)), generator.normal(size=(2, 4)) * 3], axis=1)
    turn = np.linalg.qr(generator.normal(size=(D, D)))[0]
    sides = [(meaning + language + 0.2 * generator.normal(size=(n, D))) @ turn for language in languages]
    return sides[0].astype(np.float32), sides[1].astype(np.float32)


def mask(n: int = N) -> np.ndarray:
    return np.arange(n) % 10 == 0


@pytest.fixture(scope="module")
def fitted() -> orthoglot.Decomposer:
    return orthoglot.Decomposer("seed", **FAST).fit(*world(), "en", "gn")


@pytest.mark.parametrize("method", ["seed", "dream+oracle", "meat"])
def test_weights_are_those_of_the_workflows_training(method: str) -> None:
    a, b = world()
    generator = np.random.default_rng(1)
    lang_b = generator.choice(["gn", "ay"], size=N)
    ours = orthoglot.Decomposer(method, learning_rate=2e-3, seed=7, **FAST)
    ours.fit(a, b, "en", lang_b, valid=mask())
    places = torch.arange(N)
    ids = torch.from_numpy((lang_b == "gn").astype(np.int64) * 2)
    pairs = PairRows(places, places + N, torch.ones(N, dtype=torch.long), ids)
    held = torch.from_numpy(mask())
    data = Data(
        torch.from_numpy(np.concatenate([a, b])), ["ay", "en", "gn"], pairs.take(~held), pairs.take(held)
    )
    recipe = DecompositionSettings(learning_rate=2e-3, batch_size=128, max_epochs=3, patience=10)
    weights, history = train(
        catalogue.method(method), recipe, method, data, seed=7, device=torch.device("cpu"), checkpoint=None
    )
    assert set(weights) == set(ours.decomposer_.weights)
    for name, array in weights.items():
        np.testing.assert_array_equal(ours.decomposer_.weights[name], array)
    assert ours.history_ == history
    assert ours.languages_ == ["ay", "en", "gn"]


def test_centering_is_computed_from_the_training_pairs_alone() -> None:
    a, b = world()
    ours = orthoglot.Decomposer("centering").fit(a, b, "en", "gn", valid=mask())
    np.testing.assert_allclose(ours.decomposer_.weights["means"][0], a[~mask()].mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(ours.transform(b, "gn"), b - b[~mask()].mean(axis=0), atol=1e-5)
    codes = ["en", "gn"] * 3
    np.testing.assert_allclose(ours.transform(a[:6], codes)[1::2], ours.transform(a[1:6:2], "gn"))
    with pytest.raises(DataError, match="give the vectors' language"):
        ours.transform(b)


def test_what_is_computed_uses_every_pair_and_no_seed() -> None:
    a, b = world()
    found = [orthoglot.Decomposer("centering", seed=seed).fit(a, b, "en", "gn") for seed in (1, 2)]
    for one in found:
        np.testing.assert_allclose(one.decomposer_.weights["means"][0], a.mean(axis=0), atol=1e-5)
    codes = np.array(["en", "gn"])
    np.testing.assert_array_equal(found[0].transform(a[:2], codes), found[0].transform(a[:2], list(codes)))


def test_meaning_finds_translations_that_the_vectors_hide() -> None:
    a, b = world(1200)
    train_part, test_part = slice(0, 900), slice(900, None)
    ours = orthoglot.Decomposer("seed", learning_rate=3e-3, max_epochs=150, batch_size=128, device="cpu")
    ours.fit(a[train_part], b[train_part], "en", "gn")
    x, y = a[test_part], b[test_part]

    def found(one: np.ndarray, other: np.ndarray) -> float:
        return float(np.mean(hits(one, other)))

    original, meaning = found(x, y), found(ours.transform(x), ours.transform(y))
    language = found(ours.language_part(x), ours.language_part(y))
    assert original < 0.9
    assert meaning > 0.97
    assert language < 0.5


def test_parts_of_a_residual_add_up_and_unseen_languages_are_fine(fitted: orthoglot.Decomposer) -> None:
    x = np.random.default_rng(2).normal(size=(5, D)).astype(np.float32)
    np.testing.assert_allclose(fitted.transform(x, "sw") + fitted.language_part(x), x, atol=1e-6)
    assert fitted.transform(x).dtype == np.float32
    np.testing.assert_array_equal(
        orthoglot.Decomposer("seed", **FAST).fit_transform(*world(), lang_a="en", lang_b="gn"),
        fitted.transform(world()[0]),
    )


def test_scikit_learns_habits_hold(fitted: orthoglot.Decomposer, tmp_path: Path) -> None:
    x = world()[0][:5]
    copied = clone(fitted)
    assert copied.get_params() == fitted.get_params()
    assert not hasattr(copied, "decomposer_")
    assert copied.set_params(method="dream", patience=3).get_params()["patience"] == 3
    with pytest.raises(ValueError, match="Invalid parameter 'epochs'"):
        copied.set_params(epochs=3)
    with pytest.raises(ValueError, match="not fitted"):
        copied.transform(x)
    # scikit-learn sends estimators between processes this way.
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(x), fitted.transform(x))
    assert repr(clone(fitted).set_params(method="dream")).startswith("Decomposer(batch_size=128")
    assert fitted.n_features_in_ == D


def test_saved_folder_is_the_workflows_and_opens_again(fitted: orthoglot.Decomposer, tmp_path: Path) -> None:
    fitted.save(tmp_path / "mine")
    fitted.save(tmp_path / "mine")
    assert sorted(path.name for path in tmp_path.glob("mine*/*")) == [
        "decomposer.json",
        "weights.safetensors",
    ]
    opened = orthoglot.Decomposer.load(tmp_path / "mine")
    x = world()[0][:5]
    np.testing.assert_array_equal(opened.language_part(x), fitted.language_part(x))
    assert opened.get_params() == fitted.get_params()
    assert (
        load_decomposer(tmp_path / "mine").details["train_pairs"]
        + load_decomposer(tmp_path / "mine").details["valid_pairs"]
        == N
    )
    with pytest.raises(ConfigError, match="fitted on vectors alone"):
        orthoglot.load(tmp_path / "mine")
    (tmp_path / "other").mkdir()
    with pytest.raises(ConfigError, match="holds no decomposer"):
        fitted.save(tmp_path / "other")


def test_the_same_sentence_never_stops_and_trains() -> None:
    a = np.repeat(world(100)[0], 5, axis=0)
    held = orthoglot.Decomposer(valid_share=0.3)._held_out(a).reshape(100, 5)
    assert (held.all(axis=1) | ~held.any(axis=1)).all()
    assert 15 < held[:, 0].sum() < 45
    other = orthoglot.Decomposer(valid_share=0.3, seed=2)._held_out(a).reshape(100, 5)
    assert (held != other).any()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"a": np.zeros((3, 4, 5))}, DataError, r"a is \(3, 4, 5\), expected \(N, D\)"),
        ({"b": np.zeros((N, D + 1))}, DataError, "translations come in rows"),
        ({"b": np.full((N, D), np.nan)}, DataError, "0 pairs to train on"),
        ({"b": np.full((N, D), np.inf)}, DataError, r"b: row 0 \(from 0\) has a number that is not finite"),
        ({"lang_a": ["en"]}, DataError, "lang_a: 1 codes for 600 vectors"),
        ({"a": np.ma.masked_less(world()[0], 0)}, TypeError, "a has masked numbers: remove their rows"),
        ({"lang_b": "en"}, ConfigError, "lang_a and lang_b are both en"),
        (
            {"lang_a": "pt-BR", "lang_b": "pt-PT"},
            ConfigError,
            "are both pt: .* varieties of a language are one",
        ),
        ({"lang_a": ["en"] * N, "lang_b": ["gn"] * (N - 1) + ["en"]}, ConfigError, "are both en"),
        ({"lang_b": "xx-yy"}, ConfigError, "unknown language code 'xx-yy'"),
        ({"valid": np.zeros(N)}, DataError, r"valid is float64 \(600,\), expected bool"),
        ({"valid": np.zeros(N, bool)}, DataError, "600 pairs to train on and 0 to validate on"),
        ({"valid": np.ones(N, bool)}, DataError, "0 pairs to train on and 600 to validate on"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    a, b = world()
    given = {"a": a, "b": b, "lang_a": "en", "lang_b": "gn", **changes}
    with pytest.raises(error, match=message):
        orthoglot.Decomposer("seed", **FAST).fit(**given)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "sed"}, "nearest known: seed"),
        ({"method": "original"}, "has nothing to train"),
        ({"learning_rate": 0.0}, "learning_rate: Input should be greater than 0"),
        ({"valid_share": 1.0}, "valid_share 1.0"),
        ({"threads": 0}, "threads 0"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        orthoglot.Decomposer(**settings).fit(*world(), "en", "gn")


def test_masked_numbers_are_refused_and_a_mask_of_none_is_an_array(fitted: orthoglot.Decomposer) -> None:
    a = world()[0]
    np.testing.assert_array_equal(fitted.transform(np.ma.masked_array(a)), fitted.transform(a))
    for split in (fitted.transform, fitted.language_part):
        with pytest.raises(TypeError, match=r"x has masked numbers: .* x.filled\(np.nan\)"):
            split(np.ma.masked_array(a, np.eye(*a.shape, dtype=bool)))


def test_tables_of_vectors_have_the_same_columns() -> None:
    a, b = (pandas.DataFrame(side, columns=[f"c{n}" for n in range(D)]) for side in world())
    orthoglot.Decomposer("centering").fit(a, b, "en", "gn")
    with pytest.raises(DataError, match="a and b have different columns, or the same in another order"):
        orthoglot.Decomposer("centering").fit(a, b[b.columns[::-1]], "en", "gn")


def test_every_spelling_of_a_language_is_one(fitted: orthoglot.Decomposer) -> None:
    a, b = world()
    spelled = orthoglot.Decomposer("seed", **FAST).fit(a, b, "eng_Latn", "grn")
    assert spelled.languages_ == ["en", "gn"]
    np.testing.assert_array_equal(spelled.transform(a), fitted.transform(a))


def test_defaults_are_those_of_the_command_line() -> None:
    from orthoglot.cli.fit import fit

    ours = {name: one.default for name, one in inspect.signature(orthoglot.Decomposer).parameters.items()}
    theirs = inspect.signature(fit).parameters
    # Those of the command line wait without spinning, which only the environment of a new process can set.
    assert (orthoglot.Decomposer()._threads(), theirs["threads"].default) == (1, None)
    assert (orthoglot.Decomposer()._seed(), ours.pop("seed")) == (theirs["seed"].default, None)
    # Of Python alone; these change nothing if they are not given.
    for name in ("threads", "random_state", "n_jobs", "shrinkage", "dim", "prior"):
        assert ours.pop(name) is None
    assert ours == {name: theirs[name].default for name in ours}


@pytest.mark.parametrize("threads", [1, 3])
def test_fit_uses_its_own_number_of_threads_and_gives_back_the_other(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = []

    def fitting(*args: Any, **options: Any) -> Any:
        used.append(torch.get_num_threads())
        return fit_decomposer(*args, **options)

    monkeypatch.setattr("orthoglot.apply.estimator.fit_decomposer", fitting)
    with cpu_threads(2):
        orthoglot.Decomposer("seed", **FAST, threads=threads).fit(*world(), "en", "gn")
        assert (used, torch.get_num_threads()) == ([threads], 2)


def test_package_stays_light_until_the_estimator_is_asked_for() -> None:
    code = (
        "import sys, orthoglot\nassert not {'torch', 'sklearn', 'numpy'} & set(sys.modules)\n"
        "assert {'Decomposer', 'Model', 'mine', 'read_pairs', 'score'} < set(orthoglot.__all__) < set(dir(orthoglot))\n"
        "orthoglot.read_pairs\nassert not {'torch', 'sklearn'} & set(sys.modules)\n"
        "orthoglot.Decomposer\nassert 'sklearn' in sys.modules\n"
        "try:\n    orthoglot.Decomposr\nexcept AttributeError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "module 'orthoglot' has no attribute 'Decomposr'\n"


@pytest.mark.parametrize("name", ["centering", "lsar", "leace", "procrustes", "plda"])
def test_closed_forms_equal_the_workflows(name: str) -> None:
    a, b = world()
    places = torch.arange(N)
    pairs = PairRows(places, places + N, torch.zeros(N, dtype=torch.long), torch.ones(N, dtype=torch.long))
    held = torch.from_numpy(mask())
    data = Data(torch.from_numpy(np.concatenate([a, b])), ["en", "gn"], pairs.take(~held), pairs.take(held))
    ours = orthoglot.Decomposer(name).fit(a, b, "en", "gn", valid=mask())
    method, device = catalogue.method(name), torch.device("cpu")
    found, _ = fit_decomposer(method, None, name, data, seed=1, device=device, checkpoint=None)
    expected = found.weights
    assert {**found.details, "estimator": ours.get_params()} == ours.decomposer_.details
    assert set(expected) == set(ours.decomposer_.weights)
    for key, array in expected.items():
        np.testing.assert_array_equal(ours.decomposer_.weights[key], array)
