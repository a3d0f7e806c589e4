"""The same bits from the same training on CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def repeatable(model: nn.Module) -> Iterator[None]:
    """Within the block a model on CUDA is computed by deterministic algorithms, so that a training can be repeated.

    PyTorch raises where it has none. It must not only warn, as attention then adds up its gradients in any order: who
    has asked for warnings before gets them. Memory is not filled with a fixed value first, which this would do as
    well. Nothing changes for a model on a CPU, which repeats its bits in any case.
    """
    if not any(tensor.is_cuda for tensor in model.parameters()):
        yield
        return
    enabled = torch.are_deterministic_algorithms_enabled()
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    fills = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    torch.use_deterministic_algorithms(True, warn_only=warns)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(enabled, warn_only=warns)
        torch.utils.deterministic.fill_uninitialized_memory = fills  # type: ignore[attr-defined]
