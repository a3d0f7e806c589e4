"""The one training loop: updates per batch, validation per epoch, early stopping, best epoch kept, resume."""

from __future__ import annotations

import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from orthoglot.errors import DataError
from orthoglot.progress import track
from orthoglot.streams import derive
from orthoglot.training import checkpoint as checkpoints

SECONDS_BETWEEN_SAVES = 30.0
FILE = "training.safetensors"
History = list[dict[str, float]]
logger = logging.getLogger(__name__)


@dataclass
class Update:
    """One optimiser step per batch.

    Attributes:
        name: told in messages, e.g. "maps".
        loss: batch -> {term: scalar, ..., "total": scalar}; only `total` is differentiated.
        optimizer: its parameters are the only ones that the step changes.
        scheduler: stepped after each step of the optimiser, saved and restored.
    """

    name: str
    loss: Callable[[Any], dict[str, Tensor]]
    optimizer: Optimizer
    scheduler: LRScheduler | None = None


def fit(
    *,
    model: nn.Module,
    updates: Sequence[Update],
    batches: Callable[[int], Iterable[Any]],
    validate: Callable[[], dict[str, float]],
    max_epochs: int,
    patience: int | None,
    seed: int,
    label: str,
    checkpoint: Path | None,
    batches_per_epoch: int,
) -> History:
    """Train until validation stops improving; the model is left in its best epoch's state.

    A resumed run equals an uninterrupted one bit for bit: each epoch seeds PyTorch's generators anew from
    (seed, epoch), so batches of epoch e must depend on e alone.

    Args:
        model: everything that is trained or has state (heads and discriminators too).
        updates: run in this order on every batch.
        batches: epoch number from 0 -> its batches.
        validate: gives {term: value, ..., "total": value}, lower totals are better; called in eval mode,
            without gradient.
        max_epochs: upper bound of epochs.
        patience: stop after so many epochs without a better total; None never stops early.
        seed: of dropout and whatever else draws from PyTorch's global generators.
        label: named in progress and messages.
        checkpoint: folder for the resume file, or None to do without.
        batches_per_epoch: for the time left only.
    Returns:
        One dict per epoch: `epoch`, `train.<term>` (mean over steps; a name that several updates give, such
        as `total`, keeps the last update's value), `valid.<term>`, `best` (1 if the best so far, else 0).
    Raises:
        DataError: a value is not finite, an epoch has no batch, the checkpoint is another training's.
    """
    path = None if checkpoint is None else checkpoint / FILE
    history: History = []
    best = checkpoints.snapshot(model)
    if path is not None and path.exists():
        history, best = _restore(path, model, updates, label, seed)
        logger.info("%s: resumed after epoch %d", label, len(history))
    steps_left = (max_epochs - len(history)) * batches_per_epoch
    ticks = iter(track(range(steps_left), total=steps_left, label=label, unit="steps"))
    saved = time.monotonic()
    while len(history) < max_epochs and not exhausted(history, patience):
        epoch = len(history)
        with _seeded(derive(seed, "epoch", epoch), model):
            values = _train(model, updates, batches(epoch), ticks, f"{label}: epoch {epoch}")
            values |= _valid(model, validate, f"{label}: epoch {epoch}")
        improved = values["valid.total"] < lowest(history)
        if improved:
            best = checkpoints.snapshot(model)
        history.append({"epoch": float(epoch), **values, "best": float(improved)})
        logger.debug("%s: %s", label, history[-1])
        if path is not None and time.monotonic() - saved >= SECONDS_BETWEEN_SAVES:
            _save(path, model, updates, label, seed, history, best)
            saved = time.monotonic()
    if hasattr(ticks, "close"):
        ticks.close()
    model.load_state_dict(best)
    least = lowest(history)
    logger.info(
        "%s: best epoch %d of %d, validation total %.6g", label, best_epoch(history), len(history), least
    )
    if patience is not None and not exhausted(history, patience):
        logger.warning("%s: stopped at the cap of %d epochs with patience left", label, max_epochs)
    return history


def ending(history: History, patience: int) -> dict[str, int | str]:
    """How a training ended, for the record.

    Args:
        history: as `fit` returned it.
        patience: as `fit` was given it.
    Returns:
        `epochs`, `best_epoch` (from 0), `stopped`: "patience", or "cap" if more epochs might have helped.
    """
    stopped = "patience" if exhausted(history, patience) else "cap"
    return {"epochs": len(history), "best_epoch": best_epoch(history), "stopped": stopped}


def _train(
    model: nn.Module,
    updates: Sequence[Update],
    batches: Iterable[Any],
    ticks: Iterator[Any],
    where: str,
) -> dict[str, float]:
    """One pass over `batches`; means over the steps."""
    model.train()
    sums: dict[str, float] = defaultdict(float)
    steps = 0
    for batch in batches:
        merged: dict[str, float] = {}
        for update in updates:
            values = update.loss(batch)
            # Before the step, so that a bad batch never reaches the weights.
            merged |= _finite(_numbers(values), f"{where}, step {steps}, {update.name}")
            update.optimizer.zero_grad(set_to_none=True)
            values["total"].backward()
            update.optimizer.step()
            if update.scheduler is not None:
                update.scheduler.step()
        for name, value in merged.items():
            sums[name] += value
        steps += 1
        next(ticks, None)
    if steps == 0:
        raise DataError(f"{where}: no batch to train on")
    return {f"train.{name}": value / steps for name, value in sums.items()}


def _valid(model: nn.Module, validate: Callable[[], dict[str, float]], where: str) -> dict[str, float]:
    model.eval()
    with torch.no_grad():
        values = _finite(validate(), f"{where}, validation")
    return {f"valid.{name}": value for name, value in values.items()}


def _numbers(values: Mapping[str, Tensor]) -> dict[str, float]:
    """All values in one transfer: an accelerator would otherwise wait once per term."""
    numbers = torch.stack([value.detach().float() for value in values.values()]).tolist()
    return dict(zip(values, numbers, strict=True))


def _finite(values: dict[str, float], where: str) -> dict[str, float]:
    if not all(math.isfinite(value) for value in values.values()):
        told = ", ".join(f"{name}={value:g}" for name, value in values.items())
        raise DataError(f"{where}: a value is not finite ({told})")
    return values


def lowest(history: History) -> float:
    """The best validation total so far."""
    return min((row["valid.total"] for row in history), default=math.inf)


def best_epoch(history: History) -> int:
    """The best epoch, from 0; -1 before the first."""
    return int(max((row["epoch"] for row in history if row["best"]), default=-1))


def exhausted(history: History, patience: int | None) -> bool:
    """No better total in the last `patience` epochs."""
    return patience is not None and len(history) - 1 - best_epoch(history) >= patience


@contextmanager
def _seeded(seed: int, model: nn.Module) -> Iterator[None]:
    """Seed PyTorch's generators for the block and give the caller's back afterwards."""
    devices = sorted({tensor.device.index or 0 for tensor in model.parameters() if tensor.is_cuda})
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def _save(
    path: Path,
    model: nn.Module,
    updates: Sequence[Update],
    label: str,
    seed: int,
    history: History,
    best: Mapping[str, Tensor],
) -> None:
    schedulers = [update.scheduler.state_dict() if update.scheduler else None for update in updates]
    state = {
        "label": label,
        "seed": seed,
        "history": history,
        "model": model.state_dict(),
        "best": best,
        "optimizers": [update.optimizer.state_dict() for update in updates],
        "schedulers": schedulers,
    }
    checkpoints.save(path, state)


def _restore(
    path: Path, model: nn.Module, updates: Sequence[Update], label: str, seed: int
) -> tuple[History, dict[str, Tensor]]:
    state = checkpoints.load(path)
    if (state["label"], state["seed"]) != (label, seed):
        raise DataError(
            f"checkpoint {path}: of {state['label']} with seed {state['seed']}, not {label} with seed {seed}"
        )
    model.load_state_dict(state["model"])
    for update, optimizer, scheduler in zip(updates, state["optimizers"], state["schedulers"], strict=True):
        update.optimizer.load_state_dict(optimizer)
        if update.scheduler is not None:
            update.scheduler.load_state_dict(scheduler)
    return state["history"], state["best"]
