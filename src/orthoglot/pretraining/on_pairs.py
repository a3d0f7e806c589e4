"""Train a student on pairs of sentences, from text to encoder folder: what EMS and distillation share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from orthoglot.corpora.prepare import told
from orthoglot.corpora.splitting import Split
from orthoglot.corpora.text import told_of_text
from orthoglot.encoders.base import resolve_device
from orthoglot.encoders.settings import PretrainingSettings, TrainingSettings
from orthoglot.pretraining.base import Pupil
from orthoglot.pretraining.networks import Student, student_of
from orthoglot.pretraining.sampling import Plan
from orthoglot.pretraining.tokenised_bitext import SPLITS, Bitext, languages_of, tokenised_bitext
from orthoglot.pretraining.trainer import Place, train_steps, write_history
from orthoglot.pretraining.validation import validate
from orthoglot.streams import derive
from orthoglot.training.distributed import joined, processes, rank, shared
from orthoglot.training.loop import History

Corpus = Mapping[Split, Bitext]
# (split, rows of it, number of the step) -> what the pupil takes
MakeStep = Callable[[Split, np.ndarray, int], Any]
# Trains the student.
Course = Callable[[Student, Corpus, torch.device], History]
logger = logging.getLogger(__name__)


def train_student(
    settings: TrainingSettings,
    name: str,
    bitext: Sequence[Path],
    course: Course,
    *,
    corpora: Sequence[Path] = (),
    tokens: Path,
    place: Place,
    start: Path | None,
    output: Path,
) -> None:
    """Make a student ready, train it and write its encoder folder, with history.jsonl.

    The same settings and text give the same bytes on a CPU.

    Args:
        settings: network and recipe.
        name: of the encoder, kept in encoder.json.
        bitext: prepared pair folders; a folder's name is its pair.
        course: trains it on tokenised pairs.
        corpora: prepared text folders that it learns from, too; a folder's name is its language.
        tokens: folder that `tokenise` wrote of both for `settings.tokens`.
        place: device, checkpoint, curves.
        start: folder of the encoder whose training goes on, if the settings name one.
        output: an existing empty folder.
    """
    torch.set_num_threads(settings.threads)
    with joined(settings.processes, resolve_device(place.device)) as device:
        weights = derive(settings.seed, "weights")
        predicts = settings.predicts_tokens
        student = student_of(settings.network, start, tokens, weights, predicts=predicts)
        corpus = {split: tokenised_bitext(bitext, split, tokens) for split in SPLITS}
        logger.info(
            "%s: %d pairs, %d for validation, %d languages, %d pieces, on %s, seed %d",
            *(name, len(corpus["train"]), len(corpus["valid"]), len(languages_of(bitext))),
            *(student.vocabulary, device, settings.seed),
        )
        history = course(student, corpus, device)
        if rank() == 0:
            languages = sorted({*languages_of(bitext), *(folder.name for folder in corpora)})
            student.save(name, languages, output, facts(settings, bitext, corpora))
            write_history(history, output)


def facts(settings: TrainingSettings, bitext: Sequence[Path], corpora: Sequence[Path] = ()) -> dict[str, Any]:
    """What a model card says of the training."""
    return {
        "text": {
            **{folder.name: told(folder) for folder in bitext},
            **{folder.name: told_of_text(folder) for folder in corpora},
        },
        "objective": settings.objective,
        "work": settings.work,
        **settings.model_dump(include={"kind", "seed"}),
        **settings.origins,
    }


def train_on_pairs(
    settings: PretrainingSettings, name: str, pupil: Pupil, corpus: Corpus, step: MakeStep, place: Place
) -> History:
    """Drive a pupil over pairs drawn at random, each process over its share; its best epoch is left.

    Adam with coupled weight decay, linear warm-up (methods 5.7).

    Args:
        settings: the recipe.
        name: told in messages.
        pupil: turns a step into terms.
        corpus: what rows are drawn from.
        step: makes a step of rows.
        place: checkpoint and curves.
    """
    plan = Plan(
        sizes=corpus["train"].sizes,
        batch_size=settings.batch_size * processes(),
        steps=settings.steps,
        steps_per_epoch=settings.validate_every,
        temperature=settings.sampling_temperature,
        seed=settings.seed,
    )
    optimizer = torch.optim.Adam(
        pupil.parameters(),
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        amsgrad=settings.amsgrad,
        fused=True,
    )
    # The rows of every validation step, the same each time.
    rows = np.random.default_rng(derive(settings.seed, "validation")).permutation(len(corpus["valid"]))
    held = list(enumerate(np.array_split(rows, -(-len(rows) // settings.compared))))

    def batches(epoch: int, first: int) -> Iterator[Any]:
        for number, rows in enumerate(plan.steps_at_random(epoch)[first:], start=first):
            size = len(rows) // processes()
            own = rows[rank() * size : (rank() + 1) * size]
            yield step("train", own, epoch * settings.validate_every + number)

    return train_steps(
        settings,
        name,
        pupil,
        optimizer,
        schedule=settings.schedule,
        loss=shared(pupil),
        batches=batches,
        validate=lambda: validate(
            pupil,
            ((rows, step("valid", rows, number)) for number, rows in held),
            corpus["valid"].sizes,
            dropout=settings.validation_dropout,
        ),
        place=place,
        seed=settings.seed,
        settings=settings.model_dump_json(),
    )
