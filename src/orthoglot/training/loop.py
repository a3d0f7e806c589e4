"""The one training loop: steps, validation per epoch, early stopping, best epoch kept, resume at any step."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from orthoglot.errors import DataError
from orthoglot.progress import Meter
from orthoglot.random_streams import derive
from orthoglot.training import checkpoint as checkpoints
from orthoglot.training.curves import Curves
from orthoglot.training.distributed import agreed, processes, rank
from orthoglot.training.repeatable import repeatable
from orthoglot.training.speed import Stopwatch, hardware, write_speed
from orthoglot.training.step import Graph, Update, Values, take
from orthoglot.training.training_state import (
    LOWEST_TOTAL,
    Criterion,
    History,
    Progress,
    best_epoch,
    out_of_patience,
    refuse_divergence,
    refuse_infinite,
)

SECONDS_BETWEEN_SAVES = 30.0
# Saving may take this share of a training's time: 1 / 20.
SAVE_SHARE = 20
# Steps between two points of a curve, and between two checks for divergence. The terms of these steps stay on an
# accelerator until then: reading each would stop it.
WINDOW = 50
FILE = "training.pt"
Keep = Literal["best", "last"]
logger = logging.getLogger(__name__)


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
    criterion: Criterion = LOWEST_TOTAL,
    watch: Callable[[History], None] | None = None,
    prepare: Callable[..., Any] | None = None,
    speed: Path | None = None,
) -> History:
    """Train until validation stops improving; the model is left in the state of its best epoch, or of its last.

    On a CPU a resumed run equals an uninterrupted one bit for bit: what a step sees and draws is a function of its
    number, which is saved; each step seeds PyTorch's generators anew. On CUDA deterministic algorithms are used
    (`orthoglot.training.repeatable`).

    Args:
        model: Everything that is trained or has state (heads and discriminators too).
        updates: Run in this order on every batch; one, or a discriminator's and then the model's.
        batches: (epoch, number of the first) -> the epoch's batches from that one on, both from 0. The next batch is
            asked for after the updates on the one before it.
        validate: Gives {term: value, ..., "total": value} and the criterion's value; called in eval mode, without
            gradient, after each epoch.
        patience: Stop after so many epochs without a better value of the criterion; None never stops early.
        seed: Of dropout and of all other draws from PyTorch's global generators.
        label: For progress and messages.
        checkpoint: Folder for the resume file, or None for no file.
        batches_per_epoch: Only for the estimate of the time left.
        settings: A digest of all that decides the result; a checkpoint of other settings is refused.
        curves: Gets each point of the curve; those of the interrupted run first.
        keep: The epoch whose state is left and counts as best. "last" is for totals that cannot be compared between
            epochs.
        criterion: Which value decides the best epoch; of equal ones the first is best.
        watch: Gets the history after each epoch.
        prepare: Makes what the updates get out of a batch, which is then a tuple of tensors of the same shapes in every
            step; on CUDA the steps are replayed as a graph. None for batches that the updates take as they are.
        speed: Folder that gets the seconds and steps of the training and its hardware (`write_speed`), or None.
    Returns:
        One dict per epoch: `epoch`, `train.<term>` (mean over steps; `total` of the last update), `valid.<term>`,
        `best` (1 if the best so far, else 0).
    Raises:
        DataError: A value is not finite; the training has diverged (checked only if totals can be compared and there
            is no early stopping); an epoch has no batch; the checkpoint is another training's, or not the same for
            all processes. Messages list every term.
    """
    path = None if checkpoint is None else checkpoint / FILE
    identity = {"label": label, "seed": seed, "settings": settings}
    progress, best = Progress(), checkpoints.snapshot(model)
    if path is not None and path.exists():
        stored, best = restore(path, model, updates, identity)
        progress = Progress(**stored)
        logger.info("%s: resumed after epoch %d, step %d", label, len(progress.history), progress.step)
    if not agreed(progress.done):
        raise DataError(
            f"{label}: not all processes found the same checkpoint; they need one folder on one disk"
        )
    machine = hardware(next(model.parameters()).device, processes(), torch.get_num_threads())
    if progress.hardware != machine:  # what other hardware took does not count
        progress.hardware, progress.timed, progress.seconds = machine, 0, 0.0
    history = progress.history
    if curves is not None:
        for point in progress.curve:
            curves.add(point)

    def add_point(values: Mapping[str, float]) -> None:
        point = {"step": float(progress.done), **values}
        progress.curve.append(point)
        if curves is not None:
            curves.add(point)

    def state() -> dict[str, Any]:
        return state_of(model, updates, identity, vars(progress), best)

    def train(batches: Iterable[Any], place: str) -> None:
        """The rest of an epoch."""
        model.train()
        terms, stopwatch = Terms(model, {place: progress}), Stopwatch(progress)
        for batch in batches:
            # Processes that train together draw each their own.
            _seed_generators(derive(seed, "step", progress.done, *([rank()] if rank() else [])))
            rate = updates[-1].optimizer.param_groups[0]["lr"]
            for update, values in step(batch):
                # This checks them before the step on a CPU, so that a bad batch never reaches the weights.
                terms.add(update.name, values, last=update is updates[-1])
            progress.step += 1
            progress.done += 1
            meter.add()
            if progress.done % WINDOW == 0:
                terms.read()
                means = {name: value / WINDOW for name, value in progress.window.items()}
                progress.window = {}
                add_point({"learning_rate": rate, **{f"train.{name}": mean for name, mean in means.items()}})
                if keep == "best" and patience is None:  # totals can be compared
                    refuse_divergence(f"{place}, step {progress.step}", means, WINDOW, progress)
            if saves.due():
                terms.read()
                stopwatch.stop()
                saves.now()
                stopwatch.start()
        terms.read()
        stopwatch.stop()
        if progress.step == 0:
            raise DataError(f"{place}: no batch to train on")

    step: Callable[[Any], Iterable[tuple[Update, Values]]] = partial(take, updates)
    if prepare is not None and next(model.parameters()).is_cuda:
        step = Graph(updates, prepare)
    saves = Saves(path, state)
    steps_left = (max_epochs - len(history)) * batches_per_epoch - progress.step
    with Meter(total=steps_left, label=label, unit="steps") as meter:
        while len(history) < max_epochs and not out_of_patience(history, patience):
            epoch = len(history)
            place = f"{label}: epoch {epoch}"
            with repeatable(model), _own_generators(model):
                rest = batches(epoch, progress.step)
                if prepare is not None and not isinstance(step, Graph):
                    rest = (prepare(*batch) for batch in rest)
                train(rest, place)
            valid = _validate(model, validate, seed, place)
            improved = keep == "last" or criterion.improves(valid, history)
            if improved:
                best = checkpoints.snapshot(model)
            progress.end_epoch(valid, improved)
            if watch is not None:
                watch(history)
            add_point(valid)
            logger.debug("%s: %s", label, history[-1])
            if saves.due():
                saves.now()
    model.load_state_dict(best)
    if speed is not None and rank() == 0:
        write_speed(progress, speed)
    log_end(label, history, criterion, max_epochs, patience)
    return history


def log_end(
    label: str, history: History, criterion: Criterion, max_epochs: int, patience: int | None
) -> None:
    """Say which epoch of an ended training was kept, and warn if it might have gone on."""
    if history:
        number = best_epoch(history)
        value = history[number][f"valid.{criterion.name}"]
        ending = f"kept epoch {number + 1} of {len(history)}, validation {criterion.name} {value:.6g}"
        logger.info("%s: %s", label, ending)
    else:
        logger.info("%s: untrained, as no step was requested", label)
    if patience is not None and not out_of_patience(history, patience):
        logger.warning("%s: stopped at the cap of %d epochs with patience left", label, max_epochs)


class Terms:
    """Terms of the last steps; a CPU's are read at once, an accelerator's together when `read` is called.

    Args:
        model: What is trained.
        trainings: The progress of each training whose step it is, by its place for messages.
    """

    def __init__(self, model: nn.Module, trainings: Mapping[str, Progress]):
        self.trainings = trainings
        self.waiting: list[tuple[list[int], str, list[str], Tensor]] = []
        self.on_cpu = all(tensor.device.type == "cpu" for tensor in model.parameters())

    def add(self, update: str, values: Mapping[str, Tensor], *, last: bool) -> None:
        """The terms of one update of the current step, of G trainings (G,); only the last update's total counts."""
        terms = {name: value.detach().float() for name, value in values.items() if last or name != "total"}
        table = torch.stack(list(terms.values())).view(len(terms), -1)
        steps = [progress.step for progress in self.trainings.values()]
        self.waiting.append((steps, update, list(terms), table))
        if self.on_cpu:
            self.read()

    def read(self) -> None:
        """Check the waiting terms and add them to the sums."""
        if not self.waiting:
            return
        rows = iter(torch.cat([table for *_, table in self.waiting]).tolist())
        for steps, update, names, _ in self.waiting:
            columns = zip(*(next(rows) for _ in names), strict=True)
            for (where, progress), step, column in zip(self.trainings.items(), steps, columns, strict=True):
                values = dict(zip(names, column, strict=True))
                refuse_infinite(f"{where}, step {step}, {update}", values)
                progress.add(values)
        self.waiting.clear()


def _validate(
    model: nn.Module, validate: Callable[[], dict[str, float]], seed: int, where: str
) -> dict[str, float]:
    """Validation in eval mode; its random draws are the same every time."""
    model.eval()
    with torch.no_grad(), repeatable(model), _own_generators(model):
        _seed_generators(derive(seed, "validation"))
        values = validate()
    refuse_infinite(f"{where}, validation", values)
    return {f"valid.{name}": value for name, value in values.items()}


@contextmanager
def _own_generators(model: nn.Module) -> Iterator[None]:
    """Leave PyTorch's generators as they were before the block."""
    devices = sorted({tensor.device.index or 0 for tensor in model.parameters() if tensor.is_cuda})
    with torch.random.fork_rng(devices=devices):
        yield


def _seed_generators(seed: int) -> None:
    """Do as torch.manual_seed, which on a machine without CUDA takes a millisecond to note the call for later."""
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


class Saves:
    """Decides when the state is written: seldom enough that writing takes a small share of the time."""

    def __init__(self, path: Path | None, state: Callable[[], dict[str, Any]]):
        self.path = path
        self.state = state
        self.last = time.monotonic()
        self.took = 0.0

    def due(self) -> bool:
        """Whether enough time has passed since the state was last written."""
        wait = max(SECONDS_BETWEEN_SAVES, SAVE_SHARE * self.took)
        return self.path is not None and time.monotonic() - self.last >= wait

    def now(self) -> None:
        """Write the state; only the first of several processes does."""
        start = time.monotonic()
        if self.path is not None and rank() == 0:
            checkpoints.save(self.path, self.state())
        self.last = time.monotonic()
        self.took = self.last - start


def state_of(
    model: nn.Module, updates: Sequence[Update], identity: Mapping[str, Any], progress: Any, best: Any
) -> dict[str, Any]:
    """What a checkpoint holds; `progress` and `best` as `restore` returns them."""
    return {
        "identity": identity,
        "progress": progress,
        "model": model.state_dict(),
        "best": best,
        "optimizers": [update.optimizer.state_dict() for update in updates],
        "schedulers": [update.scheduler.state_dict() if update.scheduler else None for update in updates],
    }


def restore(
    path: Path, model: nn.Module, updates: Sequence[Update], identity: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Load a checkpoint of this identity into the model and the updates; its `progress` and `best`."""
    state = checkpoints.load(path)
    stored = state["identity"]
    if stored != identity:
        theirs = f"{stored['label']} with seed {stored['seed']}"
        ours = f"{identity['label']} with seed {identity['seed']}"
        raise DataError(
            f"checkpoint {path}: of {'other settings' if theirs == ours else f'{theirs}, not {ours}'}"
        )
    model.load_state_dict(state["model"])
    for update, optimizer, scheduler in zip(updates, state["optimizers"], state["schedulers"], strict=True):
        update.optimizer.load_state_dict(optimizer)
        for group in update.optimizer.param_groups:
            # This goes by the device that it is on now, not by the one where it was saved.
            if "capturable" in group:
                group["capturable"] = group["params"][0].is_cuda
        if update.scheduler is not None:
            update.scheduler.load_state_dict(scheduler)
    return state["progress"], state["best"]
