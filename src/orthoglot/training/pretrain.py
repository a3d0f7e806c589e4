"""Train EMS, any variant of it, from scratch or on top of another encoder: two objectives, best epoch kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from orthoglot.encoders.base import resolve_device
from orthoglot.encoders.settings import EmsSettings
from orthoglot.objectives.ems import Ems, Gather, Projection, XtrHead, alone
from orthoglot.streams import derive
from orthoglot.training.bitext import Bitext, languages_of
from orthoglot.training.pairs import (
    Place,
    Pupil,
    corpus,
    facts,
    prepared,
    products,
    reduced,
    tell,
    train_on_pairs,
    validate,
    validation,
    write_rows,
)
from orthoglot.training.ranks import gathered, joined, rank
from orthoglot.training.steps import Step, Steps, read
from orthoglot.training.students import Student


class Network(Pupil):
    """The encoder that is kept and the heads that only training needs."""

    def __init__(self, settings: EmsSettings, student: Student, languages: int):
        super().__init__()
        self.encoder = student.network
        # Held in a tuple: the embedding is the encoder's parameter, not one more.
        self._embedding = (student.embedding(),)
        self.products = products(settings)
        head = None
        if settings.xtr_weight:
            head = XtrHead(
                languages=languages,
                language_width=settings.language_width,
                width=student.dim,
                vocabulary=student.vocabulary,
                dropout=student.dropout,
                norm=settings.head_norm,
                tied=settings.tied_output,
            )
        compared = settings.contrastive_weight and settings.projection_width
        self.objective = Ems(
            head,
            Projection(student.dim, settings.projection_width) if compared else None,
            temperature=settings.temperature,
            margin=settings.margin,
            xtr_weight=settings.xtr_weight,
            contrastive_weight=settings.contrastive_weight,
            products=self.products,
        )
        self.gather = gathered if settings.negatives == "gathered" else alone

    def forward(self, step: Step) -> dict[str, Tensor]:
        """Terms of the objective."""
        return self._terms(step, self.gather)[0]

    def terms(self, step: Step) -> tuple[dict[str, Tensor], Tensor]:
        """See `Pupil.terms`."""
        return self._terms(step, alone)

    def _terms(self, step: Step, gather: Gather) -> tuple[dict[str, Tensor], Tensor]:
        with reduced(self.products, step.languages.device):
            vectors = read(self.encoder, step.reading)
            found = self.objective(vectors, step.languages, step.bags, self._embedding[0], gather)
        return found, vectors


def pretrain_ems(
    settings: EmsSettings,
    name: str,
    bitext: Sequence[Path],
    *,
    place: Place,
    start: Path | None = None,
    output: Path,
) -> None:
    """Train an EMS encoder and write its folder, with history.jsonl.

    Adam with coupled weight decay, linear warm-up (methods 5.7). The epoch with the lowest validation loss is
    kept. The same settings and text give the same bytes on a CPU.

    Args:
        settings: sizes, objective and recipe.
        name: of the encoder, kept in encoder.json.
        bitext: prepared pair folders; a folder's name is its pair.
        place: device, checkpoint, curves.
        start: folder of the encoder whose training goes on, if the settings name one.
        output: an existing empty folder.
    """
    torch.set_num_threads(settings.threads)
    with joined(settings.processes, resolve_device(place.device)) as device:
        student = prepared(settings, bitext, start, place)
        languages = languages_of(bitext)
        train, valid = corpus(student, bitext, place)
        tell(settings, name, train, valid, student, device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive(settings.seed, "weights", "heads"))
            network = Network(settings, student, len(languages)).to(device)
        steps = Steps(settings, student, device)

        def step(data: Bitext, rows: np.ndarray, *draw: object) -> Step:
            return steps.step(data, rows, np.random.default_rng(derive(settings.seed, *draw)))

        held = list(enumerate(validation(settings, valid)))
        history = train_on_pairs(
            settings,
            name,
            network,
            train,
            step=lambda rows, number: step(train, rows, "mask", number, rank()),
            validate=lambda: validate(
                network,
                ((rows, step(valid, rows, "validation", number)) for number, rows in held),
                valid.sizes,
                dropout=settings.validation_dropout,
            ),
            place=place,
        )
        if rank() == 0:
            student.save(name, languages, output, facts(settings, bitext))
            write_rows(history, output / "history.jsonl")
