"""Mining by jobs with cells of a fixed size: one k-means of both texts, searched by faiss, a block of cells at a time.

A sentence looks up the cells of the nearest few centres, and meets the sentences of the other text that look up one of
them too. The vectors of each part of a text are written by block, so that a job reads those of its block alone, out of
all parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from orthoglot.apply.text_vectors import BLOCK
from orthoglot.decomposers.base import unit
from orthoglot.errors import DataError
from orthoglot.search.neighbours import EQUAL, GRID, Lists, Nearest, cosines, greedy
from orthoglot.study.mining.parts import VECTORS, best_of
from orthoglot.text.bitext import SIDES

CENTRES, HIGHEST = "centres.faiss", "highest.npy"
PROBES, ROWS, BEGINS = "probes.npy", "rows.npy", "begins.npy"
# Sentences for each centre that k-means is given.
FOR_EACH = 50
# From so many cells on, a graph (HNSW) finds the nearest centres, as faiss advises; its links, and nodes in view.
GRAPH, LINKS, IN_VIEW = 1 << 16, 32, 64
# Sentences of each text whose neighbours are found exactly as well, to measure the recall.
SAMPLE = 1000
SEED = 1


def learn(texts: Sequence[np.ndarray], count: int, output: Path) -> None:
    """Write the centres of the cells, an index of faiss, and a sample of each text, {side}.sample.npz.

    K-means in two levels: the square root of `count` groups first, then the cells of each, so that cells next to each
    other in number are so in space. It sees 50 sentences for each cell.

    Args:
        texts: The vectors of the source and of the target, of length 1; rows are read as asked for.
        count: How many cells.
        output: A folder.
    Raises:
        DataError: A text has fewer sentences than there are cells.
    """
    import faiss
    from faiss.contrib.clustering import two_level_clustering

    for side, text in zip(SIDES, texts, strict=True):
        if len(text) < count:
            raise DataError(
                f"the {side} has fewer sentences ({len(text)}) than cells ({count}); give fewer cells"
            )
        rows = sampled(len(text), SAMPLE)
        np.savez(output / f"{side}.sample.npz", rows=rows, vectors=text[rows])
    drawn = [sampled(len(text), FOR_EACH * count // 2) for text in texts]
    seen = np.empty((sum(map(len, drawn)), texts[0].shape[1]), dtype=np.float32)
    place = 0
    for text, rows in zip(texts, drawn, strict=True):
        for start in range(0, len(rows), BLOCK):
            some = rows[start : start + BLOCK]
            seen[place : place + len(some)] = text[some]
            place += len(some)
    options = {"min_points_per_centroid": 1, "spherical": True, "seed": SEED}
    centres, _ = two_level_clustering(seen, math.isqrt(count), count, **options)
    index: Any = faiss.index_factory(seen.shape[1], f"HNSW{LINKS}" if count >= GRAPH else "Flat")
    if count >= GRAPH:
        index.hnsw.efSearch = IN_VIEW
    index.add(unit(centres))
    faiss.write_index(index, str(output / CENTRES))


def sampled(n: int, most: int) -> np.ndarray:
    """Numbers of at most so many of n rows, in order."""
    return np.sort(np.random.default_rng(SEED).choice(n, min(n, most), replace=False))


def assign(
    text: np.ndarray, centre: Path, output: Path, *, other: str, neighborhood: int, probes: int, blocks: int
) -> None:
    """Write the vectors of a part by block of cells, and what it holds for a sample of the other text.

    A sentence is in each block with a cell that it looks up; within a block, sentences are by their cells.

    Args:
        text: The vectors of the part (n, D); rows are read as asked for.
        centre: The folder of `learn`.
        output: A folder.
        other: The other side.
        neighborhood: Neighbours.
        probes: How many cells a sentence looks up.
        blocks: How many blocks.
    """
    import faiss

    index = faiss.read_index(str(centre / CENTRES))
    with np.load(centre / f"{other}.sample.npz") as stored:
        sample = stored["vectors"]
    highest = np.full((len(sample), neighborhood), -1, dtype=np.float32)
    nearest = np.empty((len(text), probes), dtype=np.int32)
    for start in range(0, len(text), BLOCK):
        vectors = text[start : start + BLOCK]
        nearest[start : start + BLOCK] = index.search(vectors, probes)[1]
        products = np.concatenate([highest, sample @ vectors.T], axis=1)
        highest = np.partition(products, -neighborhood, axis=1)[:, -neighborhood:]
    block = nearest.astype(np.int64) * blocks // index.ntotal
    entries = np.unique(block * len(text) + np.arange(len(text))[:, None])
    block, rows = np.divmod(entries[entries >= 0], len(text))  # a graph may give fewer cells, and -1
    order = np.lexsort((nearest[rows, 0], block))
    rows = rows[order]
    for name, array in (
        (HIGHEST, highest),
        (ROWS, rows),
        (PROBES, nearest[rows]),
        (BEGINS, np.searchsorted(block, np.arange(blocks + 1))),
    ):
        np.save(output / name, array)
    grouped = np.lib.format.open_memmap(output / VECTORS, "w+", np.float32, (len(rows), text.shape[1]))
    for start in range(0, len(rows), BLOCK):
        grouped[start : start + BLOCK] = text[rows[start : start + BLOCK]]
    grouped.flush()


class Block(NamedTuple):
    """The sentences of a text that look up a cell of a block, those of the first part first."""

    rows: np.ndarray  # numbers in the whole text (n,)
    probes: np.ndarray  # the cells that each looks up, the nearest first (n, probes)
    vectors: np.ndarray  # (n, D)
    begins: np.ndarray  # where those of each part begin, and the end

    @classmethod
    def read(cls, parts: Sequence[Path], starts: Sequence[int], number: int) -> Block:
        """A block, from 0, out of the folders of `assign`, with the first row of each part."""
        columns: tuple[list[np.ndarray], ...] = ([], [], [])
        for part, start in zip(parts, starts, strict=True):
            begin, end = np.load(part / BEGINS)[number : number + 2]
            for column, name in zip(columns, (ROWS, PROBES, VECTORS), strict=True):
                column.append(np.load(part / name, mmap_mode="r")[begin:end])
            columns[0][-1] = columns[0][-1] + start
        rows, probes, vectors = map(np.concatenate, columns)
        return cls(rows, probes, vectors, np.cumsum([0, *map(len, columns[0])]))


def in_cells(x: Block, y: Block, cells: range, keep: int) -> Lists:
    """The rows of y that look up a cell of a block as each row of x does, `keep` of the nearest, and their cosines.

    Args:
        x, y: The same block of both texts.
        cells: Its cells.
        keep: How many.
    Returns:
        Numbers in the whole text and exact cosines, (n, keep) each, in no order; -1 and -inf where there are fewer.
    """
    import faiss

    looked_up, held = (
        np.where(np.isin(block.probes, cells), block.probes - cells.start, -1).astype(np.int64)
        for block in (x, y)
    )
    members, columns = map(np.ascontiguousarray, np.nonzero(held >= 0))
    (size, probes), dim = looked_up.shape, x.vectors.shape[1]
    if not size or not len(members):
        return np.full((size, keep), -1), np.full((size, keep), -np.inf)
    centres = faiss.IndexFlatIP(dim)
    lists = max(len(cells), probes)  # faiss takes no more columns of cells than it has lists
    index: Any = faiss.IndexIVFFlat(centres, dim, lists, faiss.METRIC_INNER_PRODUCT)
    index.is_trained, index.nprobe = True, probes
    vectors, cell_of = y.vectors[members], held[members, columns]
    index.add_core(len(members), *map(faiss.swig_ptr, (vectors, members, cell_of)))
    places = np.empty((size, keep), dtype=np.int64)
    for start in range(0, size, BLOCK):
        rows = slice(start, start + BLOCK)
        # Both may look up several cells together.
        products, several = index.search_preassigned(
            x.vectors[rows], keep * probes, looked_up[rows], np.zeros(looked_up[rows].shape, np.float32)
        )
        places[rows], _ = best_of([(several, products)], keep)
    missing, near = places < 0, cosines(x.vectors, y.vectors, places)
    return np.where(missing, -1, y.rows[places]), np.where(missing, -np.inf, near)


def record(keep: int) -> np.dtype[np.void]:
    """What a block holds of a row: its number, and numbers and cosines of candidates."""
    return np.dtype([("row", np.int64), ("numbers", np.int64, keep), ("cosines", np.float64, keep)])


def nearest(blocks: Iterable[np.ndarray], start: int, size: int, keep: int, k: int) -> Lists:
    """The k neighbours of each row of a part, the nearest first, and their cosines, (n, k) each, of all blocks.

    The order is that of `orthoglot.search.neighbours.nearest`. A row that met fewer has the last one again; one that
    met none has the first row of the other text, with the cosine -1.

    Args:
        blocks: The records of the part's rows in each block.
        start: The number of its first row.
        size: Its rows.
        keep: Candidates in a record, k or more.
    """
    numbers, near = np.full((size, keep), -1), np.full((size, keep), -np.inf)
    for records in blocks:
        rows = records["row"] - start
        met = records["numbers"], records["cosines"]
        numbers[rows], near[rows] = best_of([(numbers[rows], near[rows]), met], keep)
    order = np.argsort(numbers, axis=1)
    numbers, near = (np.take_along_axis(array, order, axis=1) for array in (numbers, near))
    places = greedy(near * GRID**2, k)
    numbers, near = (np.take_along_axis(array, places, axis=1) for array in (numbers, near))
    for place in range(1, k):
        missing = numbers[:, place] < 0
        numbers[missing, place], near[missing, place] = numbers[missing, place - 1], near[missing, place - 1]
    return np.maximum(numbers, 0), np.maximum(near, -1)


def recall(neighbours: Nearest, cosine: Nearest, centre: Path, assigned: dict[str, list[Path]]) -> float:
    """The share of neighbours of the sampled sentences that are as near as the k-th exact one, up to rounding.

    Args:
        neighbours, cosine: Of all sentences.
        centre: The folder of `learn`.
        assigned: The folders of `assign`, by side.
    """
    shares = []
    for side, other, rows, values in zip(SIDES, reversed(SIDES), neighbours, cosine, strict=True):
        with np.load(centre / f"{side}.sample.npz") as stored:
            sample = stored["rows"]
        highest = np.concatenate([np.load(part / HIGHEST) for part in assigned[other]], axis=1)
        least = np.partition(highest, -values.shape[1], axis=1)[:, -values.shape[1], None]
        again = np.diff(rows[sample], axis=1, prepend=-1) == 0
        shares.append(float(((values[sample] >= least - EQUAL) & ~again).mean()))
    return round(float(np.mean(shares)), 4)
