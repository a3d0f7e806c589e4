"""Vectors of a training's batches: from the device, or from host memory where they are too many for it."""

from __future__ import annotations

import torch
from torch import Tensor

from orthoglot.encoders.base import placed
from orthoglot.training.batching import Batch

# Share of the device's free memory that vectors may take; the rest is for maps, their optimiser and a step.
SHARE = 0.8


def fits(vectors: Tensor, device: torch.device) -> bool:
    """Whether the vectors may stay on the device for the whole training."""
    if device.type != "cuda":
        return True
    free, _ = torch.cuda.mem_get_info(device)
    # PyTorch keeps what earlier tensors have left.
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return vectors.numel() * vectors.element_size() <= SHARE * (free + cached)


def gathered(vectors: Tensor, rows: Tensor, device: torch.device) -> Tensor:
    """Some rows of vectors (N, D) on a device, (R, D): the same numbers wherever the vectors are.

    The row numbers (R,) are in the same memory as the vectors. Rows in host memory are copied through pinned memory,
    and nothing waits for the device.
    """
    if vectors.device.type == device.type:
        return vectors.index_select(0, rows)
    copied = torch.empty(len(rows), vectors.shape[1], dtype=vectors.dtype, pin_memory=device.type == "cuda")
    torch.index_select(vectors, 0, rows, out=copied)
    return copied.to(device, non_blocking=True)


def inputs(vectors: Tensor, batch: Batch, device: torch.device) -> tuple[Tensor, ...]:
    """Sentence vectors (2B, D) of a batch and its other tensors, in their order, on the device of the maps.

    The batch has rows of `vectors` (N, D), and is in the same memory: the device or the host.
    """
    ids = [batch.language_id, batch.other, batch.peer, batch.active]
    if vectors.device.type != device.type:
        ids = [placed(tensor, device) for tensor in ids]
    return gathered(vectors, batch.rows, device), *ids
