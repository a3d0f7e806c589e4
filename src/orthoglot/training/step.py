"""A step of a training: the updates on one batch, captured as a CUDA graph where every batch has the same shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

# Steps before the capture: PyTorch and its libraries set themselves up in the first ones.
WARMUP = 3
Values = dict[str, Tensor]


@dataclass
class Update:
    """One optimiser step per batch."""

    name: str  # for messages, e.g. "maps".
    # batch -> {term: scalar, ..., "total": scalar}; only `total` is differentiated
    loss: Callable[[Any], Values]
    optimizer: Optimizer  # its parameters are the only ones that the step changes
    scheduler: LRScheduler | None = None  # stepped after each step of the optimiser, saved and restored


def take(updates: Sequence[Update], batch: Any) -> Iterator[tuple[Update, Values]]:
    """Run the updates in their order; each is given with its terms before its weights change."""
    for update in updates:
        values = update.loss(batch)
        yield update, values
        update.optimizer.zero_grad(set_to_none=True)
        values["total"].backward()
        update.optimizer.step()
        if update.scheduler is not None:
            update.scheduler.step()


class Graph:
    """All updates on a batch as one CUDA graph: a step starts once, not each of its hundred kernels.

    The first steps run without it, with the same bits. An optimiser must have `capturable` set.

    Args:
        updates: They have no schedulers, which a graph does not repeat.
        prepare: Makes what the losses get out of the tensors of a batch.
    """

    def __init__(self, updates: Sequence[Update], prepare: Callable[..., Any]) -> None:
        self._updates, self._prepare = updates, prepare
        self._stream, self._steps = torch.cuda.Stream(), 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._inputs: tuple[Tensor, ...] = ()
        self._values: list[tuple[Update, Values]] = []

    def __call__(self, batch: tuple[Tensor, ...]) -> list[tuple[Update, Values]]:
        """Terms of all updates, valid until the next call; all batches have the shapes of the first."""
        if self._steps < WARMUP:
            self._steps += 1
            return self._warm(batch)
        graph = self._graph or self._captured(batch)
        for place, tensor in zip(self._inputs, batch, strict=True):
            place.copy_(tensor)
        graph.replay()
        return self._values

    def _warm(self, batch: tuple[Tensor, ...]) -> list[tuple[Update, Values]]:
        """A step on a stream of its own, as PyTorch asks for before a capture."""
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            values = list(take(self._updates, self._prepare(*batch)))
        current.wait_stream(self._stream)
        return values

    def _captured(self, batch: tuple[Tensor, ...]) -> torch.cuda.CUDAGraph:
        self._inputs = tuple(tensor.clone() for tensor in batch)
        for update in self._updates:
            update.optimizer.zero_grad(set_to_none=True)
        graph = self._graph = torch.cuda.CUDAGraph()
        # Other threads may use the GPU meanwhile.
        with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
            self._values = list(take(self._updates, self._prepare(*self._inputs)))
        self._values = [
            (update, {name: value.detach() for name, value in values.items()})
            for update, values in self._values
        ]
        return graph
