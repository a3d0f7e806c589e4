"""Train decomposers on stored vectors: which pairs, which maps, which files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Adam

from orthoglot.decomposers import architecture
from orthoglot.decomposers.architectures.plda import Prior
from orthoglot.decomposers.base import ClosedForm, Decomposer, Trained
from orthoglot.decomposers.cross_validation import Block
from orthoglot.decomposers.modules import Maps
from orthoglot.decomposers.moments import Moments
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.out_of_memory import within_memory
from orthoglot.errors import ConfigError
from orthoglot.objectives import check_method
from orthoglot.objectives.base import Objective, Pairs
from orthoglot.random_streams import Draws, stream
from orthoglot.training.batching import Batch, PairRows, make_batches
from orthoglot.training.closed_form_fit import described, fit_closed_form, save
from orthoglot.training.compiled import PAYS_FROM, compiled
from orthoglot.training.endings import Ending, ending, summary, warnings
from orthoglot.training.gathering import fits, inputs
from orthoglot.training.loop import fit
from orthoglot.training.settings import DecompositionSettings, MethodSettings
from orthoglot.training.step import Update
from orthoglot.training.stopping import CRITERIA, Retrieval, check_stopping, without_opponents
from orthoglot.training.stored_pairs import blocks, stored
from orthoglot.training.training_state import History, write_history

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Data:
    """Vectors of all language pairs pooled."""

    vectors: Tensor  # (N, D) float32
    languages: list[str]  # K codes, sorted; a language id is a position in this list
    train: PairRows  # rows of `vectors`, on the CPU
    valid: PairRows  # likewise
    text: str = ""  # digest of the sentences of these pairs, in their order; empty if they are unknown


def write(
    decomposer: Decomposer, history: History, store: EmbeddingStore, output: Path, code: str = ""
) -> None:
    """Write what was fitted to a store's vectors into an existing folder.

    That is decomposer.json, weights.safetensors and, of a trained method, history.jsonl. The digest of the code that
    fitted it, if it is given, is part of the record.
    """
    save(decomposer, store, output, code)
    if history:
        write_history(history, output)


def log_endings(
    method: MethodSettings, recipe: DecompositionSettings, name: str, endings: Sequence[Ending]
) -> None:
    """One line on the best and last epochs of all seeds of a trained method, and a warning for each doubt."""
    recipe = method.recipe(recipe)
    logger.info("%s: %s", name, summary(endings, recipe.max_epochs, recipe.stopping))
    for warning in warnings(endings):
        logger.warning("%s: %s", name, warning)


def fit_decomposer(
    method: MethodSettings,
    recipe: DecompositionSettings | None,
    name: str,
    data: Data,
    *,
    seed: int,
    device: torch.device,
    checkpoint: Path | None,
    prior: Prior | None = None,
) -> tuple[Decomposer, History]:
    """A trained method with its history, or a closed form with none; the encoder stays unnamed.

    Args:
        method: Architecture, partner rule and weighted terms.
        recipe: How to train, where the method itself does not say; None for a closed form.
        name: The method's name, for the record.
        seed: Of initial weights, order and partners.
        checkpoint: Folder for the resume file, or None for no file.
        prior: What a closed form starts from (`orthoglot.decomposers.closed_forms.compute`); None for nothing.
    Raises:
        ConfigError: The method cannot be fitted, its terms or rule are wrong, or a trained method has no recipe.
        DataError: A loss is not finite.
    """
    if method.architecture == "original":
        raise ConfigError(f"method {name}: the architecture 'original' has nothing to train")
    check_method(method.architecture, method.partners, method.terms)
    if isinstance(architecture(method.architecture), ClosedForm):
        details = described(method, seed, len(data.train), len(data.valid), data.text)
        pairs = translations(data, data.train)
        dim = data.vectors.shape[1]
        return fit_closed_form(method, name, pairs, data.languages, dim, details, prior), []
    if recipe is None:
        raise ConfigError(f"method {name}: a trained method needs a recipe")
    centre, centred = subtract(data, method.centre)
    weights, history = train(method, recipe, name, centred, seed=seed, device=device, checkpoint=checkpoint)
    return finished(method, recipe, name, centred, seed, weights, centre, history), history


def finished(
    method: MethodSettings,
    recipe: DecompositionSettings,
    name: str,
    data: Data,
    seed: int,
    weights: dict[str, np.ndarray],
    centre: dict[str, np.ndarray],
    history: History,
) -> Decomposer:
    """The decomposer of a training: weights and history of `train`, data and centre of `subtract`."""
    form, recipe = architecture(method.architecture), method.recipe(recipe)
    assert isinstance(form, Trained)
    if form.finish is not None:
        pairs = translations(data, data.train)
        weights = weights | form.finish(weights, pairs, data.languages, **method.own_settings)
    details = described(method, seed, len(data.train), len(data.valid), data.text)
    details |= method.own_settings | ending(history, recipe.patience)
    details |= recipe.model_dump(include={"learning_rate", "max_epochs", "stopping"})
    if method.centre:
        details["centre"] = method.centre
    dim = data.vectors.shape[1]
    return Decomposer(method.architecture, name, "", "", data.languages, dim, weights | centre, details)


def collect(store: EmbeddingStore, bitext: Sequence[Path], train_pairs: int) -> Data:
    """The train and valid pairs of all folders, pooled, with only the vectors that they need.

    Args:
        store: A vector of every sentence.
        bitext: Prepared language pairs; only their train and valid splits are read.
        train_pairs: Training pairs of each language pair that are used, the first ones.
    Raises:
        DataError: A split is empty, or a sentence has no vector.
    """
    data = stored(store, bitext, train_pairs)
    train, valid = (PairRows(*torch.from_numpy(table)) for table in (data.train, data.valid))
    return Data(torch.from_numpy(data.vectors), data.languages, train, valid, data.text)


def translations(data: Data, pairs: PairRows, size: int = 10_000) -> Iterator[Block]:
    """Pairs of the data, as often as they occur, in blocks of one pair of languages and at most `size` rows."""
    table = torch.stack([pairs.source, pairs.target, pairs.source_language, pairs.target_language])
    return blocks(data.vectors.numpy(), data.languages, table.numpy(), size)


def subtract(
    data: Data, centre: Literal["none", "overall", "language"] | None
) -> tuple[dict[str, np.ndarray], Data]:
    """The data less the mean of the training vectors, each as often as it occurs.

    Every vector is of one language. A language without a training sentence is a DataError.

    Args:
        centre: The mean over all languages, or over the vector's own, or nothing.
    Returns:
        {"centre": the mean, (D,) or (K, D)}, empty for nothing; and the data.
    Source: docs/papers.md#centre.
    """
    if centre in (None, "none"):
        return {}, data
    moments = Moments(data.vectors.shape[1], data.languages, products=False)
    for source, target, (first, second) in translations(data, data.train):
        moments.update(source, first)
        moments.update(target, second)
    means = moments.means()
    if centre == "overall":
        mean = (moments.counts @ means / moments.counts.sum()).astype(np.float32)
        return {"centre": mean}, replace(data, vectors=data.vectors - torch.from_numpy(mean))
    mean = means.astype(np.float32)
    vectors = data.vectors.clone()
    for pairs in (data.train, data.valid):
        for rows, ids in ((pairs.source, pairs.source_language), (pairs.target, pairs.target_language)):
            vectors[rows] = data.vectors[rows] - torch.from_numpy(mean)[ids]
    return {"centre": mean}, replace(data, vectors=vectors)


class Training:
    """A method with one seed: its maps and losses, its batches, and what decides its best epoch.

    The initial weights depend on seed and architecture alone, so methods of one seed start alike.
    """

    def __init__(
        self,
        method: MethodSettings,
        recipe: DecompositionSettings,
        name: str,
        seed: int,
        data: Data,
        device: torch.device,
    ) -> None:
        """`data` are where `at_home` puts them; maps and losses are on the device."""
        self.method, self.recipe = method, method.recipe(recipe)
        self.seed, self.label = seed, f"{name}, seed {seed}"
        check_stopping(method, self.recipe.stopping)
        self.criterion = CRITERIA[self.recipe.stopping]
        self._data = data
        dim, dtype = data.vectors.shape[1], data.vectors.dtype
        self.maps = Maps(method.architecture, dim, stream(seed, "maps"), **method.own_settings)
        self.maps.to(device, dtype)
        generator = stream(seed, "heads")
        self.objective = Objective(
            method.terms, dim=dim, n_languages=len(data.languages), generator=generator
        )
        self.objective.to(device, dtype)
        # No epoch here: totals can be compared only if the validation partners stay the same (docs/papers.md#seed).
        self.held_out = self.batches("valid")
        self._retrieval = None
        if self.recipe.stopping == "retrieval":
            self._retrieval = Retrieval(data.valid, data.train)

    def batches(self, split: Literal["train", "valid"], *epoch: int) -> list[Batch]:
        """The batches of an epoch, or those of validation."""
        return make_batches(
            self._data.train if split == "train" else self._data.valid,
            self.method.partners,
            batch_size=self.recipe.batch_size,
            drop_last=split == "train",
            order=Draws(self.seed, "order", split, *epoch),
            partners=Draws(self.seed, "partners", split, *epoch),
        )

    def batch_of(self, size: int) -> Batch:
        """A batch of the first training pairs, to try out its size."""
        first, draws = self._data.train.take(slice(0, size)), Draws(self.seed)
        (batch,) = make_batches(
            first, self.method.partners, batch_size=size, drop_last=False, order=draws, partners=draws
        )
        return batch

    def decided(self, means: dict[str, float]) -> dict[str, float]:
        """The mean of every term over all validation pairs, and what decides, if that is something else."""
        if self._retrieval is not None:
            means["retrieval"] = self._retrieval.score(self.maps, self._data.vectors)
        elif self.recipe.stopping == "without-opponents":
            means["without_opponents"] = without_opponents(means, self.method.terms)
        return means

    def weights(self) -> dict[str, np.ndarray]:
        """The maps' weights by name."""
        return {name: tensor.cpu().numpy() for name, tensor in self.maps.state_dict().items()}


def train(
    method: MethodSettings,
    recipe: DecompositionSettings,
    name: str,
    data: Data,
    *,
    seed: int,
    device: torch.device,
    checkpoint: Path | None,
) -> tuple[dict[str, np.ndarray], History]:
    """Fit the method's maps to the training pairs, stopping early on the validation pairs.

    A batch that does not fit into the device's memory is a DataError.

    Returns:
        The maps' weights by name at the best epoch, and the history.
    """
    data = at_home(data, device, name)
    training = Training(method, recipe, name, seed, data, device)
    recipe, label, maps, objective = training.recipe, training.label, training.maps, training.objective
    prepare = partial(pairs_of, maps, len(data.languages))

    def pairs(batch: Batch) -> Pairs:
        return prepare(*inputs(data.vectors, batch, device))

    def validate() -> dict[str, float]:
        values = [objective(pairs(batch)) for batch in training.held_out]
        (means,) = means_of(values, training.held_out)
        return training.decided(means)

    def attempt(size: int) -> None:
        objective(pairs(training.batch_of(size)))["total"].backward()

    steps = updates(maps, objective, recipe.learning_rate)
    # Neither a checkpoint nor an early end changes the choice, so that a resumed training repeats it.
    epochs = min(recipe.max_epochs, recipe.patience + 1)
    if device.type == "cpu" and 2 * epochs * len(data.train) * data.vectors.shape[1] >= PAYS_FROM:
        steps[-1].loss = compiled(objective, pairs(training.batches("train", 0)[0]), label)

    fit_maps = partial(
        fit,
        model=nn.ModuleList([maps, objective]),
        updates=steps,
        # The maps do not move between a discriminator's update and theirs, so both use the same parts.
        batches=lambda epoch, first: (
            inputs(data.vectors, batch, device) for batch in training.batches("train", epoch)[first:]
        ),
        prepare=prepare,
        validate=validate,
        max_epochs=recipe.max_epochs,
        patience=recipe.patience,
        criterion=training.criterion,
        seed=seed,
        label=label,
        checkpoint=checkpoint,
        batches_per_epoch=max(1, len(data.train) // recipe.batch_size),
    )
    size = recipe.batch_size
    history = within_memory(fit_maps, where=label, setting="batch_size", size=size, attempt=attempt)
    return training.weights(), history


def at_home(data: Data, device: torch.device, name: str) -> Data:
    """The data on the device, or on the CPU if its memory has no place for the vectors; `name` is for the log."""
    home = device if fits(data.vectors, device) else torch.device("cpu")
    if home != device:
        logger.info("%s: the vectors exceed the device's memory and are read from the host's", name)
    train, valid = (pairs.map(lambda rows: rows.to(home)) for pairs in (data.train, data.valid))
    return replace(data, vectors=data.vectors.to(home), train=train, valid=valid)


def pairs_of(
    maps: nn.Module,
    k: int,
    sentence: Tensor,
    language_id: Tensor,
    other: Tensor,
    peer: Tensor,
    active: Tensor,
) -> Pairs:
    """Both sides of a batch, decomposed; the tensors are those of `inputs`, with ids of K languages."""
    return Pairs(maps(sentence), language_id, other, peer, active, k)


def means_of(values: Sequence[Mapping[str, Tensor]], batches: Sequence[Batch]) -> list[dict[str, float]]:
    """The mean of every term over the pairs of all batches; one dict for each training.

    Args:
        values: Means of each batch, scalars or of G trainings (G,).
        batches: These batches, of one training.
    """
    sizes = torch.tensor([len(batch.active) for batch in batches], dtype=torch.float64)
    table = torch.stack([torch.stack(list(terms.values())) for terms in values]).double().cpu()
    columns = table.view(*table.shape[:2], -1).unbind(2)
    means = [(sizes @ column / sizes.sum()).tolist() for column in columns]
    return [dict(zip(values[0], numbers, strict=True)) for numbers in means]


def updates(maps: Maps, objective: Objective, learning_rate: float) -> list[Update]:
    """The update of the maps and their heads; before it that of the discriminators, if there are any."""
    changed = parameters(maps, objective)
    return [
        Update(name, loss, adam([{"params": changed[name], "lr": learning_rate}]))
        for name, loss in losses(objective).items()
    ]


def losses(objective: Objective) -> dict[str, Callable[[Pairs], dict[str, Tensor]]]:
    """What each update lowers, by its name, in their order."""
    adversaries = objective.adversaries()

    def discriminate(batch: Pairs) -> dict[str, Tensor]:
        loss = torch.stack([adversary.discriminate(batch) for adversary in adversaries]).sum(dim=0)
        return {"discriminator": loss, "total": loss}

    return {"discriminator": discriminate, "maps": objective} if adversaries else {"maps": objective}


def parameters(maps: Maps, objective: Objective) -> dict[str, list[nn.Parameter]]:
    """What each update changes, by its name; there may be no discriminators."""
    theirs = [parameter for adversary in objective.adversaries() for parameter in adversary.parameters()]
    return {"discriminator": theirs, "maps": [*maps.parameters(), *objective.heads()]}


def adam(groups: list[dict[str, Any]]) -> Adam:
    """The optimiser of groups of parameters on one device, each with its rate; see `torch.optim`."""
    # A graph of a step needs `capturable`.
    return Adam(groups, fused=True, capturable=groups[0]["params"][0].is_cuda)
