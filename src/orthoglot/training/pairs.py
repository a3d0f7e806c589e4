"""Train a network on pairs of sentences: what EMS and distillation share."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from orthoglot.corpora.prepare import told
from orthoglot.encoders.settings import PretrainingSettings
from orthoglot.streams import derive
from orthoglot.training.bitext import Bitext, tokenised
from orthoglot.training.curves import Curves
from orthoglot.training.loop import Update, fit
from orthoglot.training.ranks import processes, rank, shared, wait
from orthoglot.training.sampling import Plan
from orthoglot.training.schedule import scheduler
from orthoglot.training.students import Student, student_of

RETRIEVAL_ROWS = 1000
logger = logging.getLogger(__name__)


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


class Pupil(nn.Module):
    """A student with an objective; calling it with a step gives {term: scalar, ..., "total": scalar}."""

    def terms(self, step: Any) -> tuple[dict[str, Tensor], Tensor]:
        """Terms of a step of B pairs by this process alone, and the vectors (2B, D) they are of."""
        raise NotImplementedError


def products(settings: PretrainingSettings) -> torch.dtype | None:
    """The dtype of matrix products, None for float32."""
    return torch.bfloat16 if settings.precision == "bfloat16" else None


def reduced(dtype: torch.dtype | None, device: torch.device) -> Any:
    """Let PyTorch choose which operations work in `dtype`; with None, all in float32."""
    return nullcontext() if dtype is None else torch.autocast(device.type, dtype=dtype)


def prepared(
    settings: PretrainingSettings, bitext: Sequence[Path], start: Path | None, place: Place
) -> Student:
    """The student; of several processes the first makes what lies on disk, and the others wait."""
    for turn in (0, 1):
        if min(rank(), 1) == turn:
            weights = derive(settings.seed, "weights")
            student = student_of(settings.network, bitext, start, place.checkpoint, weights)
        wait()
    return student


def corpus(student: Student, bitext: Sequence[Path], place: Place) -> tuple[Bitext, Bitext]:
    """Tokenised training and validation pairs; of several processes the first writes them."""
    store = place.checkpoint / "tokens"
    for turn in (0, 1):
        if min(rank(), 1) == turn:
            train = tokenised(bitext, "train", student.tokenise, store)
            valid = tokenised(bitext, "valid", student.tokenise, store)
        wait()
    return train, valid


def tell(
    settings: PretrainingSettings,
    name: str,
    train: Bitext,
    valid: Bitext,
    student: Student,
    device: torch.device,
) -> None:
    """Say in the log what is trained on what."""
    logger.info(
        "%s: %d pairs, %d for validation, %d languages, %d pieces, on %s, seed %d",
        *(name, len(train), len(valid), len(np.unique(train.languages)), student.vocabulary),
        *(device, settings.seed),
    )


def facts(settings: PretrainingSettings, bitext: Sequence[Path]) -> dict[str, Any]:
    """What a model card says of the training."""
    recipe = settings.model_dump(include={"kind", "steps", "seed"})
    pairs = settings.batch_size * settings.processes
    return {
        "text": {folder.name: told(folder) for folder in bitext},
        **recipe,
        "pairs": pairs,
        **settings.origins,
    }


def validation(settings: PretrainingSettings, valid: Bitext) -> list[np.ndarray]:
    """The rows of every validation step, the same each time."""
    order = np.random.default_rng(derive(settings.seed, "validation")).permutation(len(valid))
    return np.array_split(order, -(-len(valid) // settings.compared))


def train_on_pairs(
    settings: PretrainingSettings,
    name: str,
    network: Pupil,
    train: Bitext,
    *,
    step: Callable[[np.ndarray, int], Any],
    validate: Callable[[], dict[str, float]],
    place: Place,
) -> list[dict[str, float]]:
    """Drive `network`, which turns a step into terms, over pairs drawn at random.

    Args:
        settings: the recipe.
        name: told in messages.
        network: turns a step into terms.
        train: what rows are drawn from.
        step: (rows of this process, number of the step) -> what the network takes.
        validate: as `fit` takes it.
        place: checkpoint and curves.
    Returns:
        As `fit`.
    """
    plan = Plan(
        sizes=train.sizes,
        batch_size=settings.batch_size * processes(),
        steps=settings.steps,
        steps_per_epoch=settings.validate_every,
        temperature=settings.sampling_temperature,
        seed=settings.seed,
    )
    optimizer = torch.optim.Adam(
        network.parameters(),
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        amsgrad=settings.amsgrad,
        fused=True,
    )
    rates = scheduler(optimizer, warmup=settings.warmup_steps, steps=settings.steps, shape=settings.schedule)

    def batches(epoch: int, first: int) -> Iterator[Any]:
        for number, rows in enumerate(plan.steps_at_random(epoch)[first:], start=first):
            size = len(rows) // processes()
            own = rows[rank() * size : (rank() + 1) * size]
            yield step(own, epoch * settings.validate_every + number)

    averaged = shared(network)
    return fit(
        model=network,
        updates=[Update("training", averaged, optimizer, scheduler=rates)],
        batches=batches,
        validate=validate,
        max_epochs=plan.epochs,
        patience=None,
        seed=settings.seed,
        label=name,
        checkpoint=place.checkpoint,
        batches_per_epoch=settings.validate_every,
        settings=settings.model_dump_json(),
        curves=place.open_curves(),
    )


def validate(
    network: Pupil, steps: Iterable[tuple[np.ndarray, Any]], sizes: Sequence[int], *, dropout: bool = False
) -> dict[str, float]:
    """Terms averaged over rows, and `retrieval`.

    Retrieval is P@1 in percent, higher is better: mean over language pairs and directions, each pair's first
    1,000 rows as candidates, cosine.

    Args:
        network: in eval mode.
        steps: rows of the validation pairs, and the step that they make.
        sizes: rows of each language pair.
        dropout: leave it on, as the authors' code does.
    """
    network.train(dropout)
    sums: dict[str, float] = {}
    vectors: Tensor | None = None
    for rows, step in steps:
        terms, found = network.terms(step)
        if vectors is None:
            vectors = torch.empty(2, sum(sizes), found.shape[1])
        vectors[:, torch.from_numpy(rows)] = found.float().cpu().view(2, len(rows), -1)
        for term, value in terms.items():
            sums[term] = sums.get(term, 0.0) + float(value) * len(rows)
    assert vectors is not None, "no validation step"
    means = {term: value / sum(sizes) for term, value in sums.items()}
    return {**means, "retrieval": retrieval(vectors, sizes)}


def retrieval(vectors: Tensor, sizes: Sequence[int]) -> float:
    """P@1 in percent over the vectors (2, N, D) of language pairs of these sizes, both directions."""
    found = []
    for source, target in zip(*(side.split(list(sizes)) for side in vectors), strict=True):
        if not len(source):
            continue
        a, b = (nn.functional.normalize(side[:RETRIEVAL_ROWS], dim=1) for side in (source, target))
        similarity = a @ b.T
        rows = torch.arange(len(similarity))
        found += [(similarity.argmax(dim=dim) == rows).double().mean() for dim in (0, 1)]
    return 100 * float(torch.stack(found).mean())


def write_rows(rows: Sequence[Mapping[str, float]], path: Path) -> None:
    """One line of JSON for each."""
    text = "".join(json.dumps(dict(row), sort_keys=True) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
