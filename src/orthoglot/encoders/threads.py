"""PyTorch's threads on a CPU, for the length of one piece of work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def cpu_threads(count: int | None) -> Iterator[None]:
    """Let PyTorch use `count` threads, then as many as before; None changes nothing.

    It starts with one for each core. Between the small sums of a decomposer's training these threads spin, which costs
    more than they save where other work shares the cores.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
