"""Train Emma-X: translations first, then text without translations that encoder and classifier label for each other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from orthoglot.corpora.splitting import Split
from orthoglot.encoders.base import placed
from orthoglot.encoders.settings import EmmaXSettings, ParallelPhase, Phase, TextPhase
from orthoglot.encoders.tokenization import Ragged
from orthoglot.errors import ConfigError, DataError
from orthoglot.streams import derive
from orthoglot.training.bitext import Bitext
from orthoglot.training.contrast import Batch, Contrast, ContrastPupil, Draws, ParallelPupil, TextPupil
from orthoglot.training.loop import History
from orthoglot.training.monolingual import tokenised_text
from orthoglot.training.pairs import Corpus, train_student
from orthoglot.training.ranks import in_turn, processes, rank, shared
from orthoglot.training.recipe import Place, train_steps
from orthoglot.training.sampling import Plan
from orthoglot.training.steps import reading_of
from orthoglot.training.students import Student
from orthoglot.training.validation import validate

# One rank of nearly all pairs, nearly one vector of all sentences, two votes that have little to do with each other.
NEARLY_ALL, NEARLY_ONE, HALF = 0.99, 0.02, 0.5
# Points of retrieval that a phase may lose before it is told.
FALLEN = 1.0
# (phase, epoch, number of the first step) -> the epoch's steps from that one on
MakeBatches = Callable[[Phase, int, int], Iterator[Batch]]
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
        before: translations found first where it begins, in percent.
    """

    label: str
    phase: ParallelPhase | TextPhase
    pupil: ContrastPupil
    learners: Sequence[Learner]
    before: float = 0.0


def pretrain_emma_x(
    settings: EmmaXSettings,
    name: str,
    bitext: Sequence[Path],
    *,
    place: Place,
    start: Path | None = None,
    output: Path,
) -> None:
    """Train an Emma-X encoder and write its folder; see `train_student`.

    Phase 1 leaves the epoch with the lowest validation loss, Phase 2 its last one: losses under labels that move cannot
    be compared. Adam with a rate for the encoder and one for the classifier.

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
        parallel = Parallel(settings, bitext, student, corpus, device)
        first, second = settings.parallel, settings.text
        rates: dict[str, Learner] = {
            "encoder": (contrast.encoder, first.learning_rate),
            "classifier": (contrast.classifier, first.classifier_rate),
        }
        history: History = []
        for learns in [tuple(rates)] if first.order == "together" else [(part,) for part in rates]:
            pupil = ParallelPupil(contrast, settings, frozenset(learns)).to(device)
            stage = Stage("-".join(["parallel", *learns]), first, pupil, [rates[part] for part in learns])
            history += _train(settings, name, stage, parallel, parallel.batches, place)
        learners: list[Learner] = [(contrast.encoder, second.learning_rate)]
        if not second.fixed_classifier:
            learners.append((contrast.classifier, second.classifier_rate))
        batches: MakeBatches = parallel.batches
        if second.text != "pairs" and second.steps:
            batches = _text_batches(settings, bitext, student, device, place)
        found = [row["valid.retrieval"] for row in history if row["best"]]
        stage = Stage("text", second, TextPupil(contrast, settings).to(device), learners, *found[-1:])
        history += _train(settings, name, stage, parallel, batches, place)
        return [{**row, "epoch": float(epoch)} for epoch, row in enumerate(history)]

    train_student(settings, name, bitext, course, place=place, start=start, output=output)


class Parallel:
    """The sentence pairs that Phase 1 may see, and steps of them."""

    def __init__(
        self,
        settings: EmmaXSettings,
        bitext: Sequence[Path],
        student: Student,
        corpus: Corpus,
        device: torch.device,
    ):
        self.settings, self.student, self.corpus, self.device = settings, student, corpus, device
        limits = settings.parallel.pairs
        self._limits = [limits.get(folder.name) for folder in bitext]
        self.sizes, self._rows = _limited(corpus["train"].sizes, self._limits)
        # Pairs held back from training are not there to choose an epoch by, either, unless there are no others.
        held_back = [0 if limit else None for limit in self._limits]
        spared = held_back if not all(self._limits) else [None for _ in held_back]
        self.valid_sizes, self._valid_rows = _limited(corpus["valid"].sizes, spared)
        if len(self._valid_rows) < 2:
            raise DataError(f"{len(self._valid_rows)} validation pairs: nothing to compare")

    def batches(self, phase: Phase, epoch: int, first: int) -> Iterator[Batch]:
        """An epoch's steps from one on, this process's share of each."""
        plan = _plan(self.settings, phase, self.sizes)
        for number, rows in _own_rows(plan, phase, epoch, first):
            yield self.batch("train", self._rows[rows], number)

    def held_out(self) -> Iterator[tuple[np.ndarray, Batch]]:
        """Validation steps, the same each time: places among all validation pairs, and the batch of them."""
        count = len(self._valid_rows)
        order = np.random.default_rng(derive(self.settings.seed, "validation")).permutation(count)
        size = self.settings.parallel.batch_size * self.settings.processes
        for number, places in enumerate(np.array_split(order, max(1, count // size))):
            yield places, self.batch("valid", self._valid_rows[places], number)

    def batch(self, split: Split, rows: np.ndarray, number: int) -> Batch:
        """Sources and targets of the named pairs, with what the step draws."""
        if len(rows) < 2:
            raise DataError(f"a step of {len(rows)} sentence pairs: nothing to compare; raise batch_size")
        data: Bitext = self.corpus[split]
        sentences = Ragged.join([data.source.take(rows), data.target.take(rows)])
        reading = reading_of(self.student, sentences, self.settings.chunk_tokens, self.device)
        return Batch(reading, 2, self._draws(split, len(rows), number))

    def _draws(self, split: Split, size: int, number: int) -> Draws:
        """Drawn for the sentences of all processes, so that it does not depend on how many share them."""
        together, own = (processes(), rank()) if split == "train" else (1, 0)
        across = size * together
        everyone = 2 * across
        generator = np.random.default_rng(derive(self.settings.seed, "virtual", split, number))
        released = self.settings.parallel.virtual == "released"
        width = everyone + self.settings.queue if released else self.settings.ranks - 1
        shares = generator.random((everyone, width), dtype=np.float32)
        # Another place of the same side or of the other one, so neither the anchor nor its translation.
        steps = generator.integers(1, max(2, across), everyone) + across * generator.integers(0, 2, everyone)
        others = (np.arange(everyone) + steps) % everyone
        mine = np.concatenate([side * across + own * size + np.arange(size) for side in (0, 1)])
        return Draws(
            placed(torch.from_numpy(others[mine]), self.device),
            placed(torch.from_numpy(shares[mine]), self.device),
        )


def _limited(sizes: Sequence[int], limits: Sequence[int | None]) -> tuple[tuple[int, ...], np.ndarray]:
    """Sizes under the limits, and the row of each place among the rows that are left."""
    kept = [size if limit is None else min(size, limit) for size, limit in zip(sizes, limits, strict=True)]
    starts = np.cumsum([0, *sizes[:-1]])
    rows = [start + np.arange(count) for start, count in zip(starts, kept, strict=True)]
    return tuple(kept), np.concatenate(rows)


def _plan(settings: EmmaXSettings, phase: Phase, sizes: Sequence[int]) -> Plan:
    return Plan(
        sizes=sizes,
        batch_size=phase.batch_size * processes(),
        steps=phase.steps,
        steps_per_epoch=phase.validate_every,
        temperature=phase.sampling_temperature,
        seed=settings.seed,
    )


def _own_rows(plan: Plan, phase: Phase, epoch: int, first: int) -> Iterator[tuple[int, np.ndarray]]:
    for number, rows in enumerate(plan.steps_at_random(epoch)[first:], start=first):
        size = len(rows) // processes()
        yield epoch * phase.validate_every + number, rows[rank() * size : (rank() + 1) * size]


def _text_batches(
    settings: EmmaXSettings, bitext: Sequence[Path], student: Student, device: torch.device, place: Place
) -> MakeBatches:
    """Steps of sentences in any language, without translations."""
    store, apart = place.checkpoint / "tokens", settings.text.text == "apart"
    text = in_turn(lambda: tokenised_text(bitext, "train", student.tokenise, store, apart=apart))
    logger.info("text without translations: %d sentences", sum(text.sizes))

    def batches(phase: Phase, epoch: int, first: int) -> Iterator[Batch]:
        plan = _plan(settings, phase, text.sizes)
        for _, rows in _own_rows(plan, phase, epoch, first):
            yield Batch(reading_of(student, text.sentences.take(rows), settings.chunk_tokens, device), 1)

    return batches


def _train(
    settings: EmmaXSettings,
    name: str,
    stage: Stage,
    parallel: Parallel,
    batches: MakeBatches,
    place: Place,
) -> History:
    """Train one stage; its history, with the number of its phase."""
    phase, pupil, label = stage.phase, stage.pupil, stage.label
    if not phase.steps:
        return []
    last = isinstance(phase, TextPhase)
    pupil.contrast.requires_grad_(False)
    for part, _ in stage.learners:
        part.requires_grad_(True)
    optimizer = torch.optim.Adam(
        [{"params": list(part.parameters()), "lr": rate} for part, rate in stage.learners], fused=True
    )

    def validated() -> dict[str, float]:
        found = validate(pupil, parallel.held_out(), parallel.valid_sizes)
        for alarm in alarms(found, settings.ranks, stage.before):
            logger.warning("%s, %s: %s", name, label, alarm)
        return found

    history = train_steps(
        phase,
        f"{name}, {label}",
        pupil,
        optimizer,
        schedule=phase.schedule,
        loss=shared(pupil),
        batches=partial(batches, phase),
        validate=validated,
        place=replace(
            place,
            checkpoint=place.checkpoint / label,
            curves=None if place.curves is None else place.curves / label,
        ),
        seed=settings.seed,
        settings=settings.model_dump_json(),
        keep="last" if last else "best",
    )
    return [{**row, "phase": 2.0 if last else 1.0} for row in history]


def alarms(found: Mapping[str, float], ranks: int, before: float) -> list[str]:
    """What a phase's validation tells of a collapse: one sentence each.

    That nearly all pairs are of the last rank is as it should be: nearly all sentences are unrelated.

    Args:
        found: terms as `TextPupil` gives them, and `retrieval`.
        ranks: N.
        before: the retrieval with which the phase began.
    """
    told = []
    for who in ("classifier", "encoder"):
        shares = {number: found.get(f"{who}_rank_{number}", 0.0) for number in range(1, ranks)}
        told += [
            f"the {who} gives rank {number} to {share:.1%} of all pairs"
            for number, share in shares.items()
            if share > NEARLY_ALL
        ]
    scores = [found[key] for key in (f"score_{number}" for number in range(1, ranks + 1)) if key in found]
    if scores != sorted(scores, reverse=True):
        told.append(f"the ranks' scores are out of order: {', '.join(f'{score:.3f}' for score in scores)}")
    if found.get("agreement", 1.0) < HALF:
        told.append(f"encoder and classifier agree on {found['agreement']:.1%} of all pairs")
    if "spread" in found and found["spread"] < NEARLY_ONE:
        told.append(f"all vectors are nearly one: spread {found['spread']:.4f}")
    if found["retrieval"] < before - FALLEN:
        told.append(f"translations found first fell from {before:.1f} to {found['retrieval']:.1f} %")
    return told
