"""On a GPU: what finding the cells of vectors costs, and comparing vectors with a cell, for mining among a billion.

    python measurements/many-jobs/cells.py      # one minute; 12 GB of GPU memory

65,536 random vectors of 384 numbers look for the nearest 3 of a million cells, in float16; then 3,000 of them are
compared with each of 200 cells of 1,000 vectors. Printed are vectors a second, and hours for a billion by a billion.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import torch

DIM, CELLS, BLOCK, ROWS = 384, 1_000_000, 125_000, 8_192
BOTH = 2e9  # vectors of both sides


def drawn(*shape: int) -> torch.Tensor:
    """Unit vectors."""
    return torch.nn.functional.normalize(torch.randn(*shape, device="cuda"), dim=-1).half()


def seconds(work: Callable[[], None]) -> float:
    """Of the second run."""
    for _ in range(2):
        torch.cuda.synchronize()
        started = time.perf_counter()
        work()
        torch.cuda.synchronize()
    return time.perf_counter() - started


def look_up(vectors: torch.Tensor, cells: torch.Tensor, count: int) -> None:
    """The nearest `count` cells of each vector."""
    for some in vectors.split(ROWS):
        near, numbers = [], []
        for start in range(0, len(cells), BLOCK):
            values, places = (some @ cells[start : start + BLOCK].T).topk(count, 1)
            near.append(values)
            numbers.append(places + start)
        order = torch.cat(near, 1).topk(count, 1).indices
        torch.cat(numbers, 1).gather(1, order)


def main() -> None:
    """Print both times."""
    torch.manual_seed(0)
    cells, vectors = drawn(CELLS, DIM), drawn(65_536, DIM)
    took = seconds(lambda: look_up(vectors, cells, 3))
    sys.stdout.write(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}\n"
        f"nearest 3 of {CELLS:,} cells: {len(vectors) / took:,.0f} vectors a second, "
        f"{BOTH * took / len(vectors) / 3600:.1f} h for {BOTH:,.0f}\n"
    )
    asking, held = drawn(200, 3000, DIM), drawn(200, 1000, DIM)

    def compare() -> None:
        (asking @ held.transpose(1, 2)).topk(4, 2)

    took = seconds(compare)
    sys.stdout.write(f"compared within cells: {2 * took / 200 * CELLS / 3600:.2f} h for both directions\n")


if __name__ == "__main__":
    main()
