"""Train Emma-X: translations first, then text without them that encoder and classifier label for each other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import nn

from orthoglot.encoders.kinds import Inputs, RunOptions
from orthoglot.encoders.settings import EmmaXSettings, ParallelPhase, TextPhase
from orthoglot.errors import ConfigError
from orthoglot.pretraining.emma_x_collate import EmmaXCollator
from orthoglot.pretraining.emma_x_diagnostics import alarming
from orthoglot.pretraining.emma_x_phases import (
    EmmaXBatch,
    EmmaXModel,
    EmmaXState,
    ParallelModel,
    TextModel,
)
from orthoglot.pretraining.tokenised import read_text
from orthoglot.pretraining.trainer import prepared, train_steps
from orthoglot.pretraining.validation import validate
from orthoglot.streams import derive
from orthoglot.training.distributed import shared
from orthoglot.training.loop import History

# What learns in each training of Phase 1.
TURNS: Mapping[str, list[tuple[str, ...]]] = {
    "together": [("encoder", "classifier")],
    "apart": [("encoder",), ("classifier",)],
    "classifier": [("classifier",)],
}
# (epoch, number of the first step) -> the epoch's batches from that one on
MakeBatches = Callable[[int, int], Iterator[EmmaXBatch]]
# A part that learns, and its rate.
Learner = tuple[nn.Module, float]
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stage:
    """One training of some parts.

    Attributes:
        label: of its messages, checkpoint and curves.
        phase: its recipe.
        model: its terms.
        learners: the parts that learn, with their rates.
        batches: of an epoch.
    """

    label: str
    phase: ParallelPhase | TextPhase
    model: EmmaXModel
    learners: Sequence[Learner]
    batches: MakeBatches


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

        def stage(
            label: str, phase: ParallelPhase | TextPhase, model: EmmaXModel, batches: MakeBatches
        ) -> Stage:
            rates: dict[str, Learner] = {
                "encoder": (state.encoder, phase.learning_rate),
                "classifier": (state.classifier, phase.classifier_rate),
            }
            learners = [rate for part, rate in rates.items() if part in model.learns]
            return Stage(label, phase, model.to(device), learners, batches)

        first, second = settings.parallel, settings.text
        stages = [
            stage(
                "-".join(["parallel", *learns]),
                first,
                ParallelModel(state, settings, frozenset(learns)),
                partial(collator.pairs, first, "encoder" in learns),
            )
            for learns in TURNS[first.order]
        ]
        stages.append(stage("text", second, TextModel(state, settings), partial(collator.text, second, text)))
        history: History = []
        for one in stages:
            history = _train(settings, name, one, collator, run, history)
        training.save(history, output)


def _train(
    settings: EmmaXSettings,
    name: str,
    stage: Stage,
    collator: EmmaXCollator,
    run: RunOptions,
    before: History,
) -> History:
    """Train one stage; the history of the stages before with its epochs, each with the number of its phase."""
    phase, model, label = stage.phase, stage.model, stage.label
    if not phase.steps:
        return before
    last = isinstance(phase, TextPhase)
    model.state.requires_grad_(False)
    for part, _ in stage.learners:
        part.requires_grad_(True)
    optimizer = torch.optim.Adam(
        [{"params": list(part.parameters()), "lr": rate} for part, rate in stage.learners], fused=True
    )

    def validated() -> dict[str, float]:
        found = validate(model, collator.held_out, collator.held_out.sizes)
        # In Phase 1 the classifier's loss is by far the greater, and the encoder is what is kept.
        found["total"] = found.get("contrastive", found["total"])
        if len(collator.held_back.rows) > 1:
            of_few = validate(model, collator.held_back, collator.held_back.sizes)
            found["retrieval_of_few"] = of_few["retrieval"]
        return found

    def whole(rows: History) -> History:
        own = {"phase": 2.0 if last else 1.0}
        return [*before, *({**row, **own, "epoch": row["epoch"] + len(before)} for row in rows)]

    def watch(rows: History) -> None:
        for alarm in alarming(whole(rows)):
            logger.warning("%s, %s: %s", name, label, alarm)

    history = train_steps(
        phase,
        f"{name}, {label}",
        model,
        optimizer,
        schedule=phase.schedule,
        loss=shared(model),
        batches=stage.batches,
        validate=validated,
        run=replace(
            run,
            checkpoint=run.checkpoint / label,
            curves=None if run.curves is None else run.curves / label,
        ),
        seed=settings.seed,
        settings=settings.model_dump_json(),
        keep="last" if last else "best",
        watch=watch,
    )
    return whole(history)
