"""Train EMS, any variant of it, from scratch or on top of another encoder: two objectives, best epoch kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from orthoglot.corpora.splitting import Split
from orthoglot.encoders.settings import EmsSettings
from orthoglot.objectives.ems import Ems, Gather, Projection, XtrHead, alone
from orthoglot.pretraining.base import Pupil
from orthoglot.pretraining.collate import Step, Steps, read
from orthoglot.pretraining.networks import Student
from orthoglot.pretraining.on_pairs import Corpus, train_on_pairs, train_student
from orthoglot.pretraining.tokenised_bitext import languages_of
from orthoglot.pretraining.trainer import Place
from orthoglot.streams import derive
from orthoglot.training.distributed import gathered, rank
from orthoglot.training.loop import History


class Network(Pupil):
    """The encoder that is kept and the heads that only training needs."""

    def __init__(self, settings: EmsSettings, student: Student, languages: int):
        super().__init__(settings.precision)
        self.encoder = student.network
        # Asked for when it is used: the embedding is the encoder's parameter, not one more.
        self._embedding = student.embedding
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
        with self.reduced(step.languages.device):
            vectors = read(self.encoder, step.reading)
            found = self.objective(vectors, step.languages, step.bags, self._embedding(), gather)
        return found, vectors


def pretrain_ems(
    settings: EmsSettings,
    name: str,
    bitext: Sequence[Path],
    *,
    tokens: Path,
    place: Place,
    start: Path | None = None,
    output: Path,
) -> None:
    """Train an EMS encoder and write its folder; see `train_student`."""

    def course(student: Student, corpus: Corpus, device: torch.device) -> History:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive(settings.seed, "weights", "heads"))
            network = Network(settings, student, len(languages_of(bitext))).to(device)
        steps = Steps(settings, student, device)

        def step(split: Split, rows: np.ndarray, number: int) -> Step:
            draw = ("mask", number, rank()) if split == "train" else ("validation", number)
            return steps.step(corpus[split], rows, np.random.default_rng(derive(settings.seed, *draw)))

        return train_on_pairs(settings, name, network, corpus, step, place)

    train_student(settings, name, bitext, course, tokens=tokens, place=place, start=start, output=output)
