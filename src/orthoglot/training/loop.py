"""The one training loop: steps, validation per epoch, early stopping, best epoch kept, resume at any step."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from orthoglot.errors import DataError
from orthoglot.progress import track
from orthoglot.streams import derive
from orthoglot.training import checkpoint as checkpoints
from orthoglot.training.curves import Curves
from orthoglot.training.distributed import agreed, rank
from orthoglot.training.divergence import History, Progress, refuse_divergence, told

SECONDS_BETWEEN_SAVES = 30.0
# A save may take one part in so many of a training's time.
SAVE_SHARE = 20
# Steps between two points of a curve, and between two looks for divergence.
WINDOW = 50
# Steps whose terms an accelerator keeps before they are read: reading each would stop it.
STEPS_AT_ONCE = 16
FILE = "training.safetensors"
Keep = Literal["best", "last"]
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
    batches: Callable[[int, int], Iterable[Any]],
    validate: Callable[[], dict[str, float]],
    max_epochs: int,
    patience: int | None,
    seed: int,
    label: str,
    checkpoint: Path | None,
    batches_per_epoch: int,
    settings: str = "",
    curves: Curves | None = None,
    keep: Keep = "best",
    watch: Callable[[History], None] | None = None,
) -> History:
    """Train until validation stops improving; the model is left in its best epoch's state, or in its last one's.

    A resumed run equals an uninterrupted one bit for bit on a CPU: what a step sees and draws is a function of its
    number, which is saved; each step seeds PyTorch's generators anew.

    Args:
        model: everything that is trained or has state (heads and discriminators too).
        updates: run in this order on every batch.
        batches: (epoch, number of the first) -> the epoch's batches from that one on, both from 0.
        validate: gives {term: value, ..., "total": value}, lower totals are better; called in eval mode,
            without gradient, after each epoch.
        max_epochs: upper bound of epochs.
        patience: stop after so many epochs without a better total; None never stops early.
        seed: of dropout and whatever else draws from PyTorch's global generators.
        label: named in progress and messages.
        checkpoint: folder for the resume file, or None to do without.
        batches_per_epoch: for the time left only.
        settings: a digest of all that decides the result; a checkpoint of other settings is refused.
        curves: told each point of the curve, a resumed run's earlier ones first.
        keep: the epoch whose state is left and counts as best. The last is for totals that cannot be compared from
            one epoch to another; these say nothing of divergence, either.
        watch: told the history after each epoch.
    Returns:
        One dict per epoch: `epoch`, `train.<term>` (mean over steps; a name that several updates give, such
        as `total`, keeps the last update's value), `valid.<term>`, `best` (1 if the best so far, else 0).
    Raises:
        DataError: a value is not finite, or the training has diverged: the message tells every term; an epoch has
            no batch; the checkpoint is another training's, or not the same for all processes.
    """
    path = None if checkpoint is None else checkpoint / FILE
    progress, best = Progress(), checkpoints.snapshot(model)
    identity = {"label": label, "seed": seed, "settings": settings}
    if path is not None and path.exists():
        progress, best = _restore(path, model, updates, identity)
        logger.info("%s: resumed after epoch %d, step %d", label, len(progress.history), progress.step)
    if not agreed(progress.done):
        raise DataError(
            f"{label}: not all processes found the same checkpoint; they need one folder on one disk"
        )
    history = progress.history
    for point in progress.curve:
        if curves is not None:
            curves.add(point)
    steps_left = (max_epochs - len(history)) * batches_per_epoch - progress.step
    ticks = iter(track(range(steps_left), total=steps_left, label=label, unit="steps"))
    save = _Saves(path, lambda: _state(model, updates, identity, progress, best))
    while len(history) < max_epochs and not exhausted(history, patience):
        epoch = len(history)
        where = f"{label}: epoch {epoch}"
        with _own_generators(model):
            values = _train(
                model,
                updates,
                batches(epoch, progress.step),
                seed,
                ticks,
                where,
                progress,
                save,
                curves,
                keep,
            )
        values |= {f"valid.{name}": value for name, value in _valid(model, validate, seed, where).items()}
        improved = keep == "last" or values["valid.total"] < lowest(history)
        if improved:
            best = checkpoints.snapshot(model)
        history.append({"epoch": float(epoch), **values, "best": float(improved)})
        if watch is not None:
            watch(history)
        held_out = {name: value for name, value in values.items() if name.startswith("valid.")}
        _add_point(progress, held_out, curves)
        logger.debug("%s: %s", label, history[-1])
        progress.step, progress.sums = 0, {}
        save.if_due()
    if hasattr(ticks, "close"):
        ticks.close()
    model.load_state_dict(best)
    if history:
        kept = best_epoch(history)
        told = label, kept + 1, len(history), history[kept]["valid.total"]
        logger.info("%s: kept epoch %d of %d, validation total %.6g", *told)
    else:
        logger.info("%s: no step was asked for, so it is untrained", label)
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
    seed: int,
    ticks: Iterator[Any],
    where: str,
    progress: Progress,
    save: _Saves,
    curves: Curves | None,
    keep: Keep,
) -> dict[str, float]:
    """The rest of an epoch; means over all its steps."""
    model.train()
    waiting = _Waiting(model, where, progress)
    for batch in batches:
        # Processes that train together draw each their own.
        torch.manual_seed(derive(seed, "step", progress.done, *([rank()] if rank() else [])))
        for update in updates:
            values = update.loss(batch)
            # On a CPU before the step, so that a bad batch never reaches the weights.
            waiting.add(update.name, values)
            update.optimizer.zero_grad(set_to_none=True)
            values["total"].backward()
            update.optimizer.step()
            rate = update.optimizer.param_groups[0]["lr"]
            if update.scheduler is not None:
                update.scheduler.step()
        progress.step += 1
        progress.done += 1
        next(ticks, None)
        if progress.done % WINDOW == 0:
            waiting.settle()
            means = _close_window(rate, progress, curves)
            if keep == "best":
                refuse_divergence(f"{where}, step {progress.step}", means, WINDOW, progress)
        if save.due():
            waiting.settle()
            save.now()
    waiting.settle()
    if progress.step == 0:
        raise DataError(f"{where}: no batch to train on")
    return {f"train.{name}": value / progress.step for name, value in progress.sums.items()}


class _Waiting:
    """Terms of the last steps, left on an accelerator until they are read together."""

    def __init__(self, model: nn.Module, where: str, progress: Progress):
        self.where = where
        self.progress = progress
        self.rows: list[tuple[int, str, list[str], Tensor]] = []
        self.read: dict[int, dict[str, float]] = {}
        on_cpu = all(tensor.device.type == "cpu" for tensor in model.parameters())
        self.at_once = 1 if on_cpu else STEPS_AT_ONCE

    def add(self, update: str, values: Mapping[str, Tensor]) -> None:
        """The terms of one update."""
        row = torch.stack([value.detach().float() for value in values.values()])
        self.rows.append((self.progress.step, update, list(values), row))
        if len(self.rows) >= self.at_once:
            self._transfer()

    def settle(self) -> None:
        """Read what waits, and add all steps to the sums."""
        self._transfer()
        for values in self.read.values():
            for name, value in values.items():
                self.progress.sums[name] = self.progress.sums.get(name, 0.0) + value
                self.progress.window[name] = self.progress.window.get(name, 0.0) + value
            if self.progress.first is None:
                self.progress.first = values["total"]
        self.read.clear()

    def _transfer(self) -> None:
        if not self.rows:
            return
        numbers = iter(torch.cat([row for *_, row in self.rows]).tolist())
        for step, update, names, _ in self.rows:
            values = {name: next(numbers) for name in names}
            _finite(values, f"{self.where}, step {step}, {update}")
            # A name that several updates of a step give keeps the last one's value.
            self.read.setdefault(step, {}).update(values)
        self.rows.clear()


def _close_window(rate: float, progress: Progress, curves: Curves | None) -> dict[str, float]:
    """Means of the window's terms, a point of the curve."""
    means = {name: value / WINDOW for name, value in progress.window.items()}
    progress.window = {}
    trained = {f"train.{name}": mean for name, mean in means.items()}
    _add_point(progress, {"learning_rate": rate, **trained}, curves)
    return means


def _add_point(progress: Progress, values: Mapping[str, float], curves: Curves | None) -> None:
    point = {"step": float(progress.done), **values}
    progress.curve.append(point)
    if curves is not None:
        curves.add(point)


def _valid(
    model: nn.Module, validate: Callable[[], dict[str, float]], seed: int, where: str
) -> dict[str, float]:
    """Validation in eval mode; what it may draw is the same every time."""
    model.eval()
    with torch.no_grad(), _own_generators(model):
        torch.manual_seed(derive(seed, "validation"))
        return _finite(validate(), f"{where}, validation")


def _finite(values: dict[str, float], where: str) -> dict[str, float]:
    if not all(math.isfinite(value) for value in values.values()):
        raise DataError(f"{where}: a value is not finite ({told(values)}); try a lower learning rate")
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
def _own_generators(model: nn.Module) -> Iterator[None]:
    """Leave PyTorch's generators as they were before the block."""
    devices = sorted({tensor.device.index or 0 for tensor in model.parameters() if tensor.is_cuda})
    with torch.random.fork_rng(devices=devices):
        yield


class _Saves:
    """Decides when the state is written: seldom enough that writing takes a small share of the time."""

    def __init__(self, path: Path | None, state: Callable[[], dict[str, Any]]):
        self.path = path
        self.state = state
        self.last = time.monotonic()
        self.took = 0.0

    def due(self) -> bool:
        wait = max(SECONDS_BETWEEN_SAVES, SAVE_SHARE * self.took)
        return self.path is not None and time.monotonic() - self.last >= wait

    def if_due(self) -> None:
        if self.due():
            self.now()

    def now(self) -> None:
        """Write the state; only the first of several processes does."""
        start = time.monotonic()
        if self.path is not None and rank() == 0:
            checkpoints.save(self.path, self.state())
        self.last = time.monotonic()
        self.took = self.last - start


def _state(
    model: nn.Module,
    updates: Sequence[Update],
    identity: Mapping[str, Any],
    progress: Progress,
    best: Mapping[str, Tensor],
) -> dict[str, Any]:
    return {
        "identity": identity,
        "progress": vars(progress),
        "model": model.state_dict(),
        "best": best,
        "optimizers": [update.optimizer.state_dict() for update in updates],
        "schedulers": [update.scheduler.state_dict() if update.scheduler else None for update in updates],
    }


def _restore(
    path: Path, model: nn.Module, updates: Sequence[Update], identity: Mapping[str, Any]
) -> tuple[Progress, dict[str, Tensor]]:
    state = checkpoints.load(path)
    of = state["identity"]
    if of != identity:
        told = ["{label} with seed {seed}".format(**one) for one in (of, identity)]
        what = "other settings" if told[0] == told[1] else f"{told[0]}, not {told[1]}"
        raise DataError(f"checkpoint {path}: of {what}")
    model.load_state_dict(state["model"])
    for update, optimizer, scheduler in zip(updates, state["optimizers"], state["schedulers"], strict=True):
        update.optimizer.load_state_dict(optimizer)
        if update.scheduler is not None:
            update.scheduler.load_state_dict(scheduler)
    return Progress(**state["progress"]), state["best"]
