"""Part 2: SEED and ORACLE's grid at the papers' sizes, against a straightforward loop and what the device can do."""

from __future__ import annotations

import statistics
import time
from typing import Any
from unittest import mock

import straightforward
import torch

from gpu_parts import vectors
from gpu_parts.measuring import (
    bandwidth,
    clocked,
    matrix_rate,
    not_repeatable,
    peak_memory,
    seconds,
    synchronise,
    without_graph,
)
from gpu_parts.result import Part
from orthoglot import catalogue
from orthoglot.decomposers import architecture
from orthoglot.decomposers.base import Trained
from orthoglot.training import decompose, stack
from orthoglot.training.settings import DecompositionSettings

BATCH, RATE = 512, 1e-4
# SEED: 2.5 M pairs of 10 language pairs, patience 5. Its paper's hours on a TITAN RTX.
SEED_PAIRS, SEED_LANGUAGES, SEED_PATIENCE, PAPER_HOURS = 2_500_000, 7, 5, (5, 9)
# Seconds after which this part should have ended.
END = 570
ORACLE_PAIRS, ORACLE_LANGUAGES, ORACLE_SEEDS = 450_000, 13, 5
# Sizes of multilingual USE, LaBSE, LASER and InfoXLM.
ORACLE_DIMS = (512, 768, 1024, 1024)
ORACLE_METHODS = tuple(
    host + rest
    for host in ("dream", "meat")
    for rest in ("", "+oracle", "+oracle-without-ic", "+oracle-without-is")
)
# The papers do not say how many epochs their trainings had.
ORACLE_EPOCHS = 40


def measure(part: Part) -> None:
    """All pieces; the longest comes last."""
    rates = {
        "float32 products, TFLOP/s": matrix_rate(part.device, torch.float32, part.size(8192, 64)) / 1e12,
        "copies, GB/s": bandwidth(part.device, part.size(2**32, 2**16)) / 1e9,
    }
    part.row("The device", **rates)
    part.notes.append(
        "The roofline is the larger of two times: that of the products that no step can do without (each map's "
        "outputs and its weights' gradient) at the measured rate of products, and that of reading a batch's vectors "
        "and reading and writing weights, gradients and Adam's moments once at the measured rate of copies. The "
        "straightforward loop is tests/support/straightforward.py, whose losses equal ours; it reads vectors from host "
        "memory, as the papers' code does."
    )
    shares, ratios = [], []
    for dim in part.size((768, 1024), (16,)):
        for name in part.size(("seed", "dream", "dream+oracle", "meat", "meat+oracle"), ("seed", "meat")):
            with part.tried(f"{name}, {dim}"):
                share, ratio = one_method(part, name, dim, rates)
                shares += [share]
                ratios += [ratio]
    part.goal("straightforward loop / ours, smallest", 30, min(ratios, default=None))
    part.goal("share of the roofline, smallest", 60, min(shares, default=None), unit="%")
    with part.tried("streaming"):
        streaming(part)
    with part.tried("ORACLE's grid"):
        oracle(part)
    minutes, ended = [], []
    dims = part.size((768, 1024), (16,))
    for number, dim in enumerate(dims):
        with part.tried(f"SEED to the end, {dim}"):
            took, whole = seed(part, dim, (END - part.seconds) / (len(dims) - number))
            minutes += [took]
            ended += [whole]
    part.goal(
        "SEED, 2.5 M pairs, to the end",
        5,
        max(minutes, default=None),
        unit="min",
        most=True,
        finished=all(ended) and len(ended) == len(dims),
    )


def recipe_of(epochs: int, patience: int = 1000) -> DecompositionSettings:
    """The papers' batch size and rate."""
    return DecompositionSettings(learning_rate=RATE, batch_size=BATCH, max_epochs=epochs, patience=patience)


def step_seconds(part: Part, name: str, data: decompose.Data, size: int = BATCH) -> float:
    """Seconds of a step of the product's own training."""
    recipe = recipe_of(1).model_copy(update={"batch_size": size})
    with clocked(decompose, "inputs", part.device) as clock:
        decompose.train(
            catalogue.method(name), recipe, name, data, seed=1, device=part.device, checkpoint=None
        )
    return clock.seconds(part.size(50, 1))


def stack_seconds(part: Part, name: str, data: decompose.Data, size: int = BATCH) -> float:
    """Seconds of a step of one of five trainings that are a stack, as a job has them."""
    recipe = recipe_of(1).model_copy(update={"batch_size": size})
    entries = [stack.Entry(catalogue.method(name), recipe, name, seed) for seed in range(1, ORACLE_SEEDS + 1)]
    with clocked(stack, "inputs", part.device) as clock:
        stack.train_stack(entries, data, device=part.device, checkpoint=None)
    return clock.seconds(part.size(50, 1)) / ORACLE_SEEDS


def one_method(part: Part, name: str, dim: int, rates: dict[str, float]) -> tuple[float, float]:
    """Ours, and variants of it, against the straightforward loop and the roofline; share in percent and ratio."""
    size, steps = part.size((BATCH, 400), (16, 6))
    data = vectors.data(size * steps, dim, SEED_LANGUAGES, part.device, valid=size)
    with peak_memory(part.device) as memory:
        ours = step_seconds(part, name, data, size)
    theirs = straightforward_seconds(part, name, data, size)
    best = roofline(name, dim, size, rates)
    share, ratio = 100 * best / ours, theirs / ours
    table = "Milliseconds of a step, batch 512"
    part.row(
        table,
        method=name,
        D=dim,
        way="ours",
        **{
            "ms": 1e3 * ours,
            "roofline, ms": 1e3 * best,
            "% of roofline": share,
            "straightforward, ms": 1e3 * theirs,
        },
        **{"straightforward / ours": ratio, "GiB": memory.get("GiB")},
    )
    ways = {"without deterministic algorithms": not_repeatable, "without a CUDA graph": without_graph}
    for way, changed in ways.items():
        with changed():
            took = step_seconds(part, name, data, size)
        part.row(table, method=name, D=dim, way=way, **compare(took, best, theirs))
    took = stack_seconds(part, name, data, size)
    way = f"one of {ORACLE_SEEDS} seeds, stacked"
    part.row(table, method=name, D=dim, way=way, **compare(took, best, theirs))
    return share, ratio


def compare(took: float, best: float, theirs: float) -> dict[str, float]:
    """Cells of a variant."""
    return {"ms": 1e3 * took, "roofline, ms": 1e3 * best, "% of roofline": 100 * best / took} | {
        "straightforward / ours": theirs / took
    }


def roofline(name: str, dim: int, size: int, rates: dict[str, float]) -> float:
    """The least seconds of a step."""
    form = architecture(catalogue.method(name).architecture)
    assert isinstance(form, Trained)
    maps = len(form.maps)
    flops = maps * 2 * 2 * (2 * size) * dim**2
    # The rows of a batch; of each weight its own value, gradient and two moments read, and three of them written.
    traffic = 4 * (2 * size * dim + 7 * maps * dim**2)
    return max(flops / rates["float32 products, TFLOP/s"] / 1e12, traffic / rates["copies, GB/s"] / 1e9)


def straightforward_seconds(part: Part, name: str, data: decompose.Data, size: int) -> float:
    """Seconds of a step of the straightforward loop, with its DataLoader."""
    kinds = {"seed": straightforward.Seed, "dream": straightforward.Dream, "meat": straightforward.Meat}
    host, _, oracle = name.partition("+")
    dim = data.vectors.shape[1]
    twin: Any = kinds[host](dim, len(data.languages), RATE, *((True,) if oracle else ()))
    for value in vars(twin).values():
        if isinstance(value, torch.nn.Module):
            value.to(part.device)
    steps = part.size(25, 2)
    rows, vectors_ = data.train.take(slice(0, steps * size)), data.vectors.cpu()
    columns = vectors_[rows.source], vectors_[rows.target], rows.source_language, rows.target_language
    found = []
    for batch in straightforward.loader(straightforward.Rows(*columns), size):
        started = time.perf_counter()
        twin.step(*(column.to(part.device) for column in batch))
        synchronise(part.device)
        found.append(time.perf_counter() - started)
    loading = seconds(
        lambda: list(straightforward.loader(straightforward.Rows(*columns), size)),
        torch.device("cpu"),
        repeats=1,
        warmup=0,
    )
    return statistics.median(found[1:]) + loading / steps


def streaming(part: Part) -> None:
    """Steps with vectors in host memory, as for data beyond the device's memory."""
    size, steps, dim = part.size((BATCH, 300, 1024), (16, 6, 16))
    data = vectors.data(size * steps, dim, SEED_LANGUAGES, part.device, valid=size)
    here = step_seconds(part, "seed", data, size)
    with mock.patch.object(decompose, "fits", return_value=False):
        there = step_seconds(part, "seed", vectors.on_cpu(data), size)
    part.row(
        "Vectors in host memory, SEED",
        D=dim,
        **{"on the device, ms": 1e3 * here, "streamed, ms": 1e3 * there, "ratio": there / here},
    )


def oracle(part: Part) -> None:
    """Hours of the grid, from measured steps."""
    total, epoch = 0.0, ORACLE_PAIRS // BATCH
    for dim in part.size(tuple(dict.fromkeys(ORACLE_DIMS)), (16,)):
        size, steps = part.size((BATCH, 200), (16, 5))
        data = vectors.data(size * steps, dim, ORACLE_LANGUAGES, part.device, valid=size)
        for name in ORACLE_METHODS:
            took = stack_seconds(part, name, data, size)
            here = ORACLE_DIMS.count(dim) * ORACLE_SEEDS * ORACLE_EPOCHS * epoch * took / 3600
            total += here
            part.row(
                "ORACLE's grid",
                D=dim,
                method=name,
                **{"ms of a step": 1e3 * took, "hours of its trainings": here},
            )
    part.notes.append(
        f"ORACLE's grid is extrapolated from steps: 4 encoders, 8 methods with {ORACLE_SEEDS} seeds, which are "
        f"stacked, 0.45 M pairs, {ORACLE_EPOCHS} epochs of each training, without validation. The papers do not state "
        "their epochs."
    )
    part.goal("ORACLE's grid, extrapolated", 1, total, unit="h", most=True)


def seed(part: Part, dim: int, budget: float) -> tuple[float, bool]:
    """Minutes of SEED, and whether it came to the end of its recipe within the budget of seconds."""
    pairs, size = part.size((SEED_PAIRS, BATCH), (160, 16))
    with peak_memory(part.device) as memory:
        data = vectors.data(pairs, dim, SEED_LANGUAGES, part.device)
        synchronise(part.device)
        sample = decompose.Data(
            data.vectors, data.languages, data.train.take(slice(0, 300 * size)), data.valid
        )
        took = step_seconds(part, "seed", sample, size)
        epochs = max(1, min(10_000, int(budget / (took * (pairs // size) * 1.05)))) if not part.tiny else 2
        recipe = recipe_of(epochs, SEED_PATIENCE).model_copy(update={"batch_size": size})
        started = time.perf_counter()
        _, history = decompose.train(
            catalogue.method("seed"), recipe, "seed", data, seed=1, device=part.device, checkpoint=None
        )
        synchronise(part.device)
        minutes = (time.perf_counter() - started) / 60
    ended = len(history) < epochs
    part.row(
        "SEED, 2.5 M pairs",
        D=dim,
        epochs=len(history),
        minutes=minutes,
        **{
            "seconds of an epoch": 60 * minutes / len(history),
            "patience ended it": ended,
            "GiB": memory.get("GiB"),
        },
        **{
            "paper / ours": " to ".join(f"{60 * hours / minutes:.0f}" for hours in PAPER_HOURS)
            if ended
            else None
        },
    )
    if not ended:
        part.notes.append(
            f"SEED with D {dim} was stopped after {len(history)} epochs, {minutes:.1f} min, by this part's limit, and "
            "would have gone on; the paper does not state its number of epochs."
        )
    return minutes, ended
