"""Keys of momentum contrast: a moving average of an encoder, and a queue of the vectors that it gave last."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Queue(nn.Module):
    """The last K keys, first in first out; random unit vectors to begin with.

    Args:
        size: K >= 0.
        width: D.
    Source: He et al. 2020, momentum contrast; docs/papers.md#emma-x-modules.
    """

    def __init__(self, size: int, width: int):
        super().__init__()
        self.vectors: Tensor
        self.next: Tensor
        self.register_buffer("vectors", functional.normalize(torch.randn(size, width), dim=1))
        self.register_buffer("next", torch.zeros((), dtype=torch.int64))

    def push(self, keys: Tensor) -> None:
        """Replace the oldest keys by these (M, D); M need not divide K, and of more than K the last K stay."""
        size = len(self.vectors)
        if size == 0:
            return
        newest = keys[-size:]
        self.next.add_(len(keys) - len(newest))
        rows = (self.next + torch.arange(len(newest), device=keys.device)) % size
        self.vectors[rows] = newest.to(self.vectors.dtype)
        self.next.copy_((self.next + len(newest)) % size)


@torch.no_grad()
def follow(slow: nn.Module, fast: nn.Module, momentum: float) -> None:
    """theta_slow <- m theta_slow + (1 - m) theta_fast, for every parameter; buffers are copied.

    Source: docs/papers.md#emma-x-modules.
    """
    for mine, other in zip(slow.parameters(), fast.parameters(), strict=True):
        mine.lerp_(other, 1 - momentum)
    for slow_buffer, fast_buffer in zip(slow.buffers(), fast.buffers(), strict=True):
        slow_buffer.copy_(fast_buffer)
