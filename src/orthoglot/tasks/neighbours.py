"""Exact nearest neighbours by inner product, in tiles of the similarity matrix, both directions in one pass.

Each tile of x y^T is computed once, in float32, and gives candidates to its rows and to its columns. A matrix product
rounds differently with other tiles and on other devices. Candidates too close to distinguish are therefore compared
again in exact arithmetic, so that the neighbours depend on neither.

Memory in addition to the vectors and the results: at most 256 MiB for each thread, 4 GiB on a GPU, and 100 bytes per
vector and candidate, however many similarities there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import numpy as np

from orthoglot.tasks.base import EQUAL

# Rows and columns of a tile: 128 MiB of float32. On a GPU 2 GiB, so that copying a tile's columns takes less time than
# their products.
TILE, GPU_TILE = (4096, 8192), (32768, 16384)
# Each candidate is found by the maximum of so many entries of its row or column.
GROUP = 16
# Candidates that are kept in addition to the neighbours that are wanted, and to half as many: distant neighbours are
# close to each other.
SPARE = 2
# More than rounding may move a float32 cosine, and more than `EQUAL`.
NOISE = 1e-5
# On multiples of 2^-26, products of rows of length 1 are sums of multiples of 2^-52, which float64 adds up exactly.
GRID = 2.0**26
# Numbers of an exact comparison held at once: 64 MiB of float64.
EXACT_ENTRIES = 1 << 23


class Nearest(NamedTuple):
    """Row numbers of nearest neighbours, the nearest first.

    Attributes:
        forward: (n, min(k, m)) int64, for each row of x rows of y.
        backward: (m, min(k, n)) int64, for each row of y rows of x.
    """

    forward: np.ndarray
    backward: np.ndarray


class Arrays(Protocol):
    """What the search needs of a library of arrays, e.g. of tensors on a GPU."""

    def put(self, array: np.ndarray) -> Any:
        """The array where the library computes."""
        ...

    def get(self, array: Any) -> np.ndarray:
        """The same as a NumPy array."""
        ...

    def greatest(self, array: Any, axis: int) -> Any:
        """The maximum along an axis."""
        ...

    def largest(self, array: Any, k: int) -> Any:
        """Positions of the k largest entries of each row, in any order."""
        ...

    def take(self, array: Any, places: Any) -> Any:
        """Entries of an array by their places in it as one row."""
        ...

    def join(self, one: Any, other: Any, axis: int) -> Any:
        """Two arrays as one."""
        ...

    def full(self, shape: tuple[int, ...], value: float) -> Any:
        """An array of one value: float32, or int64 for an int."""
        ...


class OfNumpy:
    """NumPy's arrays."""

    def put(self, array: np.ndarray) -> np.ndarray:
        """See `Arrays.put`."""
        return array

    def get(self, array: np.ndarray) -> np.ndarray:
        """See `Arrays.get`."""
        return array

    def greatest(self, array: np.ndarray, axis: int) -> np.ndarray:
        """See `Arrays.greatest`."""
        return array.max(axis=axis)

    def largest(self, array: np.ndarray, k: int) -> np.ndarray:
        """See `Arrays.largest`."""
        return np.argpartition(array, array.shape[1] - k, axis=1)[:, array.shape[1] - k :]

    def take(self, array: np.ndarray, places: np.ndarray) -> np.ndarray:
        """See `Arrays.take`."""
        return array.take(places)

    def join(self, one: np.ndarray, other: np.ndarray, axis: int) -> np.ndarray:
        """See `Arrays.join`."""
        return np.concatenate([one, other], axis=axis)

    def full(self, shape: tuple[int, ...], value: float) -> np.ndarray:
        """See `Arrays.full`."""
        return np.full(shape, value, dtype=np.int64 if isinstance(value, int) else np.float32)


class OfTorch:
    """PyTorch's tensors on one device; products are in float32, never in a GPU's shorter formats."""

    def __init__(self, device: str) -> None:
        import torch

        self.torch = torch
        self.device = torch.device(device)
        torch.backends.cuda.matmul.allow_tf32 = False

    def put(self, array: np.ndarray) -> Any:
        """See `Arrays.put`."""
        return self.torch.as_tensor(array, device=self.device)

    def get(self, array: Any) -> np.ndarray:
        """See `Arrays.get`."""
        return array.cpu().numpy()

    def greatest(self, array: Any, axis: int) -> Any:
        """See `Arrays.greatest`."""
        return array.amax(dim=axis)

    def largest(self, array: Any, k: int) -> Any:
        """See `Arrays.largest`."""
        return array.topk(k, dim=1, sorted=False).indices

    def take(self, array: Any, places: Any) -> Any:
        """See `Arrays.take`."""
        return array.take(places)

    def join(self, one: Any, other: Any, axis: int) -> Any:
        """See `Arrays.join`."""
        return self.torch.cat([one, other], dim=axis)

    def full(self, shape: tuple[int, ...], value: float) -> Any:
        """See `Arrays.full`."""
        dtype = self.torch.int64 if isinstance(value, int) else self.torch.float32
        return self.torch.full(shape, value, dtype=dtype, device=self.device)


def nearest(
    x: np.ndarray,
    y: np.ndarray,
    k: int = 1,
    *,
    device: str = "cpu",
    threads: int = 1,
    tile: tuple[int, int] | None = None,
) -> Nearest:
    """The k nearest neighbours of each row of x in y, and of each row of y in x.

    The first neighbour is the row with the highest cosine; of all within 1e-6 of it, the lowest index. The second is
    chosen by the same rule from the rows that are left, and so on.

    Args:
        x: (n, D), rows of length 1.
        y: (m, D), rows of length 1.
        k: neighbours, at least 1.
        device: "cpu", "cuda", ...: where the products are computed; the result is the same.
        threads: that search at once on a CPU, each of which may itself compute products with several threads.
        tile: rows and columns of a tile, None for a size that suits the device; the result is the same.
    Source: docs/papers.md#protocol-retrieval.
    """
    x, y = (np.ascontiguousarray(side, dtype=np.float32) for side in (x, y))
    arrays: Arrays = OfNumpy() if device == "cpu" else OfTorch(device)
    tile = tile or (TILE if device == "cpu" else GPU_TILE)
    forward, backward = candidates(x, y, k + k // 2 + SPARE, arrays, tile, threads)
    return Nearest(settle(*forward, x, y, k), settle(*backward, y, x, k))


def cosines(x: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Cosines of each row of x (n, D) with the named rows of y, (n, k) float64, the same on every machine.

    Args:
        x: rows of length 1.
        y: (m, D), rows of length 1.
        rows: (n, k) row numbers of y.
    """
    found = np.empty(rows.shape)
    step = max(1, EXACT_ENTRIES // max(1, rows.shape[1] * x.shape[1]))
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        found[part] = np.einsum("nd,nkd->nk", _on_grid(x[part]), _on_grid(y[rows[part]])) / GRID**2
    return found


Lists = tuple[np.ndarray, np.ndarray]


def candidates(
    x: np.ndarray, y: np.ndarray, keep: int, arrays: Arrays, tile: tuple[int, int] = TILE, threads: int = 1
) -> tuple[Lists, Lists]:
    """The rows with the `keep` highest float32 products, in no order: their numbers and products, of x and of y.

    Both lists have `keep` columns; a product is -inf where there are fewer rows. Threads take blocks of rows of x in
    turn.
    """
    # Every thread gets as many blocks of rows as the others, all about as high.
    height, width = _even(len(x), tile[0], threads), _even(len(y), tile[1], 1)
    forward = _empty(len(x), keep, arrays)

    def work(first: int) -> tuple[Any, Any]:
        backward = _empty(len(y), keep, arrays)
        for top in range(first * height, len(x), threads * height):
            block = arrays.put(x[top : top + height])
            rows = tuple(side[top : top + height] for side in forward)
            for left in range(0, len(y), width):
                products = _padded(block @ arrays.put(y[left : left + width]).T, arrays)
                _renew(rows, products, left, 1, arrays)
                _renew(tuple(side[left : left + width] for side in backward), products, top, 0, arrays)
        return backward

    with ThreadPoolExecutor(threads) as pool:
        (numbers, values), *others = pool.map(work, range(threads))
    for more_numbers, more_values in others:
        numbers, values = arrays.join(numbers, more_numbers, 1), arrays.join(values, more_values, 1)
    best = arrays.largest(values, keep) + arrays.put(np.arange(len(y)) * values.shape[1])[:, None]
    backward = arrays.take(numbers, best), arrays.take(values, best)
    get = arrays.get
    return (get(forward[0]), get(forward[1])), (get(backward[0]), get(backward[1]))


def _even(length: int, most: int, times: int) -> int:
    """The size of blocks, at most about `most`, of which a multiple of `times` makes up the length."""
    blocks = times * math.ceil(length / (times * most))
    return math.ceil(length / (blocks * GROUP)) * GROUP


def _empty(rows: int, keep: int, arrays: Arrays) -> tuple[Any, Any]:
    return arrays.full((rows, keep), -1), arrays.full((rows, keep), -np.inf)


def _padded(products: Any, arrays: Arrays) -> Any:
    """The products with rows and columns of -inf, so that both counts are multiples of `GROUP`."""
    for axis in (0, 1):
        if missing := -products.shape[axis] % GROUP:
            shape = (missing, products.shape[1]) if axis == 0 else (products.shape[0], missing)
            products = arrays.join(products, arrays.full(shape, -np.inf), axis)
    return products


def _renew(kept: tuple[Any, Any], products: Any, offset: int, axis: int, arrays: Arrays) -> None:
    """Put the better ones of a tile among the kept candidates of each row (axis 1) or column (axis 0).

    Entries are in groups of `GROUP`. The `keep` groups with the highest maxima hold the `keep` highest entries, so
    that only their entries are looked at one by one, and none where no maximum is above the least that is kept.
    """
    numbers, values = kept
    count, keep = values.shape
    groups = products.shape[axis] // GROUP
    # Group g has the entries g, g + groups, g + 2 groups, ...
    if axis == 1:
        maxima = arrays.greatest(products.reshape(products.shape[0], GROUP, groups), 1)[:count]
    else:
        maxima = arrays.greatest(products.reshape(GROUP, groups, products.shape[1]), 0).T[:count]
    better = arrays.greatest(maxima, 1) > -arrays.greatest(-values, 1)
    own = arrays.put(np.arange(count))[better]
    chosen = arrays.largest(maxima[own], min(keep, groups))
    steps = arrays.put(np.arange(GROUP) * groups)
    entries = (chosen[:, :, None] + steps).reshape(len(own), GROUP * chosen.shape[1])
    # Places in the tile as one row: taking them is faster than by two coordinates.
    stride = products.shape[1]
    found = arrays.take(
        products, own[:, None] * stride + entries if axis == 1 else entries * stride + own[:, None]
    )
    all_numbers, all_values = (
        arrays.join(numbers[own], entries + offset, 1),
        arrays.join(values[own], found, 1),
    )
    best = arrays.largest(all_values, keep)
    best = best + arrays.put(np.arange(len(own)) * all_values.shape[1])[:, None]
    numbers[own], values[own] = arrays.take(all_numbers, best), arrays.take(all_values, best)


def settle(
    numbers: np.ndarray,
    products: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    k: int,
    *,
    exhaustive: bool = True,
) -> np.ndarray:
    """The k neighbours (n, min(k, m)) among candidates, -1 where there are fewer.

    Args:
        numbers: of rows of y, (n, c), c above k, in any order.
        products: float32 products of x with them (n, c); -inf where there are fewer candidates.
        x: (n, D), rows of length 1.
        y: (m, D), rows of length 1.
        k: neighbours, at least 1.
        exhaustive: look among all rows of y where rounding may have left out a neighbour.
    """
    order = np.argsort(-products, axis=1, kind="stable")
    numbers, products = (np.take_along_axis(one, order, axis=1) for one in (numbers, products))
    numbers[np.isneginf(products)] = -1  # padding
    k = min(k, len(y))
    found = numbers[:, :k].copy()
    # Each of the first k must be clearly above the next; without a next, padding is.
    with np.errstate(invalid="ignore"):  # padding less padding
        close = products[:, :k] - products[:, 1 : k + 1] <= NOISE
        unsure = np.flatnonzero(close.any(axis=1))
        outside = exhaustive & (products[unsure, k - 1] - products[unsure, -1] <= 2 * NOISE)
    _choose(found, unsure[~outside], x, y, numbers)
    _choose(found, unsure[outside], x, y, None)
    return found


def _choose(
    found: np.ndarray, rows: np.ndarray, x: np.ndarray, y: np.ndarray, numbers: np.ndarray | None
) -> None:
    """Write the exact neighbours of some rows of x into `found`, of all rows of y or of numbered ones."""
    width = len(y) if numbers is None else numbers.shape[1] * x.shape[1]
    step = max(1, EXACT_ENTRIES // width)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        if numbers is None:
            similarity = np.concatenate(
                [_on_grid(x[part]) @ candidates.T for candidates in _grid_blocks(y)], axis=1
            )
            found[part] = _greedy(similarity, found.shape[1])
        else:
            own = np.sort(numbers[part], axis=1)
            similarity = np.einsum("nd,nkd->nk", _on_grid(x[part]), _on_grid(y[own]))
            similarity[own < 0] = -np.inf
            found[part] = np.take_along_axis(own, _greedy(similarity, found.shape[1]), axis=1)


def _greedy(similarity: np.ndarray, k: int) -> np.ndarray:
    """(n, k) places: the first within `EQUAL` of the highest, then the same of the rest; overwrites its input."""
    found = np.empty((len(similarity), k), dtype=np.int64)
    own = np.arange(len(similarity))
    for place in range(k):
        highest = similarity.max(axis=1, keepdims=True)
        found[:, place] = (similarity >= highest - EQUAL * GRID**2).argmax(axis=1)
        similarity[own, found[:, place]] = -np.inf
    return found


def _grid_blocks(y: np.ndarray) -> Iterator[np.ndarray]:
    step = max(1, EXACT_ENTRIES // y.shape[1])
    return (_on_grid(y[start : start + step]) for start in range(0, len(y), step))


def _on_grid(vectors: np.ndarray) -> np.ndarray:
    """Whole multiples of 1 / `GRID`, float64."""
    # In float32 as well, entries of size 1/4 and more are on the grid.
    return np.rint(vectors * np.float32(GRID)).astype(np.float64)
