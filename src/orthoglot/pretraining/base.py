"""A student with an objective: what a step over pairs of sentences trains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from orthoglot.encoders.settings import Precision


class Pupil(nn.Module, ABC):
    """A student with an objective; calling it with a step gives {term: scalar, ..., "total": scalar}."""

    def __init__(self, precision: Precision):
        """Let matrix products work in `precision`."""
        super().__init__()
        self.products = None if precision == "float32" else torch.bfloat16

    @abstractmethod
    def terms(self, step: Any) -> tuple[dict[str, Tensor], Tensor]:
        """Terms of a step of B pairs by this process alone, and the vectors (2B, D) they are of."""

    def reduced(self, device: torch.device) -> AbstractContextManager[object]:
        """Let PyTorch choose which operations work in less than float32, where that was asked for."""
        return nullcontext() if self.products is None else torch.autocast(device.type, dtype=self.products)
