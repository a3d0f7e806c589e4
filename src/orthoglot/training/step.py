"""A step of a training: the updates on one batch, captured as a CUDA graph where batches have few shapes."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, cuda
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

# Steps before a capture: PyTorch and its libraries set themselves up in the first ones.
WARMUP = 3
logger = logging.getLogger(__name__)
Values = dict[str, Tensor]


@dataclass
class Update:
    """One optimiser step per batch."""

    name: str  # for messages, e.g. "maps".
    # batch -> {term: scalar, ..., "total": scalar}, or (G,) each of G trainings; only `total` is differentiated
    loss: Callable[[Any], Values]
    optimizer: Optimizer  # its parameters are the only ones that the step changes
    scheduler: LRScheduler | None = None  # stepped after each step of the optimiser, saved and restored


def take(updates: Sequence[Update], batch: Any) -> Iterator[tuple[Update, Values]]:
    """Run the updates in their order; each is given with its terms before its weights change."""
    for update in updates:
        values = update.loss(batch)
        yield update, values
        update.optimizer.zero_grad(set_to_none=True)
        # Of several trainings, each total depends on its own parameters alone.
        values["total"].backward(torch.ones_like(values["total"]))
        update.optimizer.step()
        if update.scheduler is not None:
            update.scheduler.step()


class Captured(NamedTuple):
    """A captured step."""

    inputs: tuple[Any, ...]  # the batch that it reads
    replay: Callable[[], None]
    values: list[Values]  # the terms of each update, written by a replay


class Graph:
    """All updates on a batch as CUDA graphs: a step starts once, not each of its hundred kernels.

    There is a graph for all batches of the same shapes. The first steps of these run without it, with the same bits; so
    do all where the device has no memory for both, or a step cannot be captured. An optimiser must have `capturable`
    set.

    Args:
        updates: Their schedulers, if any, are stepped after all of them.
        prepare: Makes what the losses get out of a batch.
    """

    def __init__(self, updates: Sequence[Update], prepare: Callable[..., Any]) -> None:
        self._updates, self._prepare = updates, prepare
        # One replay ends before the next begins, so that all graphs may use the same memory.
        self._stream, self._pool = cuda.Stream(), cuda.graph_pool_handle()
        self._steps: Counter[tuple[Any, ...]] = Counter()
        self._captured: dict[tuple[Any, ...], Captured] = {}
        self._needed = 0  # bytes of the last step without a graph
        self._captures: bool | None = None  # unknown before the first steps
        # A replay reads the rates that schedulers change where its kernels find them.
        self._rates: list[tuple[dict[str, Any], Tensor]] = [
            (group, torch.empty((), device=group["params"][0].device))
            for update in updates
            if update.scheduler is not None
            for group in update.optimizer.param_groups
        ]

    def __call__(self, batch: tuple[Any, ...]) -> list[tuple[Update, Values]]:
        """Terms of all updates, valid until the next call.

        A batch has tensors, also in tuples at any depth. What else is in it counts among its shapes. Of arrays in host
        memory only the shape does: no captured step may read them.
        """
        shapes = tuple(_shape(leaf) for leaf in _leaves(batch))
        for group, rate in self._rates:
            rate.fill_(group["lr"])
        if self._captures and self._steps[shapes] >= WARMUP and shapes not in self._captured:
            self._capture(shapes, batch)
        if captured := self._captured.get(shapes):
            for place, given in zip(_leaves(captured.inputs), _leaves(batch), strict=True):
                if isinstance(place, Tensor):
                    place.copy_(given)
            captured.replay()
            values = captured.values
        else:
            values = self._warm(batch)
            self._steps[shapes] += 1
            if self._captures is None and self._steps[shapes] >= WARMUP:
                # The memory of graphs is not that of steps without.
                free = cuda.mem_get_info()[0] + cuda.memory_reserved() - cuda.memory_allocated()
                self._captures = 2 * self._needed <= free
        for update in self._updates:
            if update.scheduler is not None:
                update.scheduler.step()
        return list(zip(self._updates, values, strict=True))

    def _warm(self, batch: tuple[Any, ...]) -> list[Values]:
        """A step on a stream of its own, as PyTorch asks for before a capture."""
        before = cuda.memory_allocated()
        cuda.reset_peak_memory_stats()
        current = cuda.current_stream()
        self._stream.wait_stream(current)
        with cuda.stream(self._stream):
            values = self._run(batch)
        current.wait_stream(self._stream)
        self._needed = cuda.max_memory_allocated() - before
        return values

    def _run(self, batch: tuple[Any, ...]) -> list[Values]:
        """All updates, by the rates on the device."""
        rates = [group["lr"] for group, _ in self._rates]
        for group, rate in self._rates:
            group["lr"] = rate
        try:
            updates = [replace(update, scheduler=None) for update in self._updates]
            return [values for _, values in take(updates, self._prepare(*batch))]
        finally:
            for (group, _), number in zip(self._rates, rates, strict=True):
                group["lr"] = number

    def _capture(self, shapes: tuple[Any, ...], batch: tuple[Any, ...]) -> None:
        inputs = _copied(batch)
        for update in self._updates:
            update.optimizer.zero_grad(set_to_none=True)
        try:
            self._captured[shapes] = Captured(inputs, *self._recorded(lambda: self._run(inputs)))
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            logger.warning("steps are not captured (%s)", " ".join(str(error).split())[:500])
            self._captures = False

    def _recorded(self, work: Callable[[], list[Values]]) -> tuple[Callable[[], None], list[Values]]:
        graph = cuda.CUDAGraph()
        # Other threads may use the GPU meanwhile.
        with cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
            values = work()
        return graph.replay, [{name: value.detach() for name, value in terms.items()} for terms in values]


def _leaves(value: Any) -> Iterator[Any]:
    """What is in tuples at any depth."""
    if isinstance(value, tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def _shape(leaf: Any) -> Any:
    return (leaf.shape, leaf.dtype) if isinstance(leaf, Tensor | np.ndarray) else leaf


def _copied(value: Any) -> Any:
    """The same with its tensors copied."""
    if isinstance(value, tuple):
        parts = [_copied(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value.clone() if isinstance(value, Tensor) else value
