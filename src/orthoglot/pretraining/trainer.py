"""What every pretraining shares: where it runs, a number of steps under a schedule, and its history on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor, nn
from torch.optim import Optimizer

from orthoglot.pretraining.schedule import Shape, scheduler
from orthoglot.training.curves import Curves
from orthoglot.training.distributed import rank
from orthoglot.training.loop import History, Keep, Update, fit


@dataclass(frozen=True)
class Place:
    """Where a training runs and leaves things; nothing of it changes what is computed on one kind of device.

    Attributes:
        device: as `resolve_device` reads it.
        checkpoint: folder for all from which an interrupted training goes on.
        curves: folder for the curves of `tools`.
        tools: names in `orthoglot.training.curves.TOOLS`.
    """

    device: str
    checkpoint: Path
    curves: Path | None = None
    tools: tuple[str, ...] = ()

    def open_curves(self) -> Curves | None:
        """Begin the curves' files, in the first of several processes, if any tool is asked for."""
        return Curves(self.curves, self.tools) if self.curves and self.tools and rank() == 0 else None


class Recipe(Protocol):
    """The settings that `train_steps` reads: steps in all, steps between validations, steps of warm-up."""

    @property
    def steps(self) -> int: ...  # noqa: D102 - told above
    @property
    def validate_every(self) -> int: ...  # noqa: D102
    @property
    def warmup_steps(self) -> int: ...  # noqa: D102


def train_steps(
    recipe: Recipe,
    name: str,
    model: nn.Module,
    optimizer: Optimizer,
    *,
    schedule: Shape,
    loss: Callable[[Any], dict[str, Tensor]],
    batches: Callable[[int, int], Iterable[Any]],
    validate: Callable[[], dict[str, float]],
    place: Place,
    seed: int,
    settings: str,
    keep: Keep = "best",
    watch: Callable[[History], None] | None = None,
) -> History:
    """Train for the recipe's steps; arguments and value as `fit`."""
    rates = scheduler(optimizer, warmup=recipe.warmup_steps, steps=recipe.steps, shape=schedule)
    return fit(
        model=model,
        updates=[Update("training", loss, optimizer, scheduler=rates)],
        batches=batches,
        validate=validate,
        max_epochs=-(-recipe.steps // recipe.validate_every),
        patience=None,
        seed=seed,
        label=name,
        checkpoint=place.checkpoint,
        batches_per_epoch=recipe.validate_every,
        settings=settings,
        curves=place.open_curves(),
        keep=keep,
        watch=watch,
    )


def write_history(rows: Sequence[Mapping[str, float]], output: Path) -> None:
    """Write history.jsonl into an encoder's folder: one line of JSON for each epoch."""
    text = "".join(json.dumps(dict(row), sort_keys=True) + "\n" for row in rows)
    (output / "history.jsonl").write_text(text, encoding="utf-8")
