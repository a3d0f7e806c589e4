"""Two-dimensional maps of the groups of vectors: where meaning and language parts of each language lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from orthoglot.evaluation.base import unit, usable


class Map(NamedTuple):
    """Points of one map.

    Attributes:
        points: (n, 2) float32.
        languages: (n,) codes.
        parts: (n,) "meaning", "language" or "sentence".
        explained: (2,) share of the variance along each axis.
    """

    points: np.ndarray
    languages: np.ndarray
    parts: np.ndarray
    explained: np.ndarray


def project(groups: Mapping[tuple[str, str], Sequence[np.ndarray]]) -> Map:
    """First two principal components of {(language, part): [(n, D), ...]}, rows scaled to length 1.

    Rows that are zero or not finite have no direction and no place on the map. Source: methods 7.15 (SEED).
    """
    kept = {key: _directions(np.concatenate(rows)) for key, rows in groups.items()}
    stacked = np.concatenate(list(kept.values()))
    pca = PCA(n_components=2, svd_solver="covariance_eigh").fit(stacked)
    labels = [key for key, rows in kept.items() for _ in range(len(rows))]
    return Map(
        points=pca.transform(stacked).astype(np.float32),
        languages=np.array([language for language, _ in labels]),
        parts=np.array([part for _, part in labels]),
        explained=np.nan_to_num(pca.explained_variance_ratio_),
    )


def write_map(path: Path, drawn: Map) -> None:
    """Write a map as .npz."""
    np.savez_compressed(path, allow_pickle=False, **drawn._asdict())


def read_map(path: Path) -> Map:
    """Read what `write_map` wrote."""
    with np.load(path, allow_pickle=False) as stored:
        return Map(**stored)


def _directions(vectors: np.ndarray) -> np.ndarray:
    return unit(vectors[usable(vectors)])
