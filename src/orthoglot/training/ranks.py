"""Several processes that train one model: who am I, gathered vectors, and the command that starts them."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, distributed
from torch.distributed.nn import functional as with_gradient
from torch.nn.parallel import DistributedDataParallel

from orthoglot.errors import ConfigError, DataError

logger = logging.getLogger(__name__)


def rank() -> int:
    """This process's number, 0 if it is alone."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def processes() -> int:
    """How many processes train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def started_together() -> bool:
    """Whether `torchrun` started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


@contextmanager
def joined(expected: int, device: torch.device) -> Iterator[torch.device]:
    """Join the processes that `torchrun` started; yields this process's own device.

    Raises:
        ConfigError: another number of processes than the settings say, on which the result depends.
    """
    if expected == 1 and not started_together():
        yield device
        return
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world != expected:
        raise ConfigError(f"processes is {expected}, but {world} run: start them with torchrun")
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield device
    finally:
        distributed.destroy_process_group()


def shared(module: torch.nn.Module) -> torch.nn.Module:
    """The module with gradients averaged over all processes; itself if there is one."""
    return DistributedDataParallel(module) if processes() > 1 else module


def gathered(own: Tensor) -> tuple[Tensor, int]:
    """Rows (B, D) of every process as (W B, D), with gradient, and where this process's own begin."""
    if processes() == 1:
        return own, 0
    return torch.cat(with_gradient.all_gather(own)), rank() * len(own)


def launch(count: int, arguments: Sequence[str]) -> None:
    """Run `orthoglot` with these arguments in `count` processes on this machine and wait.

    Raises:
        DataError: one of them failed; what it said is in the log.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    logger.info("%d processes: torchrun -m orthoglot %s", count, " ".join(arguments))
    # Each would otherwise be given one thread with a warning; the settings say how many.
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    found = subprocess.run([*command, "-m", "orthoglot", *arguments], env=environment, check=False)
    if found.returncode:
        raise DataError(f"training in {count} processes failed with exit code {found.returncode}; see above")
