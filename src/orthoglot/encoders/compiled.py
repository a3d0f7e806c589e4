"""Functions that PyTorch compiles, where it can."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import torch
from torch._functorch import config as functorch

Made = TypeVar("Made")
logger = logging.getLogger(__name__)


def compiled(function: Callable[..., Made]) -> Callable[..., Made]:
    """The function for tensors of any shape, equal within rounding; compiled again, the same bits.

    It is compiled at its first call. If that fails, as without a compiler, the function itself is called from then on.
    Not measured on a GPU.
    """
    run: Callable[..., Made] | None = None

    @wraps(function)
    def call(*arguments: Any) -> Made:
        nonlocal run
        try:
            if run is None:
                run = torch.compile(function, fullgraph=True, dynamic=True, options={"deterministic": True})
            # The backward pass is compiled at once, too, so that its failure is one of this call.
            with functorch.patch(force_non_lazy_backward_lowering=True):
                return run(*arguments)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # what the arguments themselves cause, the function raises again
            logger.info("%s: not compiled (%s)", function.__name__, " ".join(str(error).split())[:500])
            run = function
        return function(*arguments)

    return call
