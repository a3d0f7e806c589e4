"""Clocks, peak rates and counts of a device."""

from __future__ import annotations

import logging
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest import mock

import torch

from gpu_parts.result import median
from orthoglot.training.step import Graph, take

# What the profiler calls the things that are counted; it waits once itself, at its end.
COUNTED = {
    "kernels": ("LaunchKernel",),
    "waits": ("StreamSynchronize", "DeviceSynchronize", "EventSynchronize"),
    "copies to the host": ("Memcpy DtoH",),
}

Work = Callable[[], object]


def synchronise(device: torch.device) -> None:
    """Wait for an accelerator."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(work: Work, device: torch.device, *, repeats: int = 5, warmup: int = 2) -> float:
    """Median of several calls: by CUDA events on a GPU, else by the clock on the wall."""
    for _ in range(warmup):
        work()
    found = []
    for _ in range(repeats):
        synchronise(device)
        if device.type == "cuda":
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            work()
            last.record()
            last.synchronize()
            found.append(first.elapsed_time(last) / 1e3)
        else:
            started = time.perf_counter()
            work()
            found.append(time.perf_counter() - started)
    return median(found)


def matrix_rate(device: torch.device, dtype: torch.dtype, size: int) -> float:
    """FLOP per second of a product of square matrices of this size."""
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    return 2 * size**3 / seconds(lambda: torch.mm(a, b), device)


def bandwidth(device: torch.device, count: int) -> float:
    """Bytes per second, read and written, of a copy of this many bytes within the device."""
    a = torch.empty(count, dtype=torch.uint8, device=device)
    b = torch.empty_like(a)
    return 2 * count / seconds(lambda: b.copy_(a), device)


class StepClock:
    """Seconds of a training's steps: `tick` is called when a step begins.

    On a GPU the ticks are CUDA events, so that nothing waits.
    """

    def __init__(self, device: torch.device):
        self._device = device
        self._ticks: list[Any] = []

    def tick(self) -> None:
        """A step begins."""
        if self._device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self._ticks.append(event)
        else:
            self._ticks.append(time.perf_counter())

    def seconds(self, warmup: int) -> float:
        """Mean of the steps after the first `warmup`, but for the last, of which only the beginning is known."""
        synchronise(self._device)
        first, last = self._ticks[warmup], self._ticks[-1]
        took = first.elapsed_time(last) / 1e3 if self._device.type == "cuda" else last - first
        return took / (len(self._ticks) - 1 - warmup)


@contextmanager
def clocked(module: Any, name: str, device: torch.device) -> Iterator[StepClock]:
    """Tick whenever `module.name` is called with gradients, as once in each step of a training."""
    clock, called = StepClock(device), getattr(module, name)

    def ticking(*arguments: Any, **more: Any) -> Any:
        if torch.is_grad_enabled():
            clock.tick()
        return called(*arguments, **more)

    setattr(module, name, ticking)
    try:
        yield clock
    finally:
        setattr(module, name, called)


@contextmanager
def waits(device: torch.device) -> Iterator[list[str]]:
    """Places, as file:line, where a block waits for the device; PyTorch's own sync debug mode finds them at its end."""
    places: list[str] = []
    if device.type != "cuda":
        yield places
        return
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield places
    finally:
        torch.cuda.set_sync_debug_mode("default")
    for warning in caught:
        if "synchroniz" in str(warning.message):
            places.append(f"{'/'.join(warning.filename.split('/')[-3:])}:{warning.lineno}")


@contextmanager
def profiled(device: torch.device) -> Iterator[Counter[str]]:
    """Kernels that a block starts, calls that wait, and copies to the host, as the profiler counts them at its end."""
    from torch.profiler import ProfilerActivity, profile

    counts: Counter[str] = Counter()
    kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device.type == "cuda" else [])]
    with profile(activities=kinds) as profiler:
        yield counts
    for event in profiler.key_averages():
        for name, parts in COUNTED.items():
            if any(part in event.key for part in parts):
                counts[name] += event.count


@contextmanager
def not_repeatable() -> Iterator[None]:
    """Let trainings use algorithms that need not give the same bits twice."""
    with mock.patch("orthoglot.training.loop.repeatable", side_effect=lambda _: nullcontext()):
        yield


@contextmanager
def without_graph() -> Iterator[None]:
    """Let trainings start one kernel after the other, as on a CPU."""

    class Eager(Graph):
        def __call__(self, batch: tuple[torch.Tensor, ...]) -> Any:
            return take(self._updates, self._prepare(*batch))

    with (
        mock.patch("orthoglot.training.loop.Graph", Eager),
        mock.patch("orthoglot.training.stack.Graph", Eager),
    ):
        yield


@contextmanager
def logged() -> Iterator[list[str]]:
    """What the package logs within a block."""
    lines: list[str] = []
    package, handler = logging.getLogger("orthoglot"), logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    before, package.propagate = package.level, False
    package.addHandler(handler)
    package.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        package.removeHandler(handler)
        package.setLevel(before)
        package.propagate = True


@contextmanager
def graphs_of_steps() -> Iterator[list[Graph]]:
    """What captures the steps of each training of its own within a block."""
    made: list[Graph] = []

    def noted(*arguments: Any) -> Graph:
        made.append(Graph(*arguments))
        return made[-1]

    with mock.patch("orthoglot.training.loop.Graph", noted):
        yield made


@contextmanager
def peak_memory(device: torch.device) -> Iterator[dict[str, float]]:
    """GiB that PyTorch has held at most within the block, under "GiB"; none on a CPU."""
    found: dict[str, float] = {}
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    yield found
    if device.type == "cuda":
        found["GiB"] = torch.cuda.max_memory_allocated(device) / 2**30
