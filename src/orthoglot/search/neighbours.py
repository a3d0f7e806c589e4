"""Exact nearest neighbours by inner product, in tiles of the similarity matrix, both directions in one pass.

Each tile of x y^T is computed once, in float32, and gives candidates to its rows and to its columns. A matrix product
rounds differently with other tiles and on other devices. Candidates too close to distinguish are therefore compared
again in exact arithmetic, so that the neighbours depend on neither.

Memory in addition to the vectors and the results: at most 512 MiB, 6 GiB on a GPU, and 100 bytes per vector and
candidate, however many similarities there are. A GPU also holds y, if that takes less than half of its free memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

# Cosines that differ by less are equal: of float32 vectors, the difference is rounding.
EQUAL = 1e-6
# Rows and columns of a tile: 128 MiB of float32. On a GPU 2 GiB, so that copying a tile's columns takes less time than
# their products.
TILE, GPU_TILE = (4096, 8192), (32768, 16384)
# Columns of a tile whose maxima are compared first.
GROUP = 64
# Candidates that are kept in addition to the neighbours that are wanted, and to half as many: distant neighbours are
# close to each other.
SPARE = 2
# Up to so many candidates, from up to so many products, come from NumPy: without the import of PyTorch, and in half to
# three quarters of its time (measurements/speed-of-mining/README.md).
FEW, FEW_PRODUCTS = 32, 1 << 22
# More than rounding may move a float32 cosine, and more than `EQUAL`.
NOISE = 1e-5
# Products of rows of length 1 on multiples of 2^-26 are sums of multiples of 2^-52, which float64 adds up exactly.
GRID = 2.0**26
# Numbers of an exact comparison held at once: 64 MiB of float64.
EXACT_ENTRIES = 1 << 23


class Nearest(NamedTuple):
    """Row numbers of nearest neighbours, the nearest first."""

    forward: np.ndarray  # (n, min(k, m)) int64, for each row of x rows of y
    backward: np.ndarray  # (m, min(k, n)) int64, for each row of y rows of x


def nearest(
    x: np.ndarray,
    y: np.ndarray,
    k: int = 1,
    *,
    device: str = "cpu",
    tile: tuple[int, int] | None = None,
) -> Nearest:
    """The k nearest neighbours of each row of x in y, and of each row of y in x.

    The first neighbour is the row with the highest cosine; of all within 1e-6 of it, the lowest index. The second is
    chosen by the same rule from the rows that are left, and so on.

    Neither device nor tile changes the result.

    Args:
        x: (n, D), rows of length 1.
        y: (m, D), rows of length 1; if it is x itself, nearly half of the products are computed for both of their rows.
        k: Neighbours, at least 1.
        device: Where the products are computed: "cpu", "cuda", ...
        tile: Rows and columns of a tile, None for a size that suits the device.
    Source: docs/papers.md#protocol-retrieval.
    """
    same = y is x
    x = np.ascontiguousarray(x, dtype=np.float32)
    y = x if same else np.ascontiguousarray(y, dtype=np.float32)
    tile = tile or (TILE if device == "cpu" else GPU_TILE)
    forward, backward = candidates(x, y, k + k // 2 + SPARE, device, tile)
    settled = settle(*forward, x, y, k)
    return Nearest(settled, settled if same else settle(*backward, y, x, k))


def cosines(x: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Cosines of each row of x (n, D) with the named rows (n, k) of y (m, D), float64, the same on every machine.

    The rows have length 1.
    """
    values = np.empty(rows.shape)
    step = max(1, EXACT_ENTRIES // max(1, rows.shape[1] * x.shape[1]))
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        values[part] = np.einsum("nd,nkd->nk", _on_grid(x[part]), _on_grid(y[rows[part]])) / GRID**2
    return values


Lists = tuple[np.ndarray, np.ndarray]


def candidates(
    x: np.ndarray, y: np.ndarray, keep: int, device: str = "cpu", tile: tuple[int, int] = TILE
) -> tuple[Lists, Lists]:
    """The rows with the `keep` highest float32 products, in no order: their numbers and products, of x and of y.

    Both lists have `keep` columns; a product is -inf where there are fewer rows. If y is x, both are one list, and only
    the products of the diagonal tiles and above them are computed.
    """
    if device == "cpu" and keep <= FEW and len(x) * len(y) <= min(FEW_PRODUCTS, tile[0] * tile[1]):
        return _from_products(x, y, keep)
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False  # products in float32, never in a GPU's shorter formats
    height, width = tile

    def empty(rows: int) -> tuple[Tensor, Tensor]:
        numbers = torch.full((rows, keep), -1, device=device)
        return numbers, torch.full((rows, keep), -torch.inf, device=device)

    same = y is x
    forward = empty(len(x))
    backward = forward if same else empty(len(y))
    # The columns stay on a GPU, unless they take more than half of its memory.
    stay = torch.device(device).type == "cuda" and 2 * y.nbytes < torch.cuda.mem_get_info(device)[0]
    tiles: dict[int, Tensor] = {}
    for top in range(0, len(x), height):
        rows = torch.tensor(x[top : top + height], device=device)
        for left in range(top if same else 0, len(y), width):
            columns = tiles[left] if left in tiles else torch.tensor(y[left : left + width], device=device)
            if stay:
                tiles[left] = columns
            products = rows @ columns.T
            _renew(forward, top, products, left)
            # If a list is searched in itself, the columns that are rows of this tile have had their products.
            skipped = min(max(0, top + len(rows) - left), products.shape[1]) if same else 0
            if skipped < products.shape[1]:
                _renew(backward, left + skipped, products[:, skipped:].T, top)
    return _arrays(forward), _arrays(backward)


def _from_products(x: np.ndarray, y: np.ndarray, keep: int) -> tuple[Lists, Lists]:
    """`candidates` by NumPy, from all products at once."""
    products = x @ y.T
    if y is x:
        lists = _highest(products, keep)
        return lists, lists
    backward = _highest(products.T.copy(), keep)
    return _highest(products, keep), backward


def _highest(products: np.ndarray, keep: int) -> Lists:
    """The numbers and values of the `keep` highest products of each row (n, m), which it overwrites."""
    rows = np.arange(len(products))
    numbers = np.full((len(products), keep), -1)
    values = np.full(numbers.shape, -np.inf, dtype=np.float32)
    for place in range(min(keep, products.shape[1])):
        numbers[:, place] = best = products.argmax(axis=1)
        values[:, place] = products[rows, best]
        products[rows, best] = -np.inf
    return numbers, values


def _renew(lists: tuple[Tensor, Tensor], first: int, products: Tensor, offset: int) -> None:
    """Put the best products of each row of a tile among the candidates of the rows from `first` on."""
    import torch

    numbers, values = (part[first : first + len(products)] for part in lists)
    keep = values.shape[1]
    best, places = _best(products, min(keep, products.shape[1]))
    both = torch.cat([values, best], dim=1).topk(keep, dim=1, sorted=False)
    numbers.copy_(torch.cat([numbers, places + offset], dim=1).gather(1, both.indices))
    values.copy_(both.values)


def _best(products: Tensor, keep: int) -> tuple[Tensor, Tensor]:
    """The `keep` highest products of each row, in no order, and their columns.

    They are in the groups of columns with the highest maxima: on a GPU `topk` of whole rows takes twice as long.
    """
    import torch

    if products.shape[1] % GROUP or products.shape[1] <= keep * GROUP:
        best = products.contiguous().topk(keep, dim=1, sorted=False)  # slow along columns
        return best.values, best.indices
    groups = products.unflatten(1, (-1, GROUP)).amax(2).topk(keep, dim=1, sorted=False).indices
    columns = (groups[:, :, None] * GROUP + torch.arange(GROUP, device=products.device)).flatten(1)
    best = products.gather(1, columns).topk(keep, dim=1, sorted=False)
    return best.values, columns.gather(1, best.indices)


def _arrays(lists: tuple[Tensor, Tensor]) -> Lists:
    return lists[0].cpu().numpy(), lists[1].cpu().numpy()


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
        numbers: Of rows of y, (n, c), c above k, in any order.
        products: float32 products of x with them (n, c); -inf where there are fewer candidates.
        x, y: (n, D) and (m, D), rows of length 1.
        k: Neighbours, at least 1.
        exhaustive: Look among all rows of y where rounding may have left out a neighbour.
    """
    order = np.argsort(-products, axis=1, kind="stable")
    numbers, products = (np.take_along_axis(array, order, axis=1) for array in (numbers, products))
    numbers[np.isneginf(products)] = -1  # padding
    k = min(k, len(y))
    neighbours = numbers[:, :k].copy()
    # Each of the first k must be clearly above the next; without a next, padding is.
    with np.errstate(invalid="ignore"):  # padding less padding
        close = products[:, :k] - products[:, 1 : k + 1] <= NOISE
        unsure = np.flatnonzero(close.any(axis=1))
        outside = exhaustive & (products[unsure, k - 1] - products[unsure, -1] <= 2 * NOISE)
    _choose(neighbours, unsure[~outside], x, y, numbers)
    _choose(neighbours, unsure[outside], x, y, None)
    return neighbours


def _choose(
    neighbours: np.ndarray, rows: np.ndarray, x: np.ndarray, y: np.ndarray, numbers: np.ndarray | None
) -> None:
    """Write the exact neighbours of some rows of x into `neighbours`, of all rows of y or of numbered ones."""
    width = len(y) if numbers is None else numbers.shape[1] * x.shape[1]
    step = max(1, EXACT_ENTRIES // width)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        if numbers is None:
            neighbours[part] = greedy(similarities(x[part], y), neighbours.shape[1])
        else:
            in_order = np.sort(numbers[part], axis=1)
            similarity = np.einsum("nd,nkd->nk", _on_grid(x[part]), _on_grid(y[in_order]))
            similarity[in_order < 0] = -np.inf
            neighbours[part] = np.take_along_axis(in_order, greedy(similarity, neighbours.shape[1]), axis=1)


def similarities(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Exact products of all rows of x and y, times `GRID` squared (n, m)."""
    step = max(1, EXACT_ENTRIES // y.shape[1])
    blocks = (y[start : start + step] for start in range(0, len(y), step))
    return np.concatenate([_on_grid(x) @ _on_grid(rows).T for rows in blocks], axis=1)


def greedy(similarity: np.ndarray, k: int) -> np.ndarray:
    """(n, k) places: the first within `EQUAL` of the highest, then the same of the rest; overwrites its input.

    Similarities are products times `GRID` squared.
    """
    places = np.empty((len(similarity), k), dtype=np.int64)
    rows = np.arange(len(similarity))
    for place in range(k):
        highest = similarity.max(axis=1, keepdims=True)
        places[:, place] = (similarity >= highest - EQUAL * GRID**2).argmax(axis=1)
        similarity[rows, places[:, place]] = -np.inf
    return places


def _on_grid(vectors: np.ndarray) -> np.ndarray:
    """Whole multiples of 1 / `GRID`, float64."""
    # Entries of size 1/4 and more are on the grid in float32 as well.
    return np.rint(vectors * np.float32(GRID)).astype(np.float64)
