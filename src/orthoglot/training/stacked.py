"""Train several models of one method together: stacked maps, a batch each per step, early stopping each.

What a model becomes does not depend on the others: each has its own order, partners and best epoch, and leaves
the stack when it stops. An epoch's batches are cut at once on the device, and nothing is read back before its end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam

from orthoglot.errors import DataError
from orthoglot.objectives.base import Objective, Pairs
from orthoglot.progress import track
from orthoglot.training import checkpoint as checkpoints
from orthoglot.training import loop
from orthoglot.training.batching import Batches, together
from orthoglot.training.loop import History, best_epoch, exhausted, lowest

State = dict[str, Tensor]
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stack:
    """Models side by side: every tensor's first dimension is the model.

    Attributes:
        maps: sentence vectors to parts.
        objective: what they are trained for, with the heads that only training needs.
    """

    maps: nn.Module
    objective: Objective

    def tensors(self) -> list[nn.Parameter]:
        """All parameters, in a fixed order."""
        return [*self.maps.parameters(), *self.objective.parameters()]

    def optimizers(self, learning_rate: float) -> tuple[Adam | None, Adam]:
        """Of the opponents, if there are any, and of the maps and their heads.

        The fused update is one pass instead of many, but rounds the last few numbers of a tensor in its own way:
        for maps there are none, for heads which numbers these are would depend on how many models are stacked.
        """
        theirs = [tensor for opponent in self.objective.opponents() for tensor in opponent.parameters()]
        ours = [{"params": list(self.maps.parameters()), "fused": True}]
        if heads := self.objective.heads():
            ours.append({"params": heads, "fused": False})
        opponent = Adam(theirs, lr=learning_rate) if theirs else None
        return opponent, Adam(ours, lr=learning_rate)


@dataclass
class Run:
    """One model's way through the epochs."""

    seed: int
    history: History = field(default_factory=list)
    best: State = field(default_factory=dict)


def fit_together(
    build: Callable[[Sequence[int]], Stack],
    pairs: Callable[[Stack, Batches], Pairs],
    batches: Callable[[int, int], list[Batches]],
    valid: Callable[[int], list[Batches]],
    *,
    seeds: Sequence[int],
    learning_rate: float,
    max_epochs: int,
    patience: int,
    label: str,
    checkpoint: Path | None,
    batches_per_epoch: int,
) -> list[Run]:
    """Train one model per seed until its validation total stops improving.

    Args:
        build: the untrained stack of these seeds.
        pairs: a batch as the stack decomposes it.
        batches: (seed, epoch from 0) -> that epoch's batches of training pairs.
        valid: seed -> the batches of validation pairs, the same in every epoch.
        seeds: one model each.
        learning_rate: of Adam, for maps, heads and opponents alike.
        max_epochs: upper bound of epochs.
        patience: a model stops after so many epochs without a better total.
        label: named in progress and messages.
        checkpoint: folder for the resume file, or None to do without.
        batches_per_epoch: for the time left only.
    Returns:
        Per seed its history (as `loop.fit` gives it) and the maps' weights at the best epoch, on the CPU.
    Raises:
        DataError: a value is not finite, an epoch has no batch, the checkpoint is another training's.
    """
    path = None if checkpoint is None else checkpoint / loop.FILE
    runs = [Run(seed) for seed in seeds]
    trainer = Trainer(build, pairs, learning_rate)
    epoch, started = 0, time.monotonic()
    saved = started
    if path is not None and path.exists():
        epoch = _restore(path, runs, trainer, label)
        logger.info("%s: resumed after epoch %d", label, epoch)
    else:
        trainer.start(seeds)
    held = {seed: valid(seed) for seed in seeds}
    steps_left = (max_epochs - epoch) * batches_per_epoch
    ticks = iter(track(range(steps_left), total=steps_left, label=label, unit="steps"))
    while epoch < max_epochs and trainer.seeds:
        active = [run for run in runs if run.seed in trainer.seeds]
        train = trainer.train([batches(run.seed, epoch) for run in active], ticks, f"{label}: epoch {epoch}")
        found = trainer.validate([held[run.seed] for run in active], f"{label}: epoch {epoch}")
        for place, run in enumerate(active):
            values = {f"train.{name}": row[place] for name, row in train.items()}
            values |= {f"valid.{name}": row[place] for name, row in found.items()}
            improved = values["valid.total"] < lowest(run.history)
            if improved:
                run.best = trainer.weights(place)
            run.history.append({"epoch": float(epoch), **values, "best": float(improved)})
        trainer.keep([place for place, run in enumerate(active) if not exhausted(run.history, patience)])
        epoch += 1
        if path is not None and time.monotonic() - saved >= loop.SECONDS_BETWEEN_SAVES:
            _save(path, runs, trainer, label, epoch)
            saved = time.monotonic()
    if hasattr(ticks, "close"):
        ticks.close()
    if path is not None and time.monotonic() - started >= loop.SECONDS_BETWEEN_SAVES:
        # Others of the same job may be killed yet.
        _save(path, runs, trainer, label, epoch)
    for run in runs:
        least, told = lowest(run.history), f"{label}, seed {run.seed}"
        logger.info(
            "%s: best epoch %d of %d, validation total %.6g",
            told,
            best_epoch(run.history),
            len(run.history),
            least,
        )
        if not exhausted(run.history, patience):
            logger.warning("%s: stopped at the cap of %d epochs with patience left", told, max_epochs)
    return runs


class Trainer:
    """The stack at work: steps, validation, and leaving models behind that have stopped."""

    def __init__(
        self,
        build: Callable[[Sequence[int]], Stack],
        pairs: Callable[[Stack, Batches], Pairs],
        learning_rate: float,
    ) -> None:
        self.build, self.pairs, self.learning_rate = build, pairs, learning_rate
        self.seeds: list[int] = []

    def start(self, seeds: Sequence[int]) -> None:
        """Begin with the untrained models of these seeds."""
        self.seeds = list(seeds)
        self.stack = self.build(seeds)
        self.opponent, self.optimizer = self.stack.optimizers(self.learning_rate)

    def train(
        self, of_models: Sequence[list[Batches]], ticks: Iterator[Any], where: str
    ) -> dict[str, list[float]]:
        """One epoch; the mean over its steps of every term, for each model."""
        self.stack.objective.train()
        rows = []
        for batches in map(together, zip(*of_models, strict=True)):
            for number in range(len(batches)):
                values = self.step(batches[number])
                rows.append(torch.stack([value.detach() for value in values.values()]))
                next(ticks, None)
        if not rows:
            raise DataError(f"{where}: no batch to train on")
        steps = torch.stack(rows)
        self._check(steps, list(values), where)
        return _told(values, steps.double().mean(dim=0))

    def step(self, batch: Batches) -> dict[str, Tensor]:
        """One update of the opponents, if there are any, then one of the maps; the terms of each model."""
        pairs = self.pairs(self.stack, batch)
        values: dict[str, Tensor] = {}
        if self.opponent is not None:
            losses = [opponent.discriminate(pairs) for opponent in self.stack.objective.opponents()]
            values["discriminator"] = torch.stack(losses).sum(dim=0)
            _update(self.opponent, values["discriminator"])
        # The maps have not moved since: what they made of the batch still holds.
        values |= self.stack.objective(pairs)
        _update(self.optimizer, values["total"])
        return values

    @torch.no_grad()
    def validate(self, of_models: Sequence[list[Batches]], where: str) -> dict[str, list[float]]:
        """The mean over all validation pairs of every term, batches weighted by their pairs, for each model."""
        self.stack.objective.eval()
        rows, sizes = [], []
        for batches in map(together, zip(*of_models, strict=True)):
            for number in range(len(batches)):
                values = self.stack.objective(self.pairs(self.stack, batches[number]))
                rows.append(torch.stack(list(values.values())))
                sizes.append(batches.size)
        steps = torch.stack(rows)
        self._check(steps, list(values), f"{where}, validation")
        shares = torch.tensor(sizes, dtype=torch.float64, device=steps.device) / sum(sizes)
        return _told(values, (steps.double() * shares[:, None, None]).sum(dim=0))

    def weights(self, place: int) -> State:
        """The maps' weights of one model, as a decomposer of its own holds them."""
        state = self.stack.maps.state_dict()
        return {name: tensor[place].detach().to("cpu", copy=True) for name, tensor in state.items()}

    def keep(self, places: Sequence[int]) -> None:
        """Go on with the models at these places only."""
        if len(places) == len(self.seeds):
            return
        state = self.state()
        chosen = torch.tensor(places, dtype=torch.long)
        self.restore(
            {
                "seeds": [self.seeds[place] for place in places],
                "model": [tensor[chosen] for tensor in state["model"]],
                "moments": [
                    {name: value[chosen] if value.dim() else value for name, value in one.items()}
                    for one in state["moments"]
                ],
            }
        )

    def state(self) -> dict[str, Any]:
        """Everything that the next step depends on, on the CPU."""
        tensors = self.stack.tensors()
        moments = [self._optimizer_of(tensor).state[tensor] for tensor in tensors]
        return {
            "seeds": list(self.seeds),
            "model": [tensor.detach().cpu() for tensor in tensors],
            "moments": [{name: value.cpu() for name, value in one.items()} for one in moments],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        self.seeds = list(state["seeds"])
        if not self.seeds:
            return
        self.start(self.seeds)
        for tensor, value, moments in zip(
            self.stack.tensors(), state["model"], state["moments"], strict=True
        ):
            tensor.data.copy_(value)
            # A fused Adam keeps its step count beside the parameters.
            self._optimizer_of(tensor).state[tensor] = {
                name: moment.to(tensor.device).clone() for name, moment in moments.items()
            }

    def _optimizer_of(self, tensor: nn.Parameter) -> Adam:
        if self.opponent is not None and any(
            tensor is one for one in self.opponent.param_groups[0]["params"]
        ):
            return self.opponent
        return self.optimizer

    def _check(self, steps: Tensor, names: Sequence[str], where: str) -> None:
        """Refuse values (steps, terms, models) that are not finite; the weights they led to are never saved."""
        if bool(torch.isfinite(steps).all()):
            return
        step, _, model = (~torch.isfinite(steps)).nonzero()[0].tolist()
        told = ", ".join(
            f"{name}={value:g}" for name, value in zip(names, steps[step, :, model].tolist(), strict=True)
        )
        raise DataError(f"{where}, step {step}, seed {self.seeds[model]}: a value is not finite ({told})")


def _update(optimizer: Adam, losses: Tensor) -> None:
    """One step; the models' losses are summed, as none depends on another's parameters."""
    optimizer.zero_grad(set_to_none=True)
    losses.sum().backward()
    optimizer.step()


def _told(values: dict[str, Tensor], means: Tensor) -> dict[str, list[float]]:
    return dict(zip(values, means.tolist(), strict=True))


def _save(path: Path, runs: Sequence[Run], trainer: Trainer, label: str, epoch: int) -> None:
    told = [{"seed": run.seed, "history": run.history, "best": run.best} for run in runs]
    checkpoints.save(path, {"label": label, "epoch": epoch, "runs": told, "trainer": trainer.state()})


def _restore(path: Path, runs: Sequence[Run], trainer: Trainer, label: str) -> int:
    """The epoch to go on with."""
    state = checkpoints.load(path)
    seeds = [one["seed"] for one in state["runs"]]
    if (state["label"], seeds) != (label, [run.seed for run in runs]):
        raise DataError(f"checkpoint {path}: of {state['label']} with seeds {seeds}, not of this training")
    for run, one in zip(runs, state["runs"], strict=True):
        run.history, run.best = one["history"], one["best"]
    trainer.restore(state["trainer"])
    return int(state["epoch"])
