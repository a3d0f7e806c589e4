"""How the learning rate moves over the steps of a pretraining."""

from __future__ import annotations

import math
from typing import Literal

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

Shape = Literal["constant", "linear", "cosine", "slow_cosine"]


def share_of_peak(step: int, *, warmup: int, steps: int, shape: Shape) -> float:
    """Learning rate at a step, as a share of its peak.

    min(1, (step + 1) / warmup) * f,  s = step / steps,
    f = 1 | 1 - s | (1 + cos(pi s)) / 2 | (1 + cos(pi s / 5)) / 2

    Args:
        step: from 0.
        warmup: steps of linear rise; 0 starts at the peak.
        steps: length of the whole training.
        shape: constant, linear, cosine or slow_cosine. The last is what EMS's code does: a cosine over 15
            epochs of which 3 are run (methods 5.7, 5.9 E6).
    Returns:
        Within [0, 1].
    """
    rise = min(1.0, (step + 1) / warmup) if warmup else 1.0
    done = min(1.0, step / max(1, steps))
    if shape == "constant":
        return rise
    if shape == "linear":
        return rise * (1 - done)
    return rise * (1 + math.cos(math.pi * (done / 5 if shape == "slow_cosine" else done))) / 2


def scheduler(optimizer: Optimizer, *, warmup: int, steps: int, shape: Shape) -> LambdaLR:
    """`share_of_peak` applied to every parameter group, one call of `step()` per step."""
    return LambdaLR(optimizer, lambda step: share_of_peak(step, warmup=warmup, steps=steps, shape=shape))
