"""A decomposer in scikit-learn's manner, for vectors that one has already."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from orthoglot import atomic, catalogue
from orthoglot.apply import ready
from orthoglot.apply.smaller_vectors import check_dim
from orthoglot.decomposers import architecture, base
from orthoglot.decomposers.architectures import plda
from orthoglot.decomposers.own_mean import adapted
from orthoglot.encoders.base import resolve_device
from orthoglot.encoders.threads import cpu_threads
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import canonical
from orthoglot.settings import checked
from orthoglot.text.string_lists import strings
from orthoglot.training.batching import PairRows
from orthoglot.training.decompose import Data, fit_decomposer
from orthoglot.training.settings import ORIGINAL, DecompositionSettings, MethodSettings, Stopping
from orthoglot.usable_vectors import blank, not_finite

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from sklearn.utils import Tags

READY = "ready"
# The least cosine of the mean direction of vectors with the ready model's. Single sentences of its encoder have 0.83 or
# more in the languages tried, random directions less than 0.2.
ALIKE = 0.7
# How scikit-learn is to check arrays. Rows that are not finite are found here, with their number.
ARRAY: dict[str, Any] = {"dtype": np.float32, "ensure_all_finite": False, "ensure_min_samples": 0}
logger = logging.getLogger(__name__)


class Decomposer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Split sentence vectors into meaning and language: `Decomposer().fit(a, b, "en", "gn").transform(x)`.

    Trains as the workflow does; the papers' recipes are in brackets. A method's own recipe, as that of "meat-recipe",
    comes before `learning_rate`, `max_epochs`, `patience` and `stopping`.

    Vectors are arrays (N, D) of real numbers of any type, lists of lists, DataFrames or tensors; computation and
    results are float32. A row of NaN alone, which `encode` gives for a blank sentence, stays NaN; `fit` leaves its pair
    out, and logs how many. Any other row that is not finite is an error with its number.

    Args:
        method: A name of the catalogue, e.g. "plda", "seed", "dream+oracle", "centering".
        learning_rate: The rate of Adam (DREAM, SEED 1e-4; MEAT, ORACLE 1e-5).
        batch_size: Pairs a step (512).
        max_epochs: Passes over the pairs at most (DREAM 1,000; the others 10,000).
        patience: Epochs without a better validation value before stopping (10; SEED 5).
        stopping: That value: "total", the sum of all terms, as in the papers; "retrieval", P@1 of the meaning part; or
            "without-opponents", the sum without adversarial terms.
        seed: The seed of initial weights, order, partners and split; 1 if None.
        device: "auto", "cpu", "cuda", "cuda:1".
        valid_share: The share of pairs held out for stopping, by hash of their row in `a`, unless `fit` gets `valid`.
        threads: Threads of the CPU in `fit`; 1 if None. More save time only on free cores, and change the last digits.
        random_state: Scikit-learn's name of `seed`, a whole number; give one of the two.
        n_jobs: Scikit-learn's name of `threads`, -1 for all CPUs; give one of the two.
        shrinkage: A setting of "plda" and "whitening", in [0, 1). If it is None, PLDA chooses it by cross-validation,
            for which it needs 10 pairs; with a value above 0 it needs 2.
        dim: For "plda": how many numbers of the meaning part are kept, from 2 to D; all if None. After a constant come
            the directions in which meanings differ most: by their variance w between meanings in units of that within
            translations, which the result has as w^2 / (1 + w). `orthoglot encode --dim` also scales to length 1. The
            language part keeps D numbers.
        prior: "ready" starts "plda" from the ready model (docs/ready-model.md). It is of the vectors of
            multilingual-e5-small, in any precision. Vectors of another dimension or mean direction are refused; that
            others are of this encoder cannot be checked.

    Attributes:
        decomposer_: The fitted `orthoglot.decomposers.base.Decomposer`.
        history_: One dict per epoch; empty for a method that is computed.
        languages_: The codes it was fitted on, sorted.
        n_features_in_: D.
        feature_names_in_: The names of the columns, if `a` was a DataFrame.

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
        seed: int | None = None,
        device: str = "auto",
        valid_share: float = 0.05,
        threads: int | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
        shrinkage: float | None = None,
        dim: int | None = None,
        prior: Literal["ready"] | None = None,
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.shrinkage = shrinkage
        self.dim = dim
        self.prior = prior

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
            a, b: Vectors (N, D); row i of one translates row i of the other.
            lang_a, lang_b: Their languages: one code, or N of them.
            valid: (N,) booleans: the pairs that nothing is fitted to and that stop the training; None draws them.
        Raises:
            ConfigError: an unknown method or language, or one language on both sides; a setting out of range, with two
                names, or that does nothing with the method.
            TypeError: vectors that are sparse or masked, or languages that are no strings.
            DataError: vectors that are not (N, D) twice; a row that is not finite; vectors that `prior` is not of; no
                pair left to train or to stop on.
        """
        method, recipe = self._method(), self._recipe()
        seed, threads = self._seed(), self._threads()
        sides = [
            validate_data(self, _dense(a, "a"), **ARRAY),
            check_array(_dense(b, "b"), input_name="b", **ARRAY),
        ]
        names = [list(side.columns) for side in (a, b) if hasattr(side, "columns")]
        if len(names) == 2 and names[0] != names[1]:
            raise DataError("a and b have different columns, or the same in another order")
        if sides[0].shape != sides[1].shape:
            raise DataError(f"a is {sides[0].shape} but b is {sides[1].shape}: translations come in rows")
        n = len(sides[0])
        codes = [_codes(lang_a, n, "lang_a"), _codes(lang_b, n, "lang_b")]
        if same := next((code for code, other in zip(*codes, strict=True) if code == other), ""):
            raise ConfigError(
                f"lang_a and lang_b are both {same}: to a model, varieties of a language are one language"
            )
        held = None if valid is None else np.asarray(valid)
        if held is not None and (held.shape != (n,) or held.dtype != bool):
            raise DataError(f"valid is {held.dtype} {held.shape}, expected bool ({n},)")
        empty = np.union1d(*(_checked(side, name) for side, name in zip(sides, "ab", strict=True)))
        if len(empty):
            logger.warning("fit: left out %d of %d pairs with a blank side (NaN)", len(empty), n)
            written = np.setdiff1d(np.arange(n), empty)
            sides, n = [side[written] for side in sides], len(written)
            codes = [[side[row] for row in written] for side in codes]
            held = None if held is None else held[written]
        if held is None:
            held = self._held_out(sides[0]) if method.uses_validation else np.zeros(n, dtype=bool)
        languages = sorted({code for side in codes for code in side})
        ids = [torch.tensor([languages.index(code) for code in side], dtype=torch.long) for side in codes]
        places = torch.arange(n)
        pairs = PairRows(places, places + n, *ids)
        mask = torch.from_numpy(held)
        data = Data(torch.from_numpy(np.concatenate(sides)), languages, pairs.take(~mask), pairs.take(mask))
        if not len(data.train) or (not len(data.valid) and method.uses_validation):
            raise DataError(
                f"{len(data.train)} pairs to train on and {len(data.valid)} to validate on, of {n}: too few"
            )
        start = _start(data.vectors.numpy()) if self.prior else None
        with cpu_threads(threads):
            fitted, history = fit_decomposer(
                method,
                recipe,
                self.method,
                data,
                seed=seed,
                device=resolve_device(self.device),
                checkpoint=None,
                prior=start.prior if start else None,
            )
        if self.dim is not None:
            check_dim(fitted, "meaning", self.dim)
            fitted = replace(fitted, weights=plda.first(fitted.weights, self.dim))
        given = {name: _plain(value) for name, value in self.get_params().items()}
        about = {"start": {"sha256": start.sha256, "text": start.about["text"]}} if start else {}
        return self._with(replace(fitted, details={"estimator": given, **about, **fitted.details}), history)

    def transform(
        self, x: np.ndarray, language: str | Sequence[str] | None = None, partner: str | None = None
    ) -> np.ndarray:
        """The meaning of vectors (N, D), (N, D) float32, or (N, dim), not normalised.

        `set_output(transform="pandas")` gives a DataFrame, whose columns `get_feature_names_out` names.

        Args:
            x: Vectors of the same encoder.
            language: One code or N of them, for methods that need it (centering).
            partner: The language that they are compared with, which centering per pair asks for.
        Raises:
            TypeError: a sparse matrix, or masked numbers.
            DataError: vectors that are not (N, D), or a row that is not finite; no weights of a language.
        """
        return self._parts(x, language, partner).meaning

    def language_part(
        self, x: np.ndarray, language: str | Sequence[str] | None = None, partner: str | None = None
    ) -> np.ndarray:
        """The language part of vectors, (N, D) float32; arguments and errors as for `transform`."""
        return self._parts(x, language, partner).language

    def adapted(self, x: np.ndarray) -> Self:
        """Return a copy for texts of the kind of these vectors: its meaning part has their mean.

        Texts of another kind or language than those of `fit` have another mean, which all their sentences share. The
        copy subtracts it: the mean of n vectors counts n / (n + 30), that of the training text the rest. Search and
        mining gain, scores of single pairs do not (docs/methods.md#own-mean).

        Args:
            x: Vectors (N, D) of one text or collection, in one language; rows of NaN do not count. Take the copy for
                the vectors that are compared with these later, too.
        Raises:
            ConfigError: another method than "plda".
            TypeError, DataError: as for `transform`.

        >>> import numpy as np
        >>> from orthoglot import Decomposer
        >>> rng = np.random.default_rng(1)
        >>> meaning = rng.normal(size=(500, 8))
        >>> split = Decomposer().fit(meaning, meaning + 0.1 * rng.normal(size=(500, 8)), "en", "gn")
        >>> text = meaning[:300] + 2  # of another kind
        >>> means = [np.abs(one.transform(text)[:, 1:].mean(axis=0)).max() for one in (split, split.adapted(text))]
        >>> bool(means[1] < 0.2 * means[0])
        True
        """
        vectors = self._vectors(x)
        copy = type(self)(**self.get_params())
        return copy._with(adapted(self.decomposer_, vectors), self.history_)

    def export(
        self,
        encoder: SentenceTransformer | str | Path,
        folder: str | Path,
        *,
        part: str = "meaning",
        language: str | None = None,
        licence: str = "",
    ) -> float:
        """Write a folder that `SentenceTransformer(folder)` opens without orthoglot: the encoder, then this split.

        Its vectors are `transform(encoder.encode(sentences))`, scaled to length 1.

        Args:
            encoder: The model whose vectors `fit` got, or its folder. The vectors of a folder with encoder.json, which
                orthoglot writes, are those of `orthoglot.load(folder).encode(sentences, part="sentence")`. The
                dimension is checked; that it is the very encoder cannot be.
            folder: A new folder.
            part: "meaning" or "language".
            language: The language whose map is written, for a method with a map for each.
            licence: The licence for the README.md in the folder; "" takes what the encoder's own says.
        Returns:
            Largest difference of a number from orthoglot's own vector of length 1, on a few sentences.
        Raises:
            ConfigError: the folder exists; an encoder of another dimension or that these modules cannot hold; a method
                whose part is no linear map, or that needs `language`.
            DataError: a folder that cannot be read, or other vectors.
        """
        check_is_fitted(self)
        # It takes seconds to import.
        from orthoglot.apply.export import export_split

        return export_split(
            self.decomposer_, encoder, Path(folder), part=part, language=language, licence=licence
        )

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
        return estimator._with(decomposer, [])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.decomposer_.meaning_dim

    def _method(self) -> MethodSettings:
        method = catalogue.method(self.method)
        shapes = {} if method.architecture == ORIGINAL else architecture(method.architecture).shapes
        if self.dim is not None and base.WORTH not in (shapes or {}):
            raise ConfigError(
                f"dim does nothing with method {self.method!r}, whose numbers are in no order of worth; "
                "plda's meaning part has one"
            )
        if self.dim is not None and type(_plain(self.dim)) is not int:
            raise ConfigError(f"dim {self.dim!r}: give a whole number")
        if self.prior not in (None, READY):
            raise ConfigError(f"prior {self.prior!r}: give {READY!r} or None")
        if self.prior and method.architecture != ready.METHOD:
            raise ConfigError(f"prior does nothing with method {self.method!r}: the ready model is of plda")
        if self.shrinkage is None:
            return method
        values = {**method.model_dump(exclude_none=True), "shrinkage": _plain(self.shrinkage)}
        return checked(MethodSettings, values, f"method {self.method}: ")

    def _recipe(self) -> DecompositionSettings:
        if not 0 <= self.valid_share < 1:
            raise ConfigError(f"valid_share {self.valid_share}: must be in [0, 1)")
        return checked(
            DecompositionSettings,
            {name: _plain(getattr(self, name)) for name in DecompositionSettings.model_fields},
        )

    def _seed(self) -> int:
        seed = self._either("seed", "random_state")
        return 1 if seed is None else seed

    def _threads(self) -> int:
        threads = self._either("threads", "n_jobs")
        if threads is None:
            return 1
        if threads < 1 and (self.threads is not None or threads == 0):
            raise ConfigError(f"threads {threads}: must be at least 1 (n_jobs may be -1, for all CPUs)")
        # Scikit-learn counts so: -1 is all CPUs, -2 all but one.
        return threads if threads > 0 else max(1, len(os.sched_getaffinity(0)) + 1 + threads)

    def _either(self, ours: str, theirs: str) -> int | None:
        """The value of a setting that has a name of scikit-learn's, too."""
        given = {name: value for name in (ours, theirs) if (value := _plain(getattr(self, name))) is not None}
        for name, value in given.items():
            if type(value) is not int:
                raise ConfigError(f"{name} {value!r}: give a whole number")
        if len(set(given.values())) > 1:
            both = " and ".join(f"{name} {value}" for name, value in given.items())
            raise ConfigError(f"{both}: these are two names of one setting; give one of them")
        return next(iter(given.values()), None)

    def _held_out(self, vectors: np.ndarray) -> np.ndarray:
        """The hash of the vector decides: the same sentence never stands on both sides of the split."""
        person = str(self._seed()).encode()[:16]
        hashes = [hashlib.blake2b(row.tobytes(), digest_size=8, person=person).digest() for row in vectors]
        return np.frombuffer(b"".join(hashes), dtype="<u8") / 2.0**64 < self.valid_share

    def _with(self, decomposer: base.Decomposer, history: list[dict[str, Any]]) -> Self:
        """Set what is fitted."""
        self.decomposer_, self.history_ = decomposer, history
        self.languages_, self.n_features_in_ = decomposer.languages, decomposer.dim
        return self

    def _vectors(self, x: np.ndarray) -> np.ndarray:
        """Vectors for the fitted decomposer, checked."""
        check_is_fitted(self)
        vectors: np.ndarray = validate_data(self, _dense(x, "x"), reset=False, **ARRAY)
        _checked(vectors, "x")
        return vectors

    def _parts(self, x: np.ndarray, language: str | Sequence[str] | None, partner: str | None) -> base.Parts:
        vectors = self._vectors(x)
        codes = "" if language is None else _codes(language, len(vectors), "language")
        return self.decomposer_.transform(vectors, codes, None if partner is None else canonical(partner))


def _dense(x: Any, name: str) -> Any:
    """Vectors that scikit-learn can check: a tensor as an array, and nothing sparse or of another shape."""
    if issparse(x):
        raise TypeError(
            f"{name} is a sparse {type(x).__name__}, but dense data is required: give {name}.toarray()"
        )
    if isinstance(x, np.ma.MaskedArray):
        if np.ma.is_masked(x):
            raise TypeError(f"{name} has masked numbers: remove their rows, or give {name}.filled(np.nan)")
        x = x.data
    if isinstance(x, torch.Tensor):
        if x.layout is not torch.strided:
            raise TypeError(f"{name} is a sparse tensor, but dense data is required: give {name}.to_dense()")
        x = x.detach().to("cpu", torch.float32).numpy()
    if not hasattr(x, "shape") and isinstance(x, Sequence) and any(isinstance(row, str) for row in x):
        raise TypeError(f"{name} holds text; give the encoder's vectors of it, (N, D)")
    try:
        shape = x.shape if hasattr(x, "shape") else np.asarray(x).shape
    except ValueError as error:
        raise DataError(f"{name}: its rows differ in length, expected (N, D)") from error
    if not shape:
        raise DataError(f"{name} is {type(x).__name__}, expected vectors (N, D)")
    if len(shape) != 2:
        advice = f". Reshape your data: one vector is {name}.reshape(1, -1)" if len(shape) == 1 else ""
        raise DataError(f"{name} is {shape}, expected (N, D){advice}")
    return x


def _checked(vectors: np.ndarray, name: str) -> np.ndarray:
    """The rows of NaN alone; a DataError if another one is not finite."""
    empty = blank(vectors)
    if len(wrong := np.setdiff1d(not_finite(vectors), empty)):
        raise DataError(
            f"{name}: row {wrong[0]} (from 0) has a number that is not finite (NaN, or inf in float32); remove the row"
        )
    return empty


def _start(vectors: np.ndarray) -> ready.Ready:
    """The ready model; a DataError if it cannot be of these vectors."""
    model = ready.load()
    mean, own_mean = model.prior.scatter.mean, base.unit(vectors).mean(axis=0)
    if len(own_mean) != len(mean):
        raise DataError(
            f"prior: the ready model is of {model.about['encoder']}, whose vectors have {len(mean)} numbers; these "
            f"have {len(own_mean)}"
        )
    cosine = float(own_mean @ mean / (np.linalg.norm(own_mean) * np.linalg.norm(mean)))
    if not cosine >= ALIKE:
        raise DataError(
            f"prior: these vectors are not of {model.about['encoder']}, of which the ready model is: the cosine of the "
            f"mean directions is {cosine:.2f}, expected {ALIKE} or more"
        )
    return model


def _plain(value: Any) -> Any:
    """A number of NumPy's, which a search over a grid gives, as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _codes(language: str | Sequence[str], n: int, name: str) -> list[str]:
    codes = [language] * n if isinstance(language, str) else strings(language, name, advice="")
    if len(codes) != n:
        raise DataError(f"{name}: {len(codes)} codes for {n} vectors")
    known = {code: canonical(code) for code in set(codes)}
    return [known[code] for code in codes]
