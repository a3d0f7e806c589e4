"""Train a network with a head on one set, by the training loop of all trainings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.nn.utils import clip_grad_norm_

from orthoglot.encoders.out_of_memory import within_memory
from orthoglot.random_streams import derive
from orthoglot.study.finetuning.data import Data
from orthoglot.study.finetuning.heads import Batch, Tuned
from orthoglot.study.finetuning.settings import LONGEST_GRADIENT, VALIDATIONS, Recipe
from orthoglot.study.pretraining.trainer import scheduler
from orthoglot.training.loop import fit
from orthoglot.training.step import Update
from orthoglot.training.training_state import LOWEST_TOTAL, Criterion, History

# (N, C) scores, (N,) or (N, C) targets -> the value that decides which state is kept, higher is better.
Judge = Callable[[np.ndarray, np.ndarray], float]
JUDGED = "kept by"


class Run(NamedTuple):
    """Where a training runs."""

    seed: int  # of the order of the items, and of dropout
    device: torch.device  # where the model is
    checkpoint: Path  # folder for the state from which an interrupted training resumes
    label: str  # for progress and messages
    settings: str  # a digest of all that decides the result


def train(model: Tuned, recipe: Recipe, data: Data, valid: Data, judge: Judge | None, run: Run) -> History:
    """Train all weights; the model is left in the state that was best on the validation part.

    AdamW (betas 0.9 and 0.999, epsilon 1e-8, no weight decay), linear decay to 0 after the warm-up, gradients of
    length 1 at most. The validation part is asked ten times an epoch. Each epoch has every item once, in a new order;
    the last step of an epoch may have fewer.

    Args:
        model: On its device.
        valid: Decides which state is kept.
        judge: Says how good scores are; None for the lowest loss.
    Returns:
        One dict for each validation.
    Raises:
        DataError: A step does not fit into the device's memory, or a value is not finite.
    Source: docs/papers.md#fine-tuning.
    """
    an_epoch = -(-len(data) // recipe.batch_size)
    steps = recipe.epochs * an_epoch
    interval = -(-an_epoch // VALIDATIONS)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.learning_rate, eps=1e-8, weight_decay=0.0)
    rates = scheduler(optimizer, warmup=round(recipe.warmup * steps), steps=steps, shape="linear")
    pad = model.network.pad

    def clip(*_: object) -> None:
        clip_grad_norm_(model.parameters(), LONGEST_GRADIENT)

    optimizer.register_step_pre_hook(clip)

    @cache
    def order(epoch: int) -> np.ndarray:
        return np.random.default_rng(derive(run.seed, "order", epoch)).permutation(len(data))

    def batches(part: int, first: int) -> Iterator[Batch]:
        for step in range(part * interval + first, min(steps, (part + 1) * interval)):
            epoch, place = divmod(step, an_epoch)
            rows = order(epoch)[place * recipe.batch_size : (place + 1) * recipe.batch_size]
            yield data.batch(rows, pad, run.device)

    def validate() -> dict[str, float]:
        total, scores = predicted(model, valid, recipe.batch_size, run.device)
        values = {"total": total}
        return values if judge is None else {JUDGED: judge(scores, valid.targets), **values}

    def attempt(size: int) -> None:
        """A step of fewer items, after which this training does not go on."""
        optimizer.zero_grad(set_to_none=True)
        model.train()
        model.loss(data.batch(np.arange(len(data))[:size], pad, run.device))["total"].backward()
        optimizer.step()

    fit_model = partial(
        fit,
        model=model,
        updates=[Update("fine-tuning", model.loss, optimizer, scheduler=rates)],
        batches=batches,
        validate=validate,
        max_epochs=-(-steps // interval),
        patience=None,
        seed=run.seed,
        label=run.label,
        checkpoint=run.checkpoint,
        batches_per_epoch=interval,
        settings=run.settings,
        criterion=LOWEST_TOTAL if judge is None else Criterion(JUDGED, highest=True),
    )
    size = recipe.batch_size
    return within_memory(fit_model, where=run.label, setting="batch_size", size=size, attempt=attempt)


def predicted(model: Tuned, data: Data, batch_size: int, device: torch.device) -> tuple[float, np.ndarray]:
    """The mean loss over all items, and the scores (N, C) or (N,) of each; the model is in eval mode."""
    losses, scores = [], []
    with torch.no_grad():
        for start in range(0, len(data), batch_size):
            rows = np.arange(start, min(start + batch_size, len(data)))
            loss, logits = model.predicted(data.batch(rows, model.network.pad, device))
            losses.append(float(loss) * len(rows))
            scores.append(logits.cpu().numpy())
    # A batch of retrieval has as many scores as it has answers.
    alike = len({part.shape[1:] for part in scores}) == 1
    return sum(losses) / len(data), np.concatenate(scores) if alike else np.empty(0)
