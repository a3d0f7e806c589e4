"""What a decomposer returns, and trained decomposers on disk; applying one needs NumPy alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from orthoglot.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

META = "decomposer.json"
WEIGHTS = "weights.safetensors"
Weights = Mapping[str, np.ndarray]
Split = tuple[np.ndarray, np.ndarray]


class Origin(NamedTuple):
    """Where vectors come from: the language of each, and the one that they are compared with, if there is one."""

    languages: list[str]
    partner: str | None = None


@dataclass(frozen=True)
class Decomposition:
    """Sentence, meaning and language vectors of a batch while training, each (B, D), not normalised."""

    sentence: Tensor
    meaning: Tensor
    language: Tensor


class Parts(NamedTuple):
    """Sentence, meaning and language vectors, each (N, D) float32, not normalised."""

    sentence: np.ndarray
    meaning: np.ndarray
    language: np.ndarray


@dataclass(frozen=True)
class Decomposer:
    """A trained decomposer, ready to apply.

    Attributes:
        architecture: a name in `APPLY`.
        method: its name in params.yaml.
        encoder, identity: name and digest of the encoder whose vectors it was trained on.
        languages: those it was trained on, sorted; where each has weights of its own, no others are known.
        dim: D.
        weights: arrays by name, as the architecture's module names them.
        details: whatever else should be on record (seed, terms, sizes); JSON values.
    """

    architecture: str
    method: str
    encoder: str
    identity: str
    languages: list[str]
    dim: int
    weights: Weights
    details: dict[str, Any]

    def transform(
        self, vectors: np.ndarray, languages: Sequence[str] | str, partner: str | None = None
    ) -> Parts:
        """Split vectors (N, D) of one language, or of N named ones.

        Args:
            partner: the language that they are compared with, where there is one; centering per pair alone asks.
        Raises:
            DataError: the size is not D, the counts differ, or a language has no weights where each has its own.
        """
        vectors = np.asarray(vectors, dtype=np.float32)
        if vectors.ndim != 2 or vectors.shape[1] != self.dim:
            raise DataError(f"decomposer {self.method}: vectors {vectors.shape}, expected (N, {self.dim})")
        names = [languages] * len(vectors) if isinstance(languages, str) else list(languages)
        if len(names) != len(vectors):
            raise DataError(f"decomposer {self.method}: {len(vectors)} vectors but {len(names)} languages")
        meaning, language = APPLY[self.architecture](self, vectors, Origin(names, partner))
        return Parts(vectors, meaning, language)

    def save(self, folder: Path) -> None:
        """Write decomposer.json and weights.safetensors into an existing folder."""
        meta = {name: getattr(self, name) for name in Decomposer.__annotations__ if name != "weights"}
        text = json.dumps(meta, indent=2, sort_keys=True, ensure_ascii=False)
        (folder / META).write_text(text + "\n", encoding="utf-8")
        arrays = {name: np.ascontiguousarray(array) for name, array in self.weights.items()}
        save_file(arrays, folder / WEIGHTS)


def load_decomposer(folder: Path) -> Decomposer:
    """The decomposer that `Decomposer.save` wrote into `folder`.

    Raises:
        DataError: a file is absent or damaged, or the architecture is unknown.
    """
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
        decomposer = Decomposer(weights=load_file(folder / WEIGHTS), **meta)
    except (OSError, ValueError, TypeError, SafetensorError) as error:
        raise DataError(f"decomposer {folder}: cannot be read ({error})") from error
    if decomposer.architecture not in APPLY:
        known = ", ".join(APPLY)
        raise DataError(f"decomposer {folder}: architecture {decomposer.architecture!r}; known: {known}")
    return decomposer


def _affine(weights: Weights, name: str, vectors: np.ndarray) -> np.ndarray:
    return vectors @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _two_head(self: Decomposer, vectors: np.ndarray, _: Origin) -> Split:
    return _affine(self.weights, "meaning", vectors), _affine(self.weights, "language", vectors)


def _residual(self: Decomposer, vectors: np.ndarray, _: Origin) -> Split:
    meaning = _affine(self.weights, "meaning", vectors)
    return meaning, vectors - meaning


def _places(self: Decomposer, names: list[str]) -> np.ndarray:
    """Place in `languages` of each name (N,)."""
    place = {language: i for i, language in enumerate(self.languages)}
    missing = sorted(set(names) - set(place))
    if missing:
        unknown, known = ", ".join(map(repr, missing)), ", ".join(place)
        raise DataError(f"decomposer {self.method}: no weights of language {unknown}; known: {known}")
    return np.array([place[name] for name in names], dtype=np.int64)


def _centering(self: Decomposer, vectors: np.ndarray, origin: Origin) -> Split:
    language = self.weights["means"][_places(self, origin.languages)]
    return vectors - language, language


def _pair_centering(self: Decomposer, vectors: np.ndarray, origin: Origin) -> Split:
    places = _places(self, origin.languages)
    partners = places if origin.partner is None else _places(self, [origin.partner])[0]
    language = self.weights["means"][places, partners]
    return vectors - language, language


def _lir(self: Decomposer, vectors: np.ndarray, origin: Origin) -> Split:
    places, meaning = _places(self, origin.languages), vectors.copy()
    for k in np.unique(places):
        own, components = places == k, self.weights["components"][k]
        meaning[own] -= vectors[own] @ components.T @ components
    return meaning, vectors - meaning


def _lsar(self: Decomposer, vectors: np.ndarray, _: Origin) -> Split:
    components = self.weights["components"]
    meaning = vectors - vectors @ components.T @ components
    return meaning, vectors - meaning


def _leace(self: Decomposer, vectors: np.ndarray, _: Origin) -> Split:
    meaning = vectors - (vectors - self.weights["mean"]) @ self.weights["right"].T @ self.weights["left"]
    return meaning, vectors - meaning


def _mapped(self: Decomposer, vectors: np.ndarray, origin: Origin) -> Split:
    places, meaning = _places(self, origin.languages), np.empty_like(vectors)
    for k in np.unique(places):
        own = places == k
        meaning[own] = (vectors[own] - self.weights["means"][k]) @ self.weights["maps"][k]
    return meaning, vectors - meaning


APPLY: dict[str, Callable[[Decomposer, np.ndarray, Origin], Split]] = {
    "two_head": _two_head,
    "residual": _residual,
    "centering": _centering,
    "pair_centering": _pair_centering,
    "lir": _lir,
    "lsar": _lsar,
    "leace": _leace,
    "whitening": _mapped,
    "procrustes": _mapped,
}
