"""Two-dimensional maps of vectors: of the parts of sentences, and of one text in many languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from orthoglot.decomposers.base import unit
from orthoglot.random_streams import derive
from orthoglot.usable_vectors import usable

if TYPE_CHECKING:
    from sklearn.decomposition import PCA

# The most languages and points of a map of one text; t-SNE takes the square of its points in time.
LANGUAGES, POINTS = 20, 400
# The fewest points of a map of one pair. t-SNE weighs three times as many neighbours as its perplexity.
FEWEST_POINTS = 40


class Map(NamedTuple):
    """Points of one map."""

    points: np.ndarray  # (n, 2) float32
    languages: np.ndarray  # (n,) codes
    parts: np.ndarray  # (n,) "meaning", "language" or "sentence"
    explained: np.ndarray  # (2,) share of the variance along each axis; (0,) of t-SNE


class TextMap(NamedTuple):
    """Points of one text in many languages."""

    tsne: np.ndarray  # (n, 2) float32
    pca: np.ndarray  # (n, 2) float32
    languages: np.ndarray  # (n,) codes
    explained: np.ndarray  # (2,) share of the variance along each axis of `pca`


def project(groups: Mapping[tuple[str, str], Sequence[np.ndarray]]) -> Map:
    """First two principal components of {(language, part): [(n, D), ...]}, rows scaled to length 1.

    Rows that are zero or not finite have no direction and no place on the map. Source: docs/papers.md#protocol-maps
    (SEED).
    """
    stacked, languages, parts = _stacked({key: np.concatenate(rows) for key, rows in groups.items()})
    pca = _components().fit(stacked)
    points = pca.transform(stacked).astype(np.float32)
    return Map(points, languages, parts, np.nan_to_num(pca.explained_variance_ratio_))


def project_pair(groups: Mapping[tuple[str, str], np.ndarray]) -> Map | None:
    """t-SNE (cosine, perplexity 10, 300 iterations) of {(language, part): (n, D)}, all groups in one map.

    Rows that are zero or not finite have no place on the map; None if fewer than 40 points remain, with too few
    neighbours. It starts from the principal components, so that no chance decides, and sums by Barnes and Hut's tree.
    One thread: with other jobs on the machine, two waited for each other for 30 times as long.
    Source: docs/papers.md#protocol-maps (ORACLE).
    """
    stacked, languages, parts = _stacked(groups)
    stacked = stacked.astype(np.float64)
    if len(stacked) < FEWEST_POINTS:
        return None
    with threadpool_limits(1), np.errstate(invalid="ignore"):  # raised by vectors that are all one
        flat = _components().fit_transform(stacked)
        points = _tsne(stacked, flat, "barnes_hut")
    return Map(points, languages, parts, explained=np.empty(0))


def _stacked(groups: Mapping[tuple[str, str], np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The usable rows of all groups at length 1, and the language and the part of each."""
    directions = {key: unit(rows[usable(rows)]) for key, rows in groups.items()}
    labels = [key for key, rows in directions.items() for _ in rows]
    languages, parts = (np.array([label[place] for label in labels]) for place in range(2))
    return np.concatenate(list(directions.values())), languages, parts


def project_text(directions: Mapping[str, np.ndarray], seed: int) -> TextMap:
    """t-SNE (cosine, perplexity 10, 300 iterations) and PCA of a sample of {language: (n, D)}, row by row translations.

    At most 20 languages, drawn, and the same sentences of each, together at most 400 points. t-SNE starts from
    the principal components and sums exactly, so that neither chance nor the number of threads decides.
    Source: docs/papers.md#protocol-maps (Emma-X, ORACLE).
    """
    generator = np.random.default_rng(derive(seed, "text map"))
    codes = sorted(directions)
    codes = sorted(generator.permutation(codes)[:LANGUAGES].tolist())
    count = len(directions[codes[0]])
    chosen = np.sort(generator.permutation(count)[: max(1, POINTS // len(codes))])
    stacked = np.concatenate([directions[code][chosen] for code in codes]).astype(np.float64)
    with np.errstate(invalid="ignore"):  # raised by vectors that are all one
        pca = _components().fit(stacked)
    flat = pca.transform(stacked)
    return TextMap(
        tsne=_tsne(stacked, flat, "exact"),
        pca=flat.astype(np.float32),
        languages=np.repeat(codes, len(chosen)),
        explained=np.nan_to_num(pca.explained_variance_ratio_),
    )


def _components() -> PCA:
    from sklearn.decomposition import PCA  # imported here: who reads maps does not need it

    return PCA(n_components=2, svd_solver="covariance_eigh")


def _tsne(rows: np.ndarray, flat: np.ndarray, method: str) -> np.ndarray:
    """(n, 2) float32 of the rows (n, D), from their principal components `flat` (n, 2)."""
    from sklearn.manifold import TSNE

    start = flat * (1e-4 / max(float(flat[:, 0].std()), 1e-12))
    tsne = TSNE(metric="cosine", perplexity=10, max_iter=300, method=method, init=start.astype(np.float32))
    return tsne.fit_transform(rows).astype(np.float32)


def write_text_maps(path: Path, maps: Mapping[str, TextMap]) -> None:
    """Write {name of a text: its map} as .npz, each array under "name|field"."""
    arrays = {
        f"{name}|{field}": values
        for name, text_map in maps.items()
        for field, values in text_map._asdict().items()
    }
    np.savez_compressed(path, allow_pickle=False, **arrays)


def read_text_maps(path: Path) -> dict[str, TextMap]:
    """Read what `write_text_maps` wrote; none where there is no such file."""
    if not path.is_file():
        return {}
    with np.load(path, allow_pickle=False) as stored:
        names = dict.fromkeys(key.rpartition("|")[0] for key in stored.files)
        return {name: TextMap(*(stored[f"{name}|{field}"] for field in TextMap._fields)) for name in names}


def write_map(path: Path, drawn: Map) -> None:
    """Write a map as .npz."""
    np.savez_compressed(path, allow_pickle=False, **drawn._asdict())


def read_map(path: Path) -> Map:
    """Read what `write_map` wrote."""
    with np.load(path, allow_pickle=False) as stored:
        return Map(**stored)
