"""What decomposers are and return, and fitted ones on disk. Applying one needs NumPy alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from orthoglot.decomposers import architecture, names
from orthoglot.errors import DataError
from orthoglot.file_format import check_format
from orthoglot.receipts import check_whole, file_digest
from orthoglot.settings import Settings
from orthoglot.usable_vectors import blank

if TYPE_CHECKING:
    from torch import Tensor, nn

META = "decomposer.json"
WEIGHTS = "weights.safetensors"
SHA256 = "sha256"
# What decomposer.json states of a decomposer, and its type there.
STATED = {
    "architecture": str,
    "method": str,
    "encoder": str,
    "identity": str,
    "languages": list,
    "dim": int,
    "details": dict,
}
# The weights of a linear map.
MAP = {"weight": "D D", "bias": "D"}
COUNT = "active"  # the only weight that is a whole number: how many latents stay active
WORTH = "worth"  # the weight of methods whose meaning part has its numbers in falling order of worth
Weights = Mapping[str, np.ndarray]
Split = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Languages:
    """The language of each of N vectors, as the weights number them."""

    names: Sequence[str]  # N codes
    partner_name: str | None  # the language with which the vectors are compared, if there is one
    known: Sequence[str]  # K codes, those of the weights

    @cached_property
    def rows(self) -> np.ndarray:
        """Position of each language among the known ones (N,); an unknown one is a DataError."""
        return self._positions(self.names)

    @property
    def partner(self) -> int | None:
        """Position of the partner language; an unknown one is a DataError."""
        return None if self.partner_name is None else int(self._positions([self.partner_name])[0])

    def _positions(self, names: Sequence[str]) -> np.ndarray:
        position = {language: k for k, language in enumerate(self.known)}
        if unknown := sorted(set(names) - set(position)):
            problem = f"no weights of language {', '.join(map(repr, unknown))}"
            if unknown == [""]:
                problem = "each language has its own weights: give the vectors' language (--language)"
            raise DataError(f"{problem}; known: {', '.join(position)}")
        return np.array([position[name] for name in names], dtype=np.int64)


@dataclass(frozen=True)
class Trained:
    """An architecture that gradient descent fits.

    The weight `centre`, if there is one, is subtracted from the vectors first: (D,), or (K, D), a row by language.
    """

    maps: tuple[str, ...]  # names of the linear maps; each is (D, D) with a bias, unless `modules` makes them
    # (weights, vectors) -> (meaning, language), of NumPy arrays or of tensors. During training the method's settings
    # are among the weights.
    split: Callable[[Mapping[str, Any], Any], tuple[Any, Any]]
    # settings of a method with this architecture, besides those of every trained method
    settings: type[Settings] = Settings
    # (D, generator, **settings) -> PyTorch modules by name
    modules: Callable[..., dict[str, nn.Linear]] | None = None
    # (weights, training translations, languages, **settings) -> further weights, after training
    finish: Callable[..., dict[str, np.ndarray]] | None = None
    # whether each part is one affine map of the vector, so that it can be exported as one
    affine: bool = True
    # shapes of the weights by name, see `ClosedForm`; None for maps (D, D) with biases (D,)
    shapes: Mapping[str, str] | None = None

    def apply(self, weights: Weights, vectors: np.ndarray, languages: Languages) -> Split:
        """Meaning and language of vectors (N, D)."""
        if (centre := weights.get("centre")) is not None:
            vectors = vectors - (centre[languages.rows] if centre.ndim == 2 else centre)
        return self.split(weights, vectors)


class Candidate(NamedTuple):
    """Settings, and what they make of held-out pairs."""

    settings: dict[str, Any]  # values by name
    # () -> two arrays (n, D), row by row translations, for each pair of languages
    vectors: Callable[[], Sequence[tuple[np.ndarray, np.ndarray]]]


@dataclass(frozen=True)
class ClosedForm:
    """An architecture that is computed in one pass over the training translations."""

    # (moments, **settings) -> weights by name, or (moments, pair moments, **settings) if it needs pairs
    fit: Callable[..., dict[str, np.ndarray]]
    # (weights, vectors (N, D), languages) -> (meaning, language)
    apply: Callable[[Weights, np.ndarray, Languages], Split]
    # shapes of the weights by name: "K D D" with D and K as they are for the decomposer; another letter is the same
    # length wherever it stands
    shapes: Mapping[str, str]
    products: bool = False  # `fit` needs the sums of outer products of each language
    pairs: bool = False  # `fit` needs the moments of translations; `pair_products`: with their outer products
    pair_products: bool = False
    settings: type[Settings] = Settings  # of a method with this architecture; `fit` takes them by name
    # (moments, pair moments, blocks of translations) -> candidates, if settings that are None are chosen by cross-
    # validation
    candidates: Callable[..., Iterator[Candidate]] | None = None
    unit: bool = False  # vectors are divided by their lengths before they are fitted and applied
    # it has weights for each language, and so none for a language without training pairs
    by_language: bool = False


@dataclass(frozen=True)
class Decomposition:
    """Sentence, meaning and language vectors of a batch during training, each (R, D), not normalised."""

    sentence: Tensor
    meaning: Tensor
    language: Tensor


class Parts(NamedTuple):
    """Sentence, meaning and language vectors, each (N, D) float32, not normalised; a cut meaning is shorter."""

    sentence: np.ndarray
    meaning: np.ndarray
    language: np.ndarray


@dataclass(frozen=True)
class Decomposer:
    """A fitted decomposer, ready to apply."""

    architecture: str  # one of `orthoglot.decomposers.names`
    method: str  # its name in params.yaml
    encoder: str  # name of the encoder whose vectors it was fitted to
    identity: str  # digest of that encoder
    languages: list[str]  # those it was fitted to, sorted; if each has its own weights, no others are known
    dim: int  # D
    weights: Weights
    details: dict[str, Any]  # further facts for the record (seed, terms, sizes); JSON values

    def transform(
        self, vectors: np.ndarray, languages: Sequence[str] | str, partner: str | None = None
    ) -> Parts:
        """Split vectors (N, D) of one language, or of N named ones.

        A row of NaN alone, which is a blank sentence's, stays one, whatever its language.

        Args:
            partner: The language with which they are compared, if there is one; only centering per pair uses it.
        Raises:
            DataError: The size is not D, the counts differ, or each language has its own weights and one has none.
        """
        vectors = np.asarray(vectors, dtype=np.float32)
        if vectors.ndim != 2 or vectors.shape[1] != self.dim:
            raise DataError(f"decomposer {self.method}: vectors {vectors.shape}, expected (N, {self.dim})")
        names = [languages] * len(vectors) if isinstance(languages, str) else list(languages)
        if len(names) != len(vectors):
            raise DataError(f"decomposer {self.method}: {len(vectors)} vectors but {len(names)} languages")
        empty = blank(vectors)
        if not len(empty):
            return Parts(vectors, *self.split(unit(vectors) if self.unit else vectors, names, partner))
        rows = np.setdiff1d(np.arange(len(vectors)), empty)
        present = self.transform(vectors[rows], [names[row] for row in rows], partner)
        meaning, language = (np.full((len(names), part.shape[1]), np.nan, part.dtype) for part in present[1:])
        meaning[rows], language[rows] = present.meaning, present.language
        return Parts(vectors, meaning, language)

    @property
    def meaning_dim(self) -> int:
        """Numbers of a meaning vector: D, or fewer of a method that orders them by worth and was cut."""
        return len(self.weights[WORTH]) if WORTH in self.weights else self.dim

    @property
    def unit(self) -> bool:
        """Whether vectors are divided by their lengths first."""
        form = architecture(self.architecture)
        return isinstance(form, ClosedForm) and form.unit

    def split(self, vectors: np.ndarray, languages: Sequence[str], partner: str | None = None) -> Split:
        """Meaning and language of vectors (N, D) that have length 1 where `unit` asks for it; errors as `transform`."""
        apply = architecture(self.architecture).apply
        try:
            return apply(self.weights, vectors, Languages(languages, partner, self.languages))
        except DataError as error:
            raise DataError(f"decomposer {self.method}: {error}") from error

    def save(self, folder: Path) -> None:
        """Write decomposer.json and weights.safetensors into an existing folder; errors as `check`."""
        self.check()
        arrays = {name: np.ascontiguousarray(array) for name, array in self.weights.items()}
        save_file(arrays, folder / WEIGHTS)
        meta = {name: getattr(self, name) for name in STATED} | {SHA256: file_digest(folder / WEIGHTS)}
        text = json.dumps(meta, indent=2, sort_keys=True, ensure_ascii=False)
        (folder / META).write_text(text + "\n", encoding="utf-8")

    def check(self) -> None:
        """Refuse weights that are not those of the architecture.

        Raises:
            DataError: An unknown architecture, a fact of another type, or a weight that is absent, unknown, of another
                type or shape, or not finite.
        """
        name = f"decomposer {self.method}"
        later = "fit a model of another version again"
        for fact, kind in STATED.items():
            if not isinstance(getattr(self, fact), kind):
                raise DataError(f"{name}: its {fact} is {getattr(self, fact)!r}")
        if self.dim < 1 or not all(isinstance(language, str) for language in self.languages):
            raise DataError(f"{name}: its dim is {self.dim}, its languages are {self.languages!r}")
        if self.architecture not in names():
            raise DataError(
                f"{name}: architecture {self.architecture!r}; known: {', '.join(names())}; {later}"
            )
        expected = _shapes(architecture(self.architecture), self.weights)
        if missing := sorted(expected.keys() - self.weights.keys()):
            raise DataError(f"{name}: lacks the weight {missing[0]}")
        lengths = {"D": self.dim, "K": len(self.languages), "1": 1}
        for weight, array in sorted(self.weights.items()):
            if weight not in expected:
                raise DataError(
                    f"{name}: has a weight {weight}, which {self.architecture} does not have; {later}"
                )
            letters = expected[weight].split()
            wanted = (np.int64,) if weight == COUNT else (np.float32, np.float64)
            if array.ndim != len(letters) or array.dtype not in wanted:
                raise DataError(
                    f"{name}: {weight} is {array.dtype} {array.shape}, expected ({', '.join(letters)})"
                )
            for letter, length in zip(letters, array.shape, strict=True):
                if lengths.setdefault(letter, length) != length:
                    raise DataError(
                        f"{name}: {weight} is {array.shape}, but ({', '.join(letters)}) with {letter} = "
                        f"{lengths[letter]} is expected"
                    )
            if not np.isfinite(array).all():
                raise DataError(f"{name}: {weight} is not finite")


def _shapes(form: Trained | ClosedForm, weights: Weights) -> dict[str, str]:
    """The shape of each weight of an architecture; a trained one may have a `centre`, overall or by language."""
    if isinstance(form, ClosedForm):
        return dict(form.shapes)
    maps = {f"{part}.{weight}": shape for part in form.maps for weight, shape in MAP.items()}
    shapes = dict(maps if form.shapes is None else form.shapes)
    if (centre := weights.get("centre")) is not None:
        shapes["centre"] = "D" if centre.ndim == 1 else "K D"
    return shapes


def mapped(weights: Mapping[str, Any], name: str, e: Any) -> Any:
    """W e + b (N, D) of the linear map `name`, of NumPy arrays or of tensors."""
    return e @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of (N, D) scaled to length 1; a zero row stays zero."""
    # Scaling by the largest entry first keeps the squares of huge and tiny rows inside float32.
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    scaled = vectors / np.where(largest > 0, largest, 1)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled / np.where(lengths > 0, lengths, 1)


def load_decomposer(folder: Path) -> Decomposer:
    """The decomposer that `Decomposer.save` wrote into `folder`.

    Raises:
        DataError: A file is absent or damaged, is not as its job or `Decomposer.save` wrote it, has the format of a
            later version, or the weights are not those of the architecture (`Decomposer.check`).
    """
    check_whole(folder)
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
        check_format(folder / META, meta)
        meta.pop("format", None)
        stated = meta.pop(SHA256, None)  # those of earlier versions state none
        if stated is not None and stated != file_digest(folder / WEIGHTS):
            raise ValueError(f"{WEIGHTS} is damaged: its SHA-256 is not the stated one")
        decomposer = Decomposer(weights=load_file(folder / WEIGHTS), **meta)
        decomposer.check()
    # A damaged header makes the library of safetensors fail in many ways.
    except (
        OSError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        RecursionError,
        SafetensorError,
    ) as error:
        raise DataError(f"decomposer {folder}: cannot be read ({error})") from error
    return decomposer
