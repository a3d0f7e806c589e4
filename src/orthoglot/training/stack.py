"""Decomposers trained together: their steps are one batched product; data, patience and best epoch are each training's.

A training of a stack equals the same training alone within rounding. Once it has ended, its weights stay as they are,
and the others go on without it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from orthoglot.decomposers import architecture
from orthoglot.decomposers.base import Decomposer, Trained
from orthoglot.decomposers.modules import StackedMaps
from orthoglot.encoders.out_of_memory import within_memory
from orthoglot.objectives import check_method
from orthoglot.objectives.base import Pairs, StackedObjective
from orthoglot.progress import Meter
from orthoglot.training.batching import Batch, joined
from orthoglot.training.checkpoint import snapshot
from orthoglot.training.decompose import (
    Data,
    Training,
    adam,
    at_home,
    finished,
    fit_decomposer,
    losses,
    means_of,
    pairs_of,
    parameters,
    subtract,
)
from orthoglot.training.gathering import inputs
from orthoglot.training.loop import FILE, WINDOW, Saves, Terms, log_end, restore, state_of
from orthoglot.training.repeatable import repeatable
from orthoglot.training.settings import DecompositionSettings, MethodSettings
from orthoglot.training.step import Graph, Update, Values, take
from orthoglot.training.training_state import History, Progress, out_of_patience, refuse_infinite

logger = logging.getLogger(__name__)


class Entry(NamedTuple):
    """One training of a stack."""

    method: MethodSettings
    recipe: DecompositionSettings  # of the preset; what the method itself says comes first
    name: str  # of the method
    seed: int


def pays(method: MethodSettings, device: torch.device, trainings: int) -> bool:
    """Whether so many trainings of a method are stacked: on a GPU, several, whose maps are (D, D) with a bias.

    On a CPU they are not faster together (measurements/speed-of-training/README.md).
    """
    form = architecture(method.architecture)
    return device.type == "cuda" and trainings > 1 and isinstance(form, Trained) and form.modules is None


def fits(
    entries: Sequence[Entry], data: Data, *, device: torch.device, checkpoint: Path
) -> Iterator[tuple[Decomposer, History]]:
    """Fit every entry: as one stack where it pays, else one after the other; see `fit_stack`."""
    if pays(entries[0].method, device, len(entries)):
        yield from fit_stack(entries, data, device=device, checkpoint=checkpoint)
        return
    for method, recipe, name, seed in entries:
        place = checkpoint / name / f"seed{seed}"
        yield fit_decomposer(method, recipe, name, data, seed=seed, device=device, checkpoint=place)


def fit_stack(
    entries: Sequence[Entry], data: Data, *, device: torch.device, checkpoint: Path | None
) -> list[tuple[Decomposer, History]]:
    """Fit every entry as `orthoglot.training.decompose.fit_decomposer` does, whose errors these are.

    Arguments are those of `train_stack`, but the data are not centred; all methods have one `centre`.
    """
    for entry in entries:
        check_method(entry.method.architecture, entry.method.partners, entry.method.terms)
    centre, centred = subtract(data, entries[0].method.centre)
    trainings = train_stack(entries, centred, device=device, checkpoint=checkpoint)
    return [
        (finished(method, recipe, name, centred, seed, weights, centre, history), history)
        for (method, recipe, name, seed), (weights, history) in zip(entries, trainings, strict=True)
    ]


def train_stack(
    entries: Sequence[Entry], data: Data, *, device: torch.device, checkpoint: Path | None
) -> list[tuple[dict[str, np.ndarray], History]]:
    """Do what `orthoglot.training.decompose.train` does, for all entries in the same steps.

    Args:
        entries: They have one architecture and batch size, and no two have the same name and seed. A term of one is
            computed for all.
        data: Centred, if the methods ask for it.
        device: The same stack gives the same bits again. With other entries the others' bits change.
        checkpoint: Folder for the resume file of the stack, or None for no file.
    Returns:
        The maps' weights by name at the best epoch and the history, of each entry.
    """
    stack = _Stack(entries, at_home(data, device, entries[0].name), device)
    fit = partial(stack.fit, checkpoint)
    size = entries[0].recipe.batch_size
    where = f"{stack.label}: {len(entries)} trainings at once, of which fewer need less memory"
    within_memory(fit, where=where, setting="batch_size", size=size, attempt=stack.attempt)
    return [(member.training.weights(), member.progress.history) for member in stack.members]


@dataclass
class _Member:
    """A training of a stack, and how far it has come."""

    training: Training
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        self.model = nn.ModuleList([self.training.maps, self.training.objective])
        self.best = snapshot(self.model)
        self.changed = parameters(self.training.maps, self.training.objective)

    @property
    def goes_on(self) -> bool:
        history, recipe = self.progress.history, self.training.recipe
        return len(history) < recipe.max_epochs and not out_of_patience(history, recipe.patience)

    @property
    def place(self) -> str:
        """For messages."""
        return f"{self.training.label}: epoch {len(self.progress.history)}"

    def of_its_terms(self, values: Mapping[str, float]) -> dict[str, float]:
        """The values without those of terms that only others of the stack have."""
        names = {*self.training.method.terms, "total", *(name for name in self.changed if self.changed[name])}
        return {name: value for name, value in values.items() if name in names}

    def end_epoch(self, means: Mapping[str, float]) -> None:
        """Add an epoch with its means over the validation pairs to the history, and keep it if it is the best."""
        values = self.training.decided(self.of_its_terms(means))
        refuse_infinite(f"{self.place}, validation", values)
        valid = {f"valid.{name}": value for name, value in values.items()}
        improved = self.training.criterion.improves(valid, self.progress.history)
        if improved:
            self.best = snapshot(self.model)
        self.progress.sums = self.of_its_terms(self.progress.sums)
        self.progress.end_epoch(valid, improved)

    def end(self) -> None:
        """Go back to the best epoch."""
        self.model.load_state_dict(self.best)
        recipe, criterion = self.training.recipe, self.training.criterion
        history = self.progress.history
        log_end(self.training.label, history, criterion, recipe.max_epochs, recipe.patience)


class _Stack:
    """All trainings of a stack, with their optimisers."""

    def __init__(self, entries: Sequence[Entry], data: Data, device: torch.device) -> None:
        self.data, self.device = data, device
        self.members = [
            _Member(Training(entry.method, entry.recipe, entry.name, entry.seed, data, device))
            for entry in entries
        ]
        self.model = nn.ModuleList(member.model for member in self.members)
        names = dict.fromkeys(entry.name for entry in entries)
        seeds = dict.fromkeys(str(entry.seed) for entry in entries)
        self.label = f"{', '.join(names)}, seeds {', '.join(seeds)}"
        objective = StackedObjective([member.training.objective for member in self.members], device)
        # A training that has ended gets no gradients any more, so that a step leaves its group as it is.
        self.updates = [
            Update(name, loss, adam(self.groups(name))) for name, loss in losses(objective).items()
        ]

    def groups(self, update: str) -> list[dict[str, Any]]:
        """What an update changes, a group with its learning rate for each training that has it."""
        return [
            {"params": member.changed[update], "lr": member.training.recipe.learning_rate}
            for member in self.members
            if member.changed[update]
        ]

    def fit(self, checkpoint: Path | None) -> None:
        """Train until every training has ended; leave each in the state of its best epoch."""
        saves = self.resumed(None if checkpoint is None else checkpoint / FILE)
        epochs = max(member.training.recipe.max_epochs for member in self.members)
        steps = epochs * max(1, len(self.data.train) // self.members[0].training.recipe.batch_size)
        done = max(member.progress.done for member in self.members)
        with repeatable(self.model), Meter(total=steps - done, label=self.label, unit="steps") as meter:
            while live := [member for member in self.members if member.goes_on]:
                joint = _Joint(self, live)
                while all(member.goes_on for member in live):
                    joint.train(saves, meter)
                    joint.validate()
                    if saves.due():
                        saves.now()
        for member in self.members:
            member.end()

    def resumed(self, path: Path | None) -> Saves:
        """Take up what the checkpoint holds, if there is one; what writes the next ones."""
        seeds = [member.training.seed for member in self.members]
        identity = {"label": self.label, "seed": seeds, "settings": ""}
        if path is not None and path.exists():
            progress, best = restore(path, self.model, self.updates, identity)
            for member, its_progress, its_best in zip(self.members, progress, best, strict=True):
                member.progress, member.best = Progress(**its_progress), its_best
            logger.info("%s: resumed", self.label)

        def state() -> dict[str, Any]:
            progress = [vars(member.progress) for member in self.members]
            best = [member.best for member in self.members]
            return state_of(self.model, self.updates, identity, progress, best)

        return Saves(path, state)

    def attempt(self, size: int) -> None:
        """The loss and its gradient with batches of another size."""
        joint = _Joint(self, self.members)
        pairs = joint.pairs([member.training.batch_of(size) for member in self.members])
        joint.objective(pairs)["total"].sum().backward()


class _Joint:
    """The members of a stack that go on, as one model."""

    def __init__(self, stack: _Stack, members: Sequence[_Member]) -> None:
        self.stack, self.members = stack, members
        self.objective = StackedObjective([member.training.objective for member in members], stack.device)
        maps = StackedMaps([member.training.maps for member in members])
        self.prepare = partial(pairs_of, maps, len(stack.data.languages))
        loss = losses(self.objective)
        self.updates = [
            replace(update, loss=loss[update.name]) for update in stack.updates if update.name in loss
        ]
        self.graph = Graph(self.updates, self.prepare) if stack.device.type == "cuda" else None

    def inputs(self, batches: Sequence[Batch]) -> tuple[Tensor, ...]:
        """The tensors of one batch of each member."""
        return inputs(self.stack.data.vectors, joined(batches), self.stack.device)

    def pairs(self, batches: Sequence[Batch]) -> Pairs:
        """One batch of each member, decomposed by its maps."""
        return self.prepare(*self.inputs(batches))

    def step(self, batches: Sequence[Batch]) -> Iterable[tuple[Update, Values]]:
        """All updates on one batch of each member; the values are (G,)."""
        if self.graph is not None:
            return self.graph(self.inputs(batches))
        return take(self.updates, self.pairs(batches))

    def train(self, saves: Saves, meter: Meter) -> None:
        """The rest of an epoch."""
        progress = self.members[0].progress
        epoch, first = len(progress.history), progress.step
        terms = Terms(self.stack.model, {member.place: member.progress for member in self.members})
        drawn = [member.training.batches("train", epoch)[first:] for member in self.members]
        for batches in zip(*drawn, strict=True):
            for update, values in self.step(batches):
                terms.add(update.name, values, last=update is self.updates[-1])
            for member in self.members:
                member.progress.step += 1
                member.progress.done += 1
            meter.add()
            if progress.done % WINDOW == 0:
                terms.read()
            if saves.due():
                terms.read()
                saves.now()
        terms.read()

    def validate(self) -> None:
        """End the epoch of every member."""
        held_out = [member.training.held_out for member in self.members]
        with torch.no_grad():
            values = [self.objective(self.pairs(batches)) for batches in zip(*held_out, strict=True)]
        for member, means in zip(self.members, means_of(values, held_out[0]), strict=True):
            member.end_epoch(means)
