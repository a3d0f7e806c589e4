"""What every pretraining shares: the start and the end, a number of steps under a schedule, training on pairs."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from orthoglot.encoders.base import resolve_device
from orthoglot.encoders.out_of_memory import within_memory
from orthoglot.random_streams import derive
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.model import PretrainingModel
from orthoglot.study.pretraining.networks import SentenceNetwork, TrainableEncoder, trainable_encoder
from orthoglot.study.pretraining.sampling import RowSampler
from orthoglot.study.pretraining.settings import PretrainingSettings, ScratchNetwork, TrainingSettings
from orthoglot.study.pretraining.tokenised import SPLITS, Corpus, languages_of, read_bitext
from orthoglot.study.pretraining.validation import validate
from orthoglot.text.prepared import describe_bitext, describe_text
from orthoglot.text.splitting import Split
from orthoglot.training.curves import Curves
from orthoglot.training.distributed import joined, processes, rank, shared
from orthoglot.training.loop import Keep, fit
from orthoglot.training.step import Update
from orthoglot.training.training_state import History, write_history

if TYPE_CHECKING:
    from orthoglot.study.pretraining.kinds.emma_x import Phase
    from orthoglot.study.pretraining.kinds.mlm import MlmSettings

Shape = Literal["constant", "linear", "cosine", "slow_cosine"]
# (split, rows of it, number of the step) -> what the model takes
MakeBatch = Callable[[Split, np.ndarray, int], Any]
# L2 penalty that is added to the gradient (EMS; docs/papers.md#ems-recipe).
WEIGHT_DECAY = 1e-5
# Steps of the shortest training whose layers a GPU compiles. That takes a minute; what it saves is not measured.
COMPILES_FROM = 5_000
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Training:
    """A training that has been prepared by `prepared`."""

    settings: TrainingSettings  # network and recipe
    name: str  # of the encoder
    inputs: Inputs  # the folders that are read
    run: RunOptions  # where it runs
    encoder: TrainableEncoder  # what is trained
    corpus: Corpus  # tokenised pairs of every split
    device: torch.device  # of this process

    def save(self, history: History, output: Path) -> None:
        """Write the encoder folder with history.jsonl, in the first of several processes."""
        if rank():
            return
        settings, network, inputs = self.settings, self.settings.network, self.inputs
        pairs = {folder.name: describe_bitext(folder) for folder in inputs.bitext}
        text = {folder.name: describe_text(folder) for folder in inputs.corpora}
        # What a model card says of the training.
        facts: dict[str, Any] = {
            "text": pairs | text,
            "objective": settings.objective,
            "work": settings.work,
            "kind": settings.kind,
            "seed": settings.seed,
            **settings.origins,
        }
        if isinstance(network, ScratchNetwork):
            facts["network"] = {
                "layers": network.layers,
                "width": network.width,
                "vocabulary": network.tokenizer.vocabulary,
            }
        languages = sorted({*languages_of(inputs.bitext), *text, *settings.withheld})
        self.encoder.save(self.name, languages, output, facts)
        write_history(history, output)


@contextmanager
def prepared(settings: TrainingSettings, name: str, inputs: Inputs, run: RunOptions) -> Iterator[Training]:
    """Join the processes of a training, make its encoder and open its tokenised pairs.

    The same settings and text give the same bytes on a CPU. `inputs` has what `tokenise` wrote for `settings.tokens`,
    and the folders that it read.
    """
    assert inputs.tokens is not None, f"encoder {name}: no tokenised text"
    torch.set_num_threads(settings.threads)
    with joined(settings.processes, resolve_device(run.device)) as device:
        encoder = trainable_encoder(settings, inputs)
        corpus = {split: read_bitext(inputs.bitext, split, inputs.tokens) for split in SPLITS}
        logger.info(
            f"{name}: {len(corpus['train'])} pairs, {len(corpus['valid'])} for validation, "
            f"{len(languages_of(inputs.bitext))} languages, {encoder.vocabulary} subwords, on {device}, "
            f"seed {settings.seed}"
        )
        yield Training(settings, name, inputs, run, encoder, corpus, device)


def train_on_pairs(
    training: Training,
    settings: PretrainingSettings,
    model: PretrainingModel,
    make_batch: MakeBatch,
    *,
    captured: bool = False,
) -> History:
    """Train a model on randomly drawn pairs, each process on its share; the model is left in its best epoch's state.

    Adam with coupled weight decay, linear warm-up (docs/papers.md#ems-recipe). See `train_steps` for `captured`.

    Raises:
        DataError: A step does not fit into the device's memory.
    """
    corpus = training.corpus
    sampler = RowSampler(
        sizes=corpus["train"].sizes,
        batch_size=settings.batch_size * processes(),
        steps=settings.steps,
        steps_per_epoch=settings.validate_every,
        temperature=settings.sampling_temperature,
        seed=settings.seed,
    )
    optimizer = torch.optim.Adam(
        model.parameters(),
        lr=settings.learning_rate,
        weight_decay=WEIGHT_DECAY,
        amsgrad=settings.amsgrad,
        fused=True,
        capturable=training.device.type == "cuda",
    )
    # The rows of every validation batch, the same each time.
    rows = np.random.default_rng(derive(settings.seed, "validation")).permutation(len(corpus["valid"]))
    held_out = list(enumerate(np.array_split(rows, -(-len(rows) // settings.compared))))

    def batches(epoch: int, first: int) -> Iterator[Any]:
        for number, rows in sampler.numbered(epoch, first):
            size = len(rows) // processes()
            yield make_batch("train", rows[rank() * size : (rank() + 1) * size], number)

    def validated() -> dict[str, float]:
        made = ((rows, make_batch("valid", rows, number)) for number, rows in held_out)
        return validate(model, made, corpus["valid"].sizes, dropout=settings.validation_dropout)

    return train_steps(
        settings,
        settings,
        training.run,
        training.name,
        model,
        optimizer,
        schedule=settings.schedule,
        loss=shared(model),
        batches=batches,
        smaller=lambda size: make_batch("train", np.arange(len(corpus["train"]))[:size], 0),
        validate=validated,
        captured=captured,
    )


def train_steps(
    settings: TrainingSettings | MlmSettings,
    recipe: PretrainingSettings | Phase | MlmSettings,
    run: RunOptions,
    label: str,
    model: nn.Module,
    optimizer: Optimizer,
    *,
    schedule: Shape,
    loss: Callable[[Any], dict[str, Tensor]],
    batches: Callable[[int, int], Iterable[Any]],
    smaller: Callable[[int], Any],
    validate: Callable[[], dict[str, float]],
    setting: str = "batch_size",
    least: int = 1,
    keep: Keep = "best",
    watch: Callable[[History], None] | None = None,
    captured: bool = False,
) -> History:
    """Train for the steps of a recipe, which is all of the settings or a part.

    If batches have few shapes, so that steps can be CUDA graphs, they are `captured` in a process that trains alone.

    If a step does not fit into the device's memory, a DataError names the `setting` for its size, and a size that fits:
    `smaller` makes a batch of that size. Other arguments and value are those of `fit`.
    """
    rates = scheduler(optimizer, warmup=recipe.warmup_steps, steps=recipe.steps, shape=schedule)
    captured = captured and processes() == 1
    for part in model.modules():
        if isinstance(part, SentenceNetwork):
            part.compiles = recipe.steps >= COMPILES_FROM

    def train() -> History:
        return fit(
            model=model,
            updates=[Update("training", loss, optimizer, scheduler=rates)],
            batches=(lambda *place: ((batch,) for batch in batches(*place))) if captured else batches,
            prepare=(lambda batch: batch) if captured else None,
            validate=validate,
            max_epochs=-(-recipe.steps // recipe.validate_every),
            patience=None,
            seed=settings.seed,
            label=label,
            checkpoint=run.checkpoint,
            batches_per_epoch=recipe.validate_every,
            settings=settings.model_dump_json(),
            curves=Curves(run.curves, run.tools) if run.curves and run.tools and rank() == 0 else None,
            keep=keep,
            watch=watch,
            speed=run.speed,
        )

    def attempt(size: int) -> None:
        """A smaller step, after which this training does not go on."""
        optimizer.zero_grad(set_to_none=True)
        model.train()
        loss(smaller(size))["total"].backward()
        optimizer.step()

    return within_memory(
        train,
        where=label,
        setting=setting,
        size=getattr(recipe, setting.rpartition(".")[2]),
        # Processes that train together wait for each other.
        attempt=attempt if processes() == 1 else None,
        least=least,
    )


def share_of_peak(step: int, *, warmup: int, steps: int, shape: Shape) -> float:
    """Learning rate at a step, as a share of its peak, in [0, 1].

    min(1, (step + 1) / warmup) * f,  s = step / steps,
    f = 1 | 1 - s | (1 + cos(pi s)) / 2 | (1 + cos(pi s / 5)) / 2

    Args:
        step: From 0.
        warmup: Steps of linear rise; 0 starts at the peak.
        steps: Steps of the whole training.
        shape: Which f: constant, linear, cosine or slow_cosine. The last is the schedule of EMS's code, a cosine over
            15 epochs of which 3 are run (docs/papers.md#ems-schedule).
    """
    rise = min(1.0, (step + 1) / warmup) if warmup else 1.0
    done = min(1.0, step / max(1, steps))
    if shape == "constant":
        return rise
    if shape == "linear":
        return rise * (1 - done)
    return rise * (1 + math.cos(math.pi * (done / 5 if shape == "slow_cosine" else done))) / 2


def scheduler(optimizer: Optimizer, *, warmup: int, steps: int, shape: Shape) -> LambdaLR:
    """`share_of_peak` applied to every parameter group, one call of `step()` per step."""
    return LambdaLR(optimizer, lambda step: share_of_peak(step, warmup=warmup, steps=steps, shape=shape))
