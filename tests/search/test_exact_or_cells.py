"""Exact search below a size, cells with measured recall above it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from orthoglot.apply.mine import Side, side_vectors
from orthoglot.errors import ConfigError
from orthoglot.search import cells, exact_or_cells
from orthoglot.search.exact_or_cells import Neighbours, limit, search
from orthoglot.search.neighbours import nearest


def sides() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    topics = rng.normal(size=(60, 32))
    x = topics[rng.integers(60, size=1500)] + 0.7 * rng.normal(size=(1500, 32))
    y = np.concatenate([x[:1000] + 0.2 * rng.normal(size=(1000, 32)), rng.normal(size=(1200, 32))])
    return tuple((one / np.linalg.norm(one, axis=1, keepdims=True)).astype(np.float32) for one in (x, y))


def limited(most: int, x: np.ndarray, y: np.ndarray, k: int, **options: Any) -> Neighbours:
    """`search` that is exact up to so many similarities."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(exact_or_cells, "EXACT_UP_TO", most)
        return search(x, y, k, **options)


def test_up_to_the_size_the_search_is_exact() -> None:
    x, y = sides()
    found = limited(len(x) * len(y), x, y, 3)
    assert found.facts == {"search": "exact"}
    assert all((a == b).all() for a, b in zip(found.nearest, nearest(x, y, 3), strict=True))


def test_beyond_it_the_recall_is_measured_and_stated() -> None:
    x, y = sides()
    found = limited(len(x) * len(y) - 1, x, y, 3)
    exact = nearest(x, y, 3)
    shares = [
        np.mean([len({*a} & {*b}) / 3 for a, b in zip(ours, theirs, strict=True)])
        for ours, theirs in zip(found.nearest, exact, strict=True)
    ]
    assert found.facts["search"] == "cells"
    # Of samples of 1,000 of the 1,500 and the 2,200.
    assert found.facts["recall"] == pytest.approx(np.mean(shares), abs=0.02)
    assert 0.8 < np.mean(shares) < 1
    # The best neighbour is found before others, and no row twice.
    assert (found.nearest.forward[:, 0] == exact.forward[:, 0]).mean() > 0.9
    assert all(len({*row}) == 3 for row in found.nearest.backward.tolist())


def test_neither_threads_nor_memory_change_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = sides()
    seen: list[tuple[int, int]] = []
    compare = cells._candidates

    def watched(queries: np.ndarray, *rest: Any) -> Any:
        seen.append((len(queries), rest[-1]))
        return compare(queries, *rest)

    monkeypatch.setattr(cells, "_candidates", watched)
    found = limited(0, x, y, 3)
    assert seen == [(len(x), cells.BLOCK), (len(y), cells.BLOCK)]
    seen.clear()
    # 0.1 MiB
    again = limited(0, x, y, 3, threads=2, memory=1e-4)
    assert len(seen) > 20
    assert max(queries for queries, _ in seen) < 100
    assert max(products for _, products in seen) < 100
    assert found.facts == again.facts
    assert all((a == b).all() for a, b in zip(found.nearest, again.nearest, strict=True))


@pytest.mark.parametrize(("queries", "rows"), [(1, 1), (1, 2200), (10, 2200), (3, 300)])
def test_few_queries_are_no_special_case(queries: int, rows: int) -> None:
    x, y = sides()
    found = cells.nearest_in_cells(x[:queries], y[:rows], 3, threads=2)
    assert found.shape == (queries, min(3, rows))
    assert (found[:, 0] == nearest(x[:queries], y[:rows], 3).forward[:, 0]).all()


def test_equal_vectors_are_one_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = sides()
    y[:] = y[0]
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        found = cells.nearest_in_cells(x[:40], y, 3)
    # Which three of the equal ones depends on the processor.
    assert all(len({*row}) == 3 and {*row} <= {*range(len(y))} for row in found.tolist())


def test_of_few_sentences_all_cells_are_looked_up() -> None:
    x, y = (side[:300] for side in sides())
    found = limited(0, x, y, 4)
    assert found.facts == {"search": "cells", "recall": 1}
    assert all((a == b).all() for a, b in zip(found.nearest, nearest(x, y, 4), strict=True))


def test_a_query_whose_cells_hold_too_few_looks_up_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "LEAST", 1)
    x, y = (side[:300] for side in sides())
    exact = nearest(x, y, 40).forward
    alone = cells.nearest_in_cells(x, y, 40)
    short = (alone < 0).any(axis=1)
    assert 0 < short.sum() < 300
    found = limited(0, x, y, 40).nearest.forward
    assert (found[short] == exact[short]).all()
    assert (found[~short] == alone[~short]).all()


def test_blocks_of_a_product_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = sides()
    y[1000:1600] = 0  # so that a cell is large
    found = cells.nearest_in_cells(x, y, 3)
    monkeypatch.setattr(cells, "BLOCK", 7)
    assert (cells.nearest_in_cells(x, y, 3) == found).all()


class GpuOfTests:
    """The calls of faiss's GPU build, by indexes on the CPU."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, memory: int) -> None:
        self.sizes: list[int] = []  # rows of each index that was searched
        self.number = -1
        monkeypatch.setattr(faiss, "get_num_gpus", lambda: 2)
        monkeypatch.setattr(faiss, "StandardGpuResources", object, raising=False)
        monkeypatch.setattr(faiss, "index_cpu_to_gpu", self.copied, raising=False)
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (memory, 2 * memory))

    def copied(self, resources: object, number: int, index: Any) -> Any:
        self.number = number
        search_index = index.search

        def search(*arguments: Any) -> Any:
            self.sizes.append(index.ntotal)
            return search_index(*arguments)

        index.search = search
        return index


@pytest.mark.parametrize("memory", [1 << 30, 50_000])
def test_a_gpu_of_faiss_finds_what_the_cpu_does(memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one part, and in parts of the rows that its memory holds, 0.7 of it for 136 bytes a row."""
    x, y = sides()
    expected = cells.nearest_in_cells(x, y, 3)
    gpu = GpuOfTests(monkeypatch, memory)
    monkeypatch.setattr(cells, "GPU_BLOCK", 1000)
    assert (cells.nearest_in_cells(x, y, 3, device="cuda:1") == expected).all()
    assert gpu.number == 1
    rows = [len(y)] if memory > 50_000 else [257] * 8 + [144]
    assert gpu.sizes == [size for size in rows for _ in range(2)]  # 1,500 queries
    gpu.sizes.clear()
    assert (cells.nearest_in_cells(x, y, 3) == expected).all()
    assert not gpu.sizes


def test_a_gpu_of_faiss_leaves_open_what_its_cells_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "LEAST", 1)
    x, y = (side[:300] for side in sides())
    expected = cells.nearest_in_cells(x, y, 40)
    GpuOfTests(monkeypatch, 1 << 30)
    neighbours = cells.nearest_in_cells(x, y, 40, device="cuda")
    assert (neighbours < 0).any()
    assert (neighbours == expected).all()


def test_without_faiss_too_many_sentences_are_noticed_before_they_are_encoded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    x, y = sides()
    assert search(x, y, 1).facts == {"search": "exact"}
    with pytest.raises(ConfigError, match="pip install faiss-cpu"):
        limited(0, x, y, 1)

    class Encoder:
        def encode(self, *_: object, **__: object) -> None:
            raise AssertionError

    many: Any = Side(range(10**6), range(10**6), 10**6, 0)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="among so many sentences"):
        side_vectors(Encoder(), (many, many), tmp_path, device="cpu")  # type: ignore[arg-type]


def test_a_gpu_searches_more_exactly() -> None:
    assert limit("cpu") < limit("cuda:0") == limit("cuda")
