"""Train Emma-X: translations first, then text without them that encoder and classifier label for each other."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from orthoglot.errors import ConfigError
from orthoglot.random_streams import derive
from orthoglot.study.pretraining.emma_x_collate import EmmaXCollator
from orthoglot.study.pretraining.emma_x_diagnostics import alarming
from orthoglot.study.pretraining.emma_x_phases import (
    EmmaXBatch,
    EmmaXModel,
    EmmaXState,
    ParallelModel,
    TextModel,
)
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.kinds.emma_x import EmmaXSettings, TextPhase
from orthoglot.study.pretraining.tokenised import read_text
from orthoglot.study.pretraining.trainer import Training, prepared, train_steps
from orthoglot.study.pretraining.validation import validate
from orthoglot.training.distributed import shared
from orthoglot.training.training_state import History

# What learns in each training of Phase 1.
TURNS: Mapping[str, list[tuple[str, ...]]] = {
    "together": [("encoder", "classifier")],
    "apart": [("encoder",), ("classifier",)],
    "classifier": [("classifier",)],
}


class MakeBatches(Protocol):
    """(phase, epoch, number of the first step) -> the epoch's batches from that one on."""

    def __call__(self, phase: Any, *, epoch: int, first: int) -> Iterator[EmmaXBatch]: ...


logger = logging.getLogger(__name__)


def pretrain_emma_x(
    settings: EmmaXSettings, name: str, inputs: Inputs, run: RunOptions, output: Path
) -> None:
    """Train an Emma-X encoder and write its folder; arguments as `make_encoder`.

    Phase 1 leaves the epoch with the lowest validation loss, of the encoder if it learns. Phase 2 leaves its last one:
    losses under changing labels cannot be compared. Adam with a rate for the encoder and one for the classifier.
    `valid.retrieval_of_few` in the history is retrieval between the languages whose training pairs are limited; it
    chooses nothing.

    Raises:
        ConfigError: `parallel.pairs` names a language pair that is not there.
        DataError: A step does not fit into the device's memory.
    """
    names = [folder.name for folder in inputs.bitext]
    if unknown := sorted(set(settings.parallel.pairs) - set(names)):
        raise ConfigError(
            f"encoder {name}: parallel.pairs names {', '.join(unknown)}; there are {', '.join(names)}"
        )
    inputs = inputs if settings.tokens.text == "corpora" else replace(inputs, corpora=())
    with prepared(settings, name, inputs, run) as training:
        encoder, device = training.encoder, training.device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive(settings.seed, "weights", "classifier"))
            state = EmmaXState(settings, encoder.network, encoder.dim).to(device)
        collator = EmmaXCollator(settings, inputs.bitext, encoder, training.corpus, device)
        assert inputs.tokens is not None
        text = read_text(inputs.tokens) if settings.tokens.text != "none" else None
        if text:
            logger.info("%s: %d sentences without known translations", name, sum(text.sizes))

        first = settings.parallel
        # The terms and the batches of a training of some parts, by label.
        stages: dict[str, tuple[EmmaXModel, MakeBatches]] = {
            "-".join(["parallel", *learns]): (
                ParallelModel(state, settings, frozenset(learns)),
                partial(collator.pairs, hide="encoder" in learns),
            )
            for learns in TURNS[first.order]
        }
        stages["text"] = TextModel(state, settings), partial(collator.text, text=text)
        history: History = []
        for label, (model, batches) in stages.items():
            if model.phase.steps:
                history = _train(training, settings, label, model.to(device), batches, collator, history)
        training.save(history, output)


def _train(
    training: Training,
    settings: EmmaXSettings,
    label: str,
    model: EmmaXModel,
    batches: MakeBatches,
    collator: EmmaXCollator,
    before: History,
) -> History:
    """Train one stage; the history of the stages before with its epochs, each with the number of its phase."""
    phase, state, run, name = model.phase, model.state, training.run, f"{training.name}, {label}"
    last = isinstance(phase, TextPhase)
    state.requires_grad_(False)
    rates: dict[str, tuple[nn.Module, float]] = {
        "encoder": (state.encoder, phase.learning_rate),
        "classifier": (state.classifier, phase.classifier_rate),
    }
    groups = []
    for role, (part, rate) in rates.items():
        if role in model.learns:
            part.requires_grad_(True)
            groups.append({"params": list(part.parameters()), "lr": rate})
    on_gpu = training.device.type == "cuda"
    optimizer = torch.optim.Adam(groups, fused=True, capturable=on_gpu)

    def validated() -> dict[str, float]:
        values = validate(model, collator.validation(collator.held_out), collator.held_out.sizes)
        # In Phase 1 the classifier's loss is by far the greater, and the encoder is what is kept.
        values["total"] = values.get("contrastive", values["total"])
        few = collator.held_back
        if sum(few.sizes) > 1:
            values["retrieval_of_few"] = validate(model, collator.validation(few), few.sizes)["retrieval"]
        return values

    def whole(rows: History) -> History:
        number = 2.0 if last else 1.0
        return before + [row | {"phase": number, "epoch": row["epoch"] + len(before)} for row in rows]

    def watch(rows: History) -> None:
        for alarm in alarming(whole(rows)):
            logger.warning("%s: %s", name, alarm)

    size = "known_pairs" if last and not phase.batch_size else "batch_size"
    history = train_steps(
        settings,
        phase,
        replace(
            run,
            checkpoint=run.checkpoint / label,
            curves=run.curves and run.curves / label,
            speed=run.speed and run.speed / label,
        ),
        name,
        model,
        optimizer,
        schedule=phase.schedule,
        loss=shared(model),
        batches=lambda epoch, first: batches(phase, epoch=epoch, first=first),
        smaller=lambda few: next(batches(phase.model_copy(update={size: few}), epoch=0, first=0)),
        validate=validated,
        setting=f"{'text' if last else 'parallel'}.{size}",
        least=4,
        keep="last" if last else "best",
        watch=watch,
        captured=collator.chunk_tokens is None,
    )
    return whole(history)


TRAIN = pretrain_emma_x
