"""Training decomposers: milliseconds of CPU time per step, against a straightforward loop and the matrix products.

python measurements/speed-of-training/decomposers.py [--device cuda] [D ...]  # D: embedding sizes, by default 128 768

Batch 512, 7 languages, random vectors, one CPU thread. The ways take turns, round by round; minimum and median of a
step. A step's time is the difference between a long and a short training, so what a training takes only once does not
count. The straightforward loop is tests/support/straightforward.py, whose losses and weights must equal ours. The
products are those that no step can do without: each map's outputs and its weights' gradient. The last column is what
compiling takes the first time, with its compiler's processes.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # else its processes cannot be timed
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/support"))

import numpy as np
import straightforward
import torch
from torch import Tensor

from orthoglot import catalogue
from orthoglot.decomposers import architecture
from orthoglot.decomposers.base import Trained
from orthoglot.random_streams import stream
from orthoglot.training import decompose
from orthoglot.training.batching import PairRows
from orthoglot.training.decompose import Data
from orthoglot.training.settings import DecompositionSettings

BATCH, LANGUAGES, ROUNDS, RATE = 512, 7, 3, 1e-4
METHODS = ("seed", "dream", "dream+oracle", "meat", "meat+oracle")
Steps = Callable[[int], None]


def world(dim: int, steps: int) -> tuple[Tensor, PairRows]:
    """Random vectors of English and six other languages in turn, enough for an epoch of so many steps."""
    pairs = torch.arange(steps * BATCH)
    vectors = torch.randn(2 * len(pairs), dim, generator=stream(0))
    rows = PairRows(pairs, pairs + len(pairs), torch.zeros_like(pairs), 1 + pairs % (LANGUAGES - 1))
    return vectors, rows


def ours(name: str, vectors: Tensor, rows: PairRows, device: torch.device, *, compiled: bool) -> Steps:
    """One epoch of a training, with its batches; the validation is of a single pair."""
    codes = [f"qa{letter}" for letter in "abcdefg"]
    recipe = DecompositionSettings(learning_rate=RATE, batch_size=BATCH, max_epochs=1, patience=1)

    def run(steps: int) -> None:
        data = Data(vectors, codes, rows.take(slice(0, steps * BATCH)), rows.take(slice(0, 1)))
        decompose.PAYS_FROM = 0 if compiled else sys.maxsize
        decompose.train(catalogue.method(name), recipe, name, data, seed=1, device=device, checkpoint=None)

    return run


def theirs(name: str, vectors: Tensor, rows: PairRows, device: torch.device) -> Steps:
    """The steps of the straightforward loop, with its DataLoader."""
    kinds = {"seed": straightforward.Seed, "dream": straightforward.Dream, "meat": straightforward.Meat}
    host, _, oracle = name.partition("+")
    twin: Any = kinds[host](vectors.shape[1], LANGUAGES, RATE, *((True,) if oracle else ()))
    for value in vars(twin).values():
        if isinstance(value, torch.nn.Module):
            value.to(device)
    columns = vectors[rows.source], vectors[rows.target], rows.source_language, rows.target_language
    data = straightforward.Rows(*(column.to(device) for column in columns))

    def run(steps: int) -> None:
        for batch in islice(straightforward.loader(data, BATCH), steps):
            twin.step(*batch)

    return run


def products(name: str, dim: int, device: torch.device) -> Steps:
    """The matrix products alone."""
    form = architecture(catalogue.method(name).architecture)
    assert isinstance(form, Trained)
    x, g = (torch.randn(2 * BATCH, dim, generator=stream(k)).to(device) for k in (1, 2))
    weight = torch.randn(dim, dim, generator=stream(3)).to(device)

    def run(steps: int) -> None:
        for _ in range(steps * len(form.maps)):
            torch.mm(x, weight.T)
            torch.mm(g.T, x)

    return run


def cpu_seconds() -> float:
    """Of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def milliseconds(ways: dict[str, Steps], steps: int, device: torch.device) -> dict[str, list[float]]:
    """Of a step by way, in turns. CPU time, or wall clock on an accelerator."""
    clock = cpu_seconds if device.type == "cpu" else time.perf_counter
    found: dict[str, list[float]] = {way: [] for way in ways}

    def seconds(run: Steps, steps: int) -> float:
        started = clock()
        run(steps)
        if device.type == "cuda":
            torch.cuda.synchronize()
        return clock() - started

    few = steps // 5
    for _ in range(ROUNDS):
        for way, run in ways.items():
            found[way].append((seconds(run, steps) - seconds(run, few)) / (steps - few) * 1e3)
    return found


def main() -> None:
    """Print one row of a Markdown table per size and method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("dims", nargs="*", type=int, default=[128, 768])
    chosen = parser.parse_args()
    device = torch.device(chosen.device)
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    for dim in chosen.dims:
        steps = max(75, 38_400 // dim) if device.type == "cpu" else 1_000
        vectors, rows = world(dim, steps)
        for name in METHODS:
            ways = {
                "straightforward": theirs(name, vectors, rows, device),
                "ours": ours(name, vectors, rows, device, compiled=False),
                "compiled": ours(name, vectors, rows, device, compiled=True),
                "products": products(name, dim, device),
            }
            with tempfile.TemporaryDirectory() as cache:
                os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
                torch.compiler.reset()
                started = cpu_seconds()
                ways["compiled"](1)
                compiling = cpu_seconds() - started
                found = milliseconds(ways, steps, device)
            cells = [f"{min(found[way]):.1f}, {np.median(found[way]):.1f}" for way in ways]
            ours_, theirs_, quick = (np.median(found[way]) for way in ("ours", "straightforward", "compiled"))
            row = [
                str(dim),
                name,
                *cells,
                f"{theirs_ / ours_:.1f}",
                f"{ours_ / quick:.2f}",
                f"{compiling:.0f}",
            ]
            sys.stdout.write(f"| {' | '.join(row)} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
