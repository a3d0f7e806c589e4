"""Train Emma-X: translations first, then text without translations that encoder and classifier label for each other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import nn

from orthoglot.encoders.settings import EmmaXSettings, ParallelPhase, TextPhase
from orthoglot.errors import ConfigError
from orthoglot.pretraining.emma_x_collate import EmmaXSteps
from orthoglot.pretraining.emma_x_diagnostics import alarming
from orthoglot.pretraining.emma_x_phases import Batch, Contrast, ContrastPupil, ParallelPupil, TextPupil
from orthoglot.pretraining.networks import Student
from orthoglot.pretraining.on_pairs import Corpus, train_student
from orthoglot.pretraining.tokenised_text import tokenised_text
from orthoglot.pretraining.trainer import Place, train_steps
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
# (epoch, number of the first step) -> the epoch's steps from that one on
MakeBatches = Callable[[int, int], Iterator[Batch]]
# A part that learns, and its rate.
Learner = tuple[nn.Module, float]
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stage:
    """One training of some parts.

    Attributes:
        label: of its messages, checkpoint and curves.
        phase: its recipe.
        pupil: its terms.
        learners: the parts that learn, with their rates.
    """

    label: str
    phase: ParallelPhase | TextPhase
    pupil: ContrastPupil
    learners: Sequence[Learner]


def pretrain_emma_x(
    settings: EmmaXSettings,
    name: str,
    bitext: Sequence[Path],
    *,
    corpora: Sequence[Path] = (),
    tokens: Path,
    place: Place,
    start: Path | None = None,
    output: Path,
) -> None:
    """Train an Emma-X encoder and write its folder; see `train_student`.

    Phase 1 leaves the epoch with the lowest validation loss, of the encoder if it learns. Phase 2 leaves its last one:
    losses under labels that move cannot be compared. Adam with a rate for the encoder and one for the classifier.
    `valid.retrieval_of_few` in the history is retrieval between the languages whose training pairs are limited; it
    chooses nothing.

    Args:
        corpora: prepared text folders; a folder's name is its language.
    Raises:
        ConfigError: `parallel.pairs` names a language pair that is not there.
    """
    names = [folder.name for folder in bitext]
    if strange := sorted(set(settings.parallel.pairs) - set(names)):
        raise ConfigError(
            f"encoder {name}: parallel.pairs names {', '.join(strange)}; there are {', '.join(names)}"
        )

    def course(student: Student, corpus: Corpus, device: torch.device) -> History:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive(settings.seed, "weights", "classifier"))
            contrast = Contrast(settings, student.network, student.dim).to(device)
        steps = EmmaXSteps(settings, bitext, student, corpus, device)
        first, second = settings.parallel, settings.text
        text = tokenised_text(tokens) if settings.tokens.text != "none" else None
        if text:
            logger.info("%s: %d sentences without known translations", name, sum(text.sizes))
        rates: dict[str, Learner] = {
            "encoder": (contrast.encoder, first.learning_rate),
            "classifier": (contrast.classifier, first.classifier_rate),
        }
        history: History = []
        for learns in TURNS[first.order]:
            pupil = ParallelPupil(contrast, settings, frozenset(learns)).to(device)
            stage = Stage("-".join(["parallel", *learns]), first, pupil, [rates[part] for part in learns])
            batches = partial(steps.pairs, first, "encoder" in learns)
            history = _train(settings, name, stage, steps, batches, place, history)
        rates = {
            "encoder": (contrast.encoder, second.learning_rate),
            "classifier": (contrast.classifier, second.classifier_rate),
        }
        of_text = TextPupil(contrast, settings).to(device)
        learners = [rate for part, rate in rates.items() if part in of_text.learns]
        stage = Stage("text", second, of_text, learners)
        return _train(settings, name, stage, steps, partial(steps.text, second, text), place, history)

    read = corpora if settings.tokens.text == "corpora" else ()
    train_student(
        settings, name, bitext, course, corpora=read, tokens=tokens, place=place, start=start, output=output
    )


def _train(
    settings: EmmaXSettings,
    name: str,
    stage: Stage,
    steps: EmmaXSteps,
    batches: MakeBatches,
    place: Place,
    before: History,
) -> History:
    """Train one stage; the history of the stages before with its epochs, each with the number of its phase."""
    phase, pupil, label = stage.phase, stage.pupil, stage.label
    if not phase.steps:
        return before
    last = isinstance(phase, TextPhase)
    pupil.contrast.requires_grad_(False)
    for part, _ in stage.learners:
        part.requires_grad_(True)
    optimizer = torch.optim.Adam(
        [{"params": list(part.parameters()), "lr": rate} for part, rate in stage.learners], fused=True
    )

    def validated() -> dict[str, float]:
        found = validate(pupil, steps.held_out, steps.held_out.sizes)
        # Of the two losses of Phase 1 the classifier's is the greater by far, and the encoder is what is kept.
        found["total"] = found.get("contrastive", found["total"])
        if len(steps.held_back.rows) > 1:
            of_few = validate(pupil, steps.held_back, steps.held_back.sizes)
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
        pupil,
        optimizer,
        schedule=phase.schedule,
        loss=shared(pupil),
        batches=batches,
        validate=validated,
        place=replace(
            place,
            checkpoint=place.checkpoint / label,
            curves=None if place.curves is None else place.curves / label,
        ),
        seed=settings.seed,
        settings=settings.model_dump_json(),
        keep="last" if last else "best",
        watch=watch,
    )
    return whole(history)
