"""Mining by jobs: both texts in parts, the candidates of each pair of parts, and the neighbours in the whole texts.

What is computed is what `orthoglot.apply.mine` and `orthoglot.search` compute for one machine: pairs of parts are large
tiles of `neighbours.candidates`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from itertools import compress, islice, pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa

from orthoglot.apply.mine import Side
from orthoglot.apply.text_vectors import BLOCK
from orthoglot.decomposers.base import META, load_decomposer
from orthoglot.decomposers.own_mean import shifted
from orthoglot.errors import DataError
from orthoglot.search.neighbours import SPARE, Lists
from orthoglot.text.bitext import blocks, read_sentences

SCHEMA = pa.schema([("sentence", pa.large_string()), ("line", pa.int64())])
COUNTS, VECTORS, SUMS, MODEL = "counts.json", "vectors.npy", "sums.npy", "model.json"
CANDIDATES, NEIGHBOURS, COSINES = "candidates.npz", "neighbours.npy", "cosines.npy"
PAIRS, STARTS = "pairs.tsv", "starts.json"
# Digests of lines by the first of their bytes, so that one group after the other is compared.
GROUPS = 256
HASHED = np.dtype([("digest", "S16"), ("line", "<i8")])


class Column(Sequence[Any]):
    """A column of a table on disk; each value is read where it is asked for."""

    def __init__(self, values: pa.ChunkedArray) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, row: Any) -> Any:
        return self.values[int(row)].as_py()


def split(text: Path, parts: int, output: Path, scratch: Path) -> None:
    """Write the sentences that `apply.mine.distinct` keeps, in their order, in parts of about equal size.

    A part begins where a block of `text_vectors` does, so that its vectors are those of one process to the bit; but not
    if there are fewer blocks than parts. Memory holds a byte for each line, and the digests of a 256th of the distinct
    lines, with all repetitions of these.

    Args:
        text: The text.
        parts: How many parts.
        output: An empty folder; for each part N.arrow, from 1, with the sentences and the numbers of their lines.
        scratch: An empty folder for digests, 24 bytes for each line.
    Raises:
        DataError: no line has text; there are fewer sentences than parts; see `read_sentences`.
    """
    total, blank = _write_digests(text, scratch)
    first = np.zeros(total, dtype=bool)
    for file in scratch.iterdir():
        group = np.fromfile(file, HASHED)
        first[group["line"][np.unique(group["digest"], return_index=True)[1]]] = True
    count = int(first.sum())
    if not count:
        raise DataError(f"{text}: no line has text" if total else f"{text} is empty")
    if count < parts:
        raise DataError(
            f"{text} has fewer distinct sentences ({count}) than parts ({parts}); give fewer parts"
        )
    size = BLOCK if count >= parts * BLOCK else 1
    starts = [min(count, part * -(-count // size) // parts * size) for part in range(parts + 1)]
    distinct = (
        (line.strip(), number) for number, line in compress(enumerate(read_sentences(text), 1), first)
    )
    for part, (start, stop) in enumerate(pairwise(starts), 1):
        with pa.ipc.new_file(str(output / f"{part}.arrow"), SCHEMA) as writer:
            for batch in blocks(islice(distinct, stop - start)):
                writer.write_batch(pa.record_batch([*map(list, zip(*batch, strict=True))], schema=SCHEMA))
    counts = {"lines": total, "blank": blank, "starts": starts}
    (output / COUNTS).write_text(json.dumps(counts), encoding="utf-8")


def _write_digests(text: Path, scratch: Path) -> tuple[int, int]:
    """Write digest and number of each line that is not blank to the file of its group; all lines, and blank ones."""
    total = blank = 0
    with ExitStack() as stack:
        files = [stack.enter_context(open(scratch / str(group), "wb")) for group in range(GROUPS)]
        for block in blocks(read_sentences(text)):
            for line in map(str.strip, block):
                if line:
                    digest = blake2b(line.encode(), digest_size=16).digest()
                    files[digest[0]].write(digest + total.to_bytes(8, "little"))
                else:
                    blank += 1
                total += 1
    return total, blank


def sentences(text: Path, parts: Iterable[int]) -> pa.Table:
    """The table of some parts that `split` has written; it is mapped, not read."""
    files = (pa.memory_map(str(text / f"{part}.arrow")) for part in parts)
    return pa.concat_tables(pa.ipc.open_file(file).read_all() for file in files)


def counts_of(text: Path) -> dict[str, Any]:
    """`lines`, `blank`, and `starts`: the first sentence of each part, and the end."""
    counts: dict[str, Any] = json.loads((text / COUNTS).read_text(encoding="utf-8"))
    return counts


def starts_of(centre: Path) -> dict[str, list[int]]:
    """The `starts` of the source and of the target, in the folder of `centre`."""
    starts: dict[str, list[int]] = json.loads((centre / STARTS).read_text(encoding="utf-8"))
    return starts


def side_of(text: Path) -> Side:
    """The whole text that `split` has cut."""
    counts = counts_of(text)
    table = sentences(text, range(1, len(counts["starts"])))
    return Side(Column(table["sentence"]), Column(table["line"]), counts["lines"], counts["blank"])


class Vectors:
    """Vectors of length 1 of some parts of a text, with its own mean where it has one; rows are read as asked for.

    Args:
        parts: The folders of `encode`.
        centre: The folder of `centre`.
        side: "source" or "target".
    """

    def __init__(self, parts: Sequence[Path], centre: Path, side: str) -> None:
        self._parts = [np.load(part / VECTORS, mmap_mode="r") for part in parts]
        self._starts = np.cumsum([0, *map(len, self._parts)])
        self.shape = int(self._starts[-1]), self._parts[0].shape[1]
        self._decomposer = load_decomposer(centre) if (centre / META).exists() else None
        self._shift = np.load(centre / f"{side}.npy") if self._decomposer else None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> np.ndarray:
        numbers = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else rows % len(self)
        flat = numbers.ravel()
        vectors = np.empty((len(flat), self.shape[1]), dtype=np.float32)
        part_of = np.searchsorted(self._starts, flat, side="right") - 1
        for part in np.unique(part_of):
            places = np.flatnonzero(part_of == part)
            stored = self._parts[part][flat[places] - self._starts[part]]
            if self._decomposer is not None and self._shift is not None:
                stored = shifted(stored, self._decomposer, self._shift)
            vectors[places] = stored
        return vectors.reshape(*numbers.shape, self.shape[1])

    def array(self) -> np.ndarray:
        """All of them in memory."""
        vectors = np.empty(self.shape, dtype=np.float32)
        for start in range(0, len(self), BLOCK):
            vectors[start : start + BLOCK] = self[start : start + BLOCK]
        return vectors

    def mapped(self) -> np.ndarray:
        """This, for functions of `orthoglot.search` that index an array by rows and ask for its length and shape."""
        return cast("np.ndarray", self)


def width(k: int) -> int:
    """How many candidates `neighbours.nearest` keeps for k neighbours."""
    return k + k // 2 + SPARE


def best_of(lists: Sequence[Lists], keep: int) -> Lists:
    """The candidates with the `keep` highest products of each row; one that is in several lists counts once."""
    numbers, products = (np.concatenate(both, axis=1) for both in zip(*lists, strict=True))
    order = np.argsort(numbers, axis=1)
    numbers, products = (np.take_along_axis(array, order, axis=1) for array in (numbers, products))
    again = np.diff(numbers, axis=1, prepend=-1) == 0
    numbers, products = np.where(again, -1, numbers), np.where(again, -np.inf, products)
    places = np.argpartition(-products, keep - 1, axis=1)[:, :keep]
    return np.take_along_axis(numbers, places, axis=1), np.take_along_axis(products, places, axis=1)


def merged(lists: Iterable[Lists], starts: Sequence[int], keep: int) -> Lists:
    """The candidates with the `keep` highest products of each row, of those that each part of the other text gives.

    Args:
        lists: Numbers in the part, and products, of the same rows; (n, keep) each.
        starts: The first row of each part.
        keep: How many stay.
    """
    highest: Lists | None = None
    for start, (numbers, products) in zip(starts, lists, strict=True):
        here = np.where(numbers < 0, -1, numbers + np.int64(start)), products
        highest = best_of([highest, here], keep) if highest else here
    assert highest is not None
    return highest
