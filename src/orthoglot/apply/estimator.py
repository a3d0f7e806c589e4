"""A decomposer in scikit-learn's manner, for vectors that one has already."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from pydantic import ValidationError
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from orthoglot import atomic
from orthoglot.config import describe, method_named
from orthoglot.decomposers import base
from orthoglot.encoders.base import resolve_device
from orthoglot.encoders.threads import cpu_threads
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import canonical
from orthoglot.training.batching import PairRows
from orthoglot.training.decompose import Data, fit_decomposer
from orthoglot.training.settings import DecompositionSettings, Stopping


class Decomposer(TransformerMixin, BaseEstimator):
    """Split sentence vectors into meaning and language: `Decomposer().fit(a, b, "en", "gn").transform(x)`.

    Trains exactly as the workflow does; the papers' recipes are in brackets. A method's own recipe comes before
    `learning_rate`, `max_epochs`, `patience` and `stopping`: "meat-recipe" and the like are trained as in the papers.

    Args:
        method: its name in the catalogue of params.yaml, e.g. "plda", "seed", "dream+oracle", "centering".
        learning_rate: of Adam (DREAM, SEED 1e-4; MEAT, ORACLE 1e-5).
        batch_size: pairs a step (512).
        max_epochs: passes over the pairs at most (DREAM 1,000; the others 10,000).
        patience: epochs without a better validation value before stopping (10; SEED 5).
        stopping: that value: "total", the sum of all terms, as in the papers; "retrieval", P@1 of the meaning part; or
            "without-opponents", the sum without adversarial terms.
        seed: of initial weights, order and partners, and of the split.
        device: "auto", "cpu", "cuda", "cuda:1".
        valid_share: of the pairs held out for stopping a training, by hash of their vector in `a`, unless `fit` is
            given `valid`.
        threads: of the CPU while `fit` runs; more save time only on free cores, and change the last digits.

    Attributes:
        decomposer_: the fitted `orthoglot.decomposers.base.Decomposer`.
        history_: one dict per epoch; empty for a method that is computed.
        languages_: codes it was fitted on, sorted.
        n_features_in_: D.

    >>> import numpy as np
    >>> from orthoglot import Decomposer
    >>> meaning = np.random.default_rng(1).normal(size=(400, 8))  # vectors of a meaning, and 3 or -3 for the language
    >>> a, b = (np.insert(meaning, 8, sign * 3, axis=1) for sign in (1, -1))
    >>> split = Decomposer().fit(a, b, "en", "gn")
    >>> bool(np.allclose(split.transform(a), split.transform(b), atol=0.01))  # translations have one meaning
    True
    >>> split.language_part(a).shape, split.languages_
    ((400, 9), ['en', 'gn'])

    Source: docs/papers.md#recipe-decomposers.
    """

    def __init__(
        self,
        method: str = "plda",
        *,
        learning_rate: float = 1e-3,
        batch_size: int = 512,
        max_epochs: int = 1000,
        patience: int = 10,
        stopping: Stopping = "total",
        seed: int = 1,
        device: str = "auto",
        valid_share: float = 0.05,
        threads: int = 1,
    ) -> None:
        self.method = method
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.stopping = stopping
        self.seed = seed
        self.device = device
        self.valid_share = valid_share
        self.threads = threads

    def fit(
        self,
        a: np.ndarray,
        b: np.ndarray,
        lang_a: str | Sequence[str],
        lang_b: str | Sequence[str],
        valid: np.ndarray | None = None,
    ) -> Self:
        """Learn from translations.

        Args:
            a, b: (N, D) vectors, row i of one translates row i of the other.
            lang_a, lang_b: their languages: one code, or N of them.
            valid: (N,) booleans, the pairs that nothing is fitted to and that stop the training; None draws them.
        Raises:
            ConfigError: an unknown method or language, or a setting out of range.
            DataError: vectors that are not finite (N, D) twice, or no pair left to train or to stop on.
        """
        method = method_named(self.method)
        recipe = self._recipe()
        sides = [_vectors(a, "a"), _vectors(b, "b")]
        if sides[0].shape != sides[1].shape:
            raise DataError(f"a is {sides[0].shape} but b is {sides[1].shape}: translations come in rows")
        n = len(sides[0])
        codes = [_codes(lang_a, n, "lang_a"), _codes(lang_b, n, "lang_b")]
        if valid is not None:
            held = np.asarray(valid)
            if held.shape != (n,) or held.dtype != bool:
                raise DataError(f"valid is {held.dtype} {held.shape}, expected bool ({n},)")
        else:
            held = self._held_out(sides[0]) if method.uses_validation else np.zeros(n, dtype=bool)
        languages = sorted({code for side in codes for code in side})
        ids = [torch.tensor([languages.index(code) for code in side]) for side in codes]
        places = torch.arange(n)
        pairs = PairRows(places, places + n, *ids)
        mask = torch.from_numpy(held)
        data = Data(torch.from_numpy(np.concatenate(sides)), languages, pairs.take(~mask), pairs.take(mask))
        if not len(data.train) or (not len(data.valid) and method.uses_validation):
            raise DataError(
                f"{len(data.train)} pairs to train on and {len(data.valid)} to validate on, of {n}: too few"
            )
        device = resolve_device(self.device)
        with cpu_threads(self.threads):
            fitted, self.history_ = fit_decomposer(
                method, recipe, self.method, data, seed=self.seed, device=device, checkpoint=None
            )
        self.decomposer_ = replace(fitted, details={"estimator": self.get_params(), **fitted.details})
        return self._describe()

    def transform(
        self, x: np.ndarray, language: str | Sequence[str] | None = None, partner: str | None = None
    ) -> np.ndarray:
        """The meaning of vectors (N, D), (N, D) float32, not normalised.

        Args:
            x: vectors of the same encoder.
            language: one code or N of them, for methods that need it (centering).
            partner: the language that they are compared with, which centering per pair asks for.
        """
        return self._parts(x, language, partner).meaning

    def language_part(
        self, x: np.ndarray, language: str | Sequence[str] | None = None, partner: str | None = None
    ) -> np.ndarray:
        """The language part of vectors (N, D), as `transform` gives their meaning."""
        return self._parts(x, language, partner).language

    def save(self, folder: str | Path) -> None:
        """Write decomposer.json and weights.safetensors, as the workflow does, into `folder`."""
        check_is_fitted(self)
        folder = Path(folder)
        if folder.exists() and not (folder / base.META).is_file():
            raise ConfigError(f"{folder}: exists and holds no decomposer; name another folder")
        with atomic.building(folder) as partial:
            self.decomposer_.save(partial)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Open a folder that `save`, `orthoglot fit` or the workflow wrote; there is no history then."""
        decomposer = base.load_decomposer(Path(folder))
        try:
            estimator = cls(**{"method": decomposer.method, **decomposer.details.get("estimator", {})})
        except TypeError as error:
            raise DataError(
                f"{folder}/{base.META}: details.estimator states no settings ({error})"
            ) from error
        estimator.decomposer_, estimator.history_ = decomposer, []
        return estimator._describe()

    def _recipe(self) -> DecompositionSettings:
        if not 0 <= self.valid_share < 1:
            raise ConfigError(f"valid_share {self.valid_share}: must be in [0, 1)")
        if self.threads < 1:
            raise ConfigError(f"threads {self.threads}: must be at least 1")
        try:
            return DecompositionSettings(
                **{name: getattr(self, name) for name in DecompositionSettings.model_fields}
            )
        except ValidationError as error:
            raise ConfigError(describe(error)) from error

    def _held_out(self, vectors: np.ndarray) -> np.ndarray:
        """By hash of the vector: the same sentence never stands on both sides of the split."""
        person = str(self.seed).encode()[:16]
        hashes = [hashlib.blake2b(row.tobytes(), digest_size=8, person=person).digest() for row in vectors]
        return np.frombuffer(b"".join(hashes), dtype="<u8") / 2.0**64 < self.valid_share

    def _describe(self) -> Self:
        self.languages_ = self.decomposer_.languages
        self.n_features_in_ = self.decomposer_.dim
        return self

    def _parts(self, x: np.ndarray, language: str | Sequence[str] | None, partner: str | None) -> base.Parts:
        check_is_fitted(self)
        vectors = _vectors(x, "x")
        codes = "" if language is None else _codes(language, len(vectors), "language")
        return self.decomposer_.transform(vectors, codes, None if partner is None else canonical(partner))


def _vectors(x: Any, name: str) -> np.ndarray:
    vectors = np.asarray(x, dtype=np.float32)
    if vectors.ndim != 2:
        raise DataError(f"{name} is {vectors.shape}, expected (N, D)")
    if not np.isfinite(vectors).all():
        raise DataError(f"{name}: a value is not finite")
    return vectors


def _codes(language: str | Sequence[str], n: int, name: str) -> list[str]:
    codes = [language] * n if isinstance(language, str) else list(language)
    if len(codes) != n:
        raise DataError(f"{name}: {len(codes)} codes for {n} vectors")
    known = {code: canonical(code) for code in set(codes)}
    return [known[code] for code in codes]
