"""When a device has too little memory: a message that names the setting to change, and a size that fits."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

import torch

from orthoglot.errors import DataError

Made = TypeVar("Made")


def within_memory(
    work: Callable[[], Made],
    *,
    where: str,
    setting: str,
    size: int,
    attempt: Callable[[int], object] | None,
    least: int = 1,
) -> Made:
    """Do `work`; if it exhausts the device's memory, a DataError names a size that fits.

    Args:
        work: What is done; its value is returned.
        where: For the message, e.g. "meat, seed 1".
        setting: The setting that decides how much memory is needed.
        size: Its value.
        attempt: Does the hardest piece of the work with another value. It is called only after `work` has failed, with
            half of `size`, a quarter and so on; None where that is not possible.
        least: The smallest value that makes sense.
    """
    try:
        return work()
    except torch.OutOfMemoryError as error:
        cause = " ".join(str(error).split()).partition(". ")[0]
    # This is outside of the block above, where the error still holds what the failed work had on the device.
    if attempt is None:
        advice = f"try {setting}: {max(least, size // 2)}"
    elif fitting := largest(attempt, size // 2, least):
        advice = f"{setting}: {fitting} fits"
    else:
        advice = f"not even {setting}: {least} fits; take a device with more memory"
    raise DataError(f"{where}: {setting}: {size} does not fit into the device's memory ({cause}); {advice}")


def largest(attempt: Callable[[int], object], size: int, least: int = 1) -> int:
    """The first of size, size / 2, size / 4, ... >= least that `attempt` has memory for; 0 if there is none."""
    while size >= least:
        gc.collect()
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()
        try:
            attempt(size)
            return size
        except torch.OutOfMemoryError:
            size //= 2
    return 0
