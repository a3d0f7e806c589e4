"""Part 5: nearest neighbours of a million vectors among a million, both directions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gpu_parts.measuring import seconds
from gpu_parts.result import MissingError, Part
from orthoglot.search.cells import nearest_in_cells
from orthoglot.search.neighbours import nearest

# Seconds that one way may take; more is extrapolated from fewer rows.
LIMIT = 100
Both = tuple[np.ndarray, np.ndarray]


def measure(part: Part) -> None:
    """Every way on the same vectors; those that are too slow on a part of the rows."""
    n, dim, k = part.size((1_000_000, 768, 4), (300, 16, 4))
    draw = torch.Generator(part.device).manual_seed(0)
    x = normalize(torch.randn(n, dim, device=part.device, generator=draw), dim=1)
    y = normalize(x + 0.8 * torch.randn(n, dim, device=part.device, generator=draw) / dim**0.5, dim=1)
    some = part.size(1000, 50)
    exact = torch_alone(x[:some], y, k)[0]
    part.notes.append(
        f"{n:,} unit vectors of {dim} numbers on either side, k {k}. Recall is the share of the {k} exact neighbours "
        f"of {some:,} rows. A way that would take over {LIMIT} s is measured on fewer rows, as the column says, and "
        "the time of the others added. Copies between host and device count, but PyTorch alone finds the vectors on it."
    )
    found: dict[str, float] = {}
    ways: dict[str, Callable[[Tensor, Tensor], Both]] = {
        "ours": lambda a, b: ours(part, a, b, k),
        "torch alone, float32": lambda a, b: torch_alone(a, b, k),
        "ours, cells of faiss": lambda a, b: our_cells(part, a, b, k),
        "faiss, flat index": lambda a, b: faiss_flat(part, a, b, k),
        "faiss, IVF": lambda a, b: faiss_ivf(part, a, b, k),
    }
    for name, way in ways.items():
        with part.tried(name, optional="faiss" in name):
            rows, slope = affordable(part, way, x, y)
            (forward, _), took = timed(way, x[:rows], y)
            found[name] = took + slope * (n - rows)
            part.row(
                "Both directions",
                way=name,
                seconds=found[name],
                **{"rows measured": rows, "recall": recall(forward[:some], exact)},
            )
    part.row("Peak", **{"the products alone, s": products(part, x, y)})
    ratio = (
        found["ours"] / found["faiss, flat index"] if {"ours", "faiss, flat index"} <= set(found) else None
    )
    part.goal("ours / faiss's flat index", 1, ratio, most=True)


def ours(part: Part, x: Tensor, y: Tensor, k: int) -> Both:
    """The package's own search."""
    found = nearest(x.cpu().numpy(), y.cpu().numpy(), k, device=str(part.device))
    return found.forward, found.backward


def affordable(part: Part, way: Callable[[Tensor, Tensor], Both], x: Tensor, y: Tensor) -> tuple[int, float]:
    """Rows of x to measure, all of them if they take at most the limit, and the seconds of each further row.

    The time of a few rows and of twice as many tells what each row takes, apart from what any number of them does.
    """
    few = min(len(x) // 2, part.size(32_768, 50))
    way(x[:few], y)
    once, twice = (timed(way, x[:rows], y)[1] for rows in (few, 2 * few))
    slope = max(0.0, twice - once) / few
    whole = twice + slope * (len(x) - 2 * few)
    return len(x) if whole <= LIMIT else 2 * few, slope


def timed(way: Callable[[Tensor, Tensor], Both], x: Tensor, y: Tensor) -> tuple[Both, float]:
    """What a way finds, and its seconds."""
    started = time.perf_counter()
    found = way(x, y)
    return found, time.perf_counter() - started


def torch_alone(x: Tensor, y: Tensor, k: int, block: int = 2048) -> Both:
    """Products and topk of PyTorch, block by block, one pass for both directions; a block has under 2^31 numbers."""
    forward, values, rows = [], None, None
    for first in range(0, len(x), block):
        similarity = x[first : first + block] @ y.T
        forward.append(similarity.topk(min(k, len(y)), dim=1).indices)
        own = similarity.topk(min(k, len(similarity)), dim=0)
        best, places = own.values.T, own.indices.T + first
        if values is not None and rows is not None:
            best, places = torch.cat([values, best], dim=1), torch.cat([rows, places], dim=1)
        kept = best.topk(min(k, best.shape[1]), dim=1)
        values, rows = kept.values, places.gather(1, kept.indices)
    assert rows is not None
    return torch.cat(forward).cpu().numpy(), rows.cpu().numpy()


def opened(part: Part) -> tuple[Any, Any]:
    """faiss, and on a GPU what its indexes share there.

    Raises:
        MissingError: the faiss that is installed cannot use a GPU.
    """
    import faiss

    if part.on_gpu and not hasattr(faiss, "StandardGpuResources"):
        raise MissingError("faiss is here without CUDA; docs/gpu.md says how faiss-gpu is installed")
    return faiss, faiss.StandardGpuResources() if part.on_gpu else None


def our_cells(part: Part, x: Tensor, y: Tensor, k: int) -> Both:
    """The package's search beyond the size of an exact one, a search in each direction."""
    opened(part)
    rows = x.cpu().numpy(), y.cpu().numpy()
    forward, backward = (nearest_in_cells(*side, k, device=str(part.device)) for side in (rows, rows[::-1]))
    return forward, backward


def faiss_flat(part: Part, x: Tensor, y: Tensor, k: int) -> Both:
    """faiss's exact index, a search in each direction."""
    (faiss, resources), found = opened(part), []
    for queries, others in ((x, y), (y, x)):
        index = faiss.IndexFlatIP(x.shape[1])
        if part.on_gpu:
            index = faiss.index_cpu_to_gpu(resources, 0, index)
        index.add(others.cpu().numpy())
        found.append(index.search(queries.cpu().numpy(), k)[1])
    return found[0], found[1]


def faiss_ivf(part: Part, x: Tensor, y: Tensor, k: int) -> Both:
    """faiss's inverted lists, 32 of 4 sqrt(n) of them searched, in each direction."""
    (faiss, resources), found = opened(part), []
    for queries, others in ((x, y), (y, x)):
        lists = max(1, min(int(4 * len(others) ** 0.5), len(others) // 39))
        quantiser = faiss.IndexFlatIP(x.shape[1])
        index = faiss.IndexIVFFlat(quantiser, x.shape[1], lists, faiss.METRIC_INNER_PRODUCT)
        if part.on_gpu:
            index = faiss.index_cpu_to_gpu(resources, 0, index)
        stored = others.cpu().numpy()
        index.train(stored[: 100 * lists])
        index.add(stored)
        index.nprobe = 32
        found.append(index.search(queries.cpu().numpy(), k)[1])
    return found[0], found[1]


def recall(found: np.ndarray, exact: np.ndarray) -> float:
    """Share of the exact neighbours that were found, of as many as the way gives."""
    width = found.shape[1]
    return float(
        np.mean([np.isin(one[:width], other).mean() for one, other in zip(exact, found, strict=True)])
    )


def products(part: Part, x: Tensor, y: Tensor) -> float:
    """Seconds of the matrix products that an exact search cannot do without."""
    rows = min(len(x), 4096)
    return seconds(lambda: x[:rows] @ y.T, part.device, repeats=3) * len(x) / rows
