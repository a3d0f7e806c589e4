"""An objective compiled by PyTorch, where a training is long enough to pay for it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from orthoglot.objectives.base import Objective, Pairs

# Numbers of the vectors that the shortest training reads. Each saves 16 to 38 ns, and compiling takes 6 to 18 s
# (measurements/speed-of-training/README.md).
PAYS_FROM = 2_000_000_000
logger = logging.getLogger(__name__)


def compiled(objective: Objective, batch: Pairs, label: str) -> Callable[[Pairs], dict[str, Tensor]]:
    """The objective for batches of this one's shape, equal within rounding; compiled again, the same bits.

    The objective itself, which is on the CPU, where it cannot be compiled: without a C++ compiler, or with a term that
    cannot be traced. The loss and gradient of the batch are computed once.
    """
    # A batch keeps what its terms share; within the trace another object does.
    loss: Callable[[Pairs], dict[str, Tensor]]
    loss = torch.compile(lambda pairs: objective(replace(pairs)), dynamic=False, fullgraph=True)
    try:
        loss(batch)["total"].backward()
    except Exception as error:  # what the batch itself causes, the objective raises again
        logger.info("%s: not compiled (%s)", label, " ".join(str(error).split())[:500])
        return objective
    logger.info("%s: the objective is compiled", label)
    return loss
