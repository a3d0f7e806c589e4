"""The interface of what a training optimises: an encoder with its objective."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from orthoglot.encoders.settings import Precision


class PretrainingModel(nn.Module, ABC):
    """An encoder with an objective; called with a batch it gives {term: scalar, ..., "total": scalar}."""

    def __init__(self, precision: Precision):
        """Let matrix products work in `precision`."""
        super().__init__()
        self.product_dtype = None if precision == "float32" else torch.bfloat16

    def forward(self, batch: Any) -> dict[str, Tensor]:
        """Terms of a batch."""
        return self.terms(batch)[0]

    @abstractmethod
    def terms(self, batch: Any) -> tuple[dict[str, Tensor], Tensor]:
        """Terms of a batch of B pairs in this process alone, and the vectors (2B, D) that they are of."""

    def autocast(self, device: torch.device) -> AbstractContextManager[object]:
        """Let PyTorch choose which operations work in less than float32, if that was asked for."""
        if self.product_dtype is None:
            return nullcontext()
        return torch.autocast(device.type, dtype=self.product_dtype)
