"""The same bits from the same training on CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def repeatable(model: nn.Module) -> Iterator[None]:
    """Compute a model on CUDA by deterministic algorithms within the block, so that a training can be repeated.

    PyTorch raises where it has none. If it only warned, attention would add up its gradients in any order; callers who
    asked for warnings before get them. It also only warns where cuBLAS has been used without `CUBLAS_WORKSPACE_CONFIG`
    (`orthoglot.encoders.base.resolve_device`), which nothing can change any more. Memory is not filled with a fixed
    value first, as this would otherwise do. A model on a CPU repeats its bits in any case.
    """
    device = next((tensor.device for tensor in model.parameters() if tensor.is_cuda), None)
    if device is None:
        yield
        return
    enabled = torch.are_deterministic_algorithms_enabled()
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    fills = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    torch.use_deterministic_algorithms(True, warn_only=warns)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        if not warns and not _products_repeat(device):
            torch.use_deterministic_algorithms(True, warn_only=True)
        yield
    finally:
        torch.use_deterministic_algorithms(enabled, warn_only=warns)
        torch.utils.deterministic.fill_uninitialized_memory = fills  # type: ignore[attr-defined]


def _products_repeat(device: torch.device) -> bool:
    """Whether PyTorch accepts cuBLAS as deterministic in this process, which it decides at the first product."""
    matrix = torch.ones(1, 1, device=device)
    try:
        torch.mm(matrix, matrix)
    except RuntimeError as error:
        if "CUBLAS_WORKSPACE_CONFIG" not in str(error):
            raise
        return False
    return True
