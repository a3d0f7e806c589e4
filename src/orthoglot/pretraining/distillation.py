"""Train a student on a frozen teacher's vectors of one side of the bitext: S-BERT's way to many languages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from orthoglot import atomic
from orthoglot.corpora.prepare import stream_split
from orthoglot.corpora.splitting import Split
from orthoglot.encoders.base import Encoder, check_language, placed
from orthoglot.encoders.folder import card
from orthoglot.encoders.load import load_encoder
from orthoglot.encoders.settings import DistillationSettings, Precision
from orthoglot.encoders.tokenization import Ragged
from orthoglot.errors import ConfigError
from orthoglot.languages import parse_pair
from orthoglot.pretraining.base import Pupil
from orthoglot.pretraining.collate import Reading, read, reading_of
from orthoglot.pretraining.networks import Student
from orthoglot.pretraining.on_pairs import Corpus, train_on_pairs, train_student
from orthoglot.pretraining.tokenised_bitext import SPLITS, Bitext, blocks
from orthoglot.pretraining.trainer import Place
from orthoglot.training.distributed import in_turn
from orthoglot.training.loop import History

TEACHER_TOKENS = 4096


class Lesson(NamedTuple):
    """One step: B sources, then their B targets, and the teacher's vectors of the sources (B, D)."""

    reading: Reading
    taught: Tensor


class Distillation(Pupil):
    """Both sides' vectors are to be the teacher's vector of the source.

    L = mean_(j, d) (f(s_j) - t(s_j))_d^2 + mean_(j, d) (f(s'_j) - t(s_j))_d^2
    Source: Reimers and Gurevych 2020, multilingual knowledge distillation; EMS's comparator S-BERT-distill.
    """

    def __init__(self, encoder: nn.Module, precision: Precision):
        super().__init__(precision)
        self.encoder = encoder

    def forward(self, lesson: Lesson) -> dict[str, Tensor]:
        """{"source", "target", "total"}, each at least 0."""
        return self.terms(lesson)[0]

    def terms(self, lesson: Lesson) -> tuple[dict[str, Tensor], Tensor]:
        """See `Pupil.terms`."""
        with self.reduced(lesson.taught.device):
            vectors = read(self.encoder, lesson.reading)
        source, target = (functional.mse_loss(side, lesson.taught) for side in vectors.float().chunk(2))
        return {"source": source, "target": target, "total": source + target}, vectors


def distill(
    settings: DistillationSettings,
    name: str,
    bitext: Sequence[Path],
    *,
    teacher: Path,
    tokens: Path,
    place: Place,
    start: Path | None = None,
    output: Path,
) -> None:
    """Train a student on the vectors of `teacher`, an encoder folder, and write its folder; see `train_student`.

    The first language of a pair is what the teacher reads.

    Raises:
        ConfigError: the student's vectors are of another size, or the teacher does not cover a source language.
    """
    described = card(teacher)
    for language in sorted({parse_pair(folder.name)[0] for folder in bitext}):
        check_language(described["name"], described["languages"], language)

    def course(student: Student, corpus: Corpus, device: torch.device) -> History:
        taught = _lectures(teacher, name, student.dim, bitext, corpus, device, place.checkpoint)

        def lesson(split: Split, rows: np.ndarray, _: int) -> Lesson:
            data = corpus[split]
            sentences = Ragged.join([data.source.take(rows), data.target.take(rows)])
            vectors = placed(torch.from_numpy(taught[split][rows]), device)
            return Lesson(reading_of(student, sentences, settings.chunk_tokens, device), vectors)

        pupil = Distillation(student.network, settings.precision).to(device)
        return train_on_pairs(settings, name, pupil, corpus, lesson, place)

    train_student(settings, name, bitext, course, tokens=tokens, place=place, start=start, output=output)


def _lectures(
    folder: Path,
    name: str,
    dim: int,
    bitext: Sequence[Path],
    corpus: Corpus,
    device: torch.device,
    store: Path,
) -> dict[Split, np.ndarray]:
    """The teacher's vectors of every split; the teacher itself has left the device when this returns."""
    teacher = load_encoder(folder, str(device))
    if teacher.dim != dim:
        raise ConfigError(
            f"encoder {name}: has vectors of {dim} numbers, its teacher {teacher.name} of {teacher.dim}; "
            "give the student's network the teacher's size"
        )
    return in_turn(lambda: {split: _taught(teacher, bitext, split, corpus[split], store) for split in SPLITS})


def _taught(teacher: Encoder, bitext: Sequence[Path], split: Split, data: Bitext, store: Path) -> np.ndarray:
    """The teacher's vectors of the sources (N, D), written once and mapped from disk."""
    path = store / f"taught-{split}.npy"
    if not path.exists():
        with atomic.replacing(path) as partial:
            vectors = np.lib.format.open_memmap(
                partial, mode="w+", dtype=np.float32, shape=(len(data), teacher.dim)
            )
            first = 0
            for folder, size in zip(bitext, data.sizes, strict=True):
                rows = slice(first, first + size)
                _teach(teacher, folder, split, data.kept[rows], vectors[rows])
                first += size
            vectors.flush()
    return np.load(path, mmap_mode="r")


def _teach(teacher: Encoder, folder: Path, split: Split, kept: np.ndarray, vectors: np.ndarray) -> None:
    """Fill in the vectors of the kept pairs of one folder, a block of sentences at a time."""
    wanted = np.zeros(kept.max(initial=-1) + 1, dtype=bool)
    wanted[kept] = True
    language, first = parse_pair(folder.name)[0], 0
    for block in blocks(compress(stream_split(folder, split), wanted)):
        sources = [pair.source for pair in block]
        vectors[first : first + len(sources)] = teacher.encode(sources, language, TEACHER_TOKENS)
        first += len(sources)
