"""Several processes that train one model: ranks, gathered vectors, and the command that starts them."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import IO, Any, TypeVar

import torch
from torch import Tensor, distributed
from torch.distributed.nn import functional as with_gradient
from torch.nn.parallel import DistributedDataParallel

from orthoglot.errors import ConfigError, DataError

# Collectives of a step give up after minutes; a teacher may read a large corpus for days.
LONGEST_WAIT = timedelta(days=30)
Made = TypeVar("Made")
_waiting: list[distributed.ProcessGroup] = []
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
        ConfigError: The number of processes is not that of the settings, on which the result depends.
    """
    if expected == 1 and not started_together():
        yield device
        return
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world != expected:
        raise ConfigError(f"processes is {expected}, but {world} run: start them with torchrun")
    if device.type == "cuda":
        number, there = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
        if number >= there:
            raise ConfigError(f"processes: each needs a GPU of its own, and this machine has {there}")
        device = torch.device("cuda", number)
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    _waiting.append(distributed.new_group(backend="gloo", timeout=LONGEST_WAIT))
    try:
        yield device
    finally:
        _waiting.clear()
        distributed.destroy_process_group()


def wait() -> None:
    """Wait until every process is here, however long the first one prepares what all read."""
    if processes() > 1:
        distributed.barrier(_waiting[0])


def in_turn(make: Callable[[], Made]) -> Made:
    """What `make` gives, in the first process before the others: it writes what they then find."""
    if rank():
        wait()
        return make()
    made = make()
    wait()
    return made


def agreed(number: int) -> bool:
    """Whether every process has the same number."""
    if processes() == 1:
        return True
    numbers: list[int | None] = [None] * processes()
    distributed.all_gather_object(numbers, number, _waiting[0])
    return len(set(numbers)) == 1


def shared(module: torch.nn.Module) -> torch.nn.Module:
    """The module with gradients averaged over all processes; itself if there is one."""
    return DistributedDataParallel(module) if processes() > 1 else module


def gathered(rows: Tensor) -> tuple[Tensor, int]:
    """Rows (B, D) of every process as (W B, D), with gradient, and where the rows of this process begin."""
    if processes() == 1:
        return rows, 0
    return torch.cat(with_gradient.all_gather(rows)), rank() * len(rows)


def all_rows(tensor: Tensor) -> Tensor:
    """Every process's tensor (...) as (W, ...), without gradient; all are of one shape."""
    if processes() == 1:
        return tensor[None]
    tensors = [torch.empty_like(tensor) for _ in range(processes())]
    distributed.all_gather(tensors, tensor.contiguous())
    return torch.stack(tensors)


def added(tensor: Tensor) -> Tensor:
    """The sum of every process's tensor, without gradient."""
    if processes() == 1:
        return tensor
    total = tensor.clone(memory_format=torch.contiguous_format)  # gloo adds up the wrong numbers of a view
    distributed.all_reduce(total)
    return total


def launch(count: int, arguments: Sequence[str], lock: IO[Any]) -> None:
    """Run `orthoglot` with these arguments in `count` processes on this machine and wait.

    They keep `lock` open as long as they run, so that no other process begins the same work if only this one is killed.

    Raises:
        DataError: One of them failed; what it said is in the log.
    """
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    command = [*torchrun, "-m", "orthoglot", *arguments]
    logger.info("%d processes: torchrun -m orthoglot %s", count, " ".join(arguments))
    # Each would otherwise be given one thread with a warning; the settings say how many.
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    finished = subprocess.run(command, env=environment, check=False, pass_fds=[lock.fileno()])
    if finished.returncode:
        raise DataError(
            f"training in {count} processes failed with exit code {finished.returncode}; see above"
        )
