"""Train a student on a frozen teacher's vectors of one side of the bitext: S-BERT's way to many languages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from orthoglot import atomic
from orthoglot.corpora.prepare import stream_split
from orthoglot.corpora.splitting import Split
from orthoglot.encoders.base import Encoder, check_language, resolve_device
from orthoglot.encoders.load import load_encoder
from orthoglot.encoders.settings import DistillationSettings
from orthoglot.encoders.tokenization import Ragged
from orthoglot.errors import ConfigError
from orthoglot.languages import parse_pair
from orthoglot.objectives.bags import placed
from orthoglot.training.bitext import BLOCK, Bitext, languages_of
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
from orthoglot.training.ranks import joined, rank, wait
from orthoglot.training.steps import Reading, read, reading_of

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

    def __init__(self, encoder: nn.Module, dtype: torch.dtype | None):
        super().__init__()
        self.encoder = encoder
        self.products = dtype

    def forward(self, lesson: Lesson) -> dict[str, Tensor]:
        """{"source", "target", "total"}, each at least 0."""
        return self.terms(lesson)[0]

    def terms(self, lesson: Lesson) -> tuple[dict[str, Tensor], Tensor]:
        """See `Pupil.terms`."""
        with reduced(self.products, lesson.taught.device):
            vectors = read(self.encoder, lesson.reading)
        source, target = (nn.functional.mse_loss(side, lesson.taught) for side in vectors.float().chunk(2))
        return {"source": source, "target": target, "total": source + target}, vectors


def distill(
    settings: DistillationSettings,
    name: str,
    bitext: Sequence[Path],
    *,
    teacher: Path,
    place: Place,
    start: Path | None = None,
    output: Path,
) -> None:
    """Train a student and write its encoder folder, with history.jsonl.

    Args:
        settings: network and recipe.
        name: of the encoder.
        bitext: prepared pair folders; the first language of a pair is what the teacher reads.
        teacher: its encoder folder.
        place: device, checkpoint, curves.
        start: folder of the encoder whose training goes on, if the settings name one.
        output: an existing empty folder.
    Raises:
        ConfigError: the student's vectors are of another size, or the teacher does not cover a source language.
    """
    torch.set_num_threads(settings.threads)
    with joined(settings.processes, resolve_device(place.device)) as device:
        master = load_encoder(teacher, str(device))
        for language in sorted({parse_pair(folder.name)[0] for folder in bitext}):
            check_language(master.name, master.languages, language)
        student = prepared(settings, bitext, start, place)
        if master.dim != student.dim:
            raise ConfigError(
                f"encoder {name}: has vectors of {student.dim} numbers, its teacher {master.name} of {master.dim}"
            )
        train, valid = corpus(student, bitext, place)
        tell(settings, name, train, valid, student, device)
        network = Distillation(student.network, products(settings)).to(device)
        lectures: dict[Split, Bitext] = {"train": train, "valid": valid}
        taught = {split: _taught(master, bitext, split, data, place) for split, data in lectures.items()}
        del master  # its room on the device is the student's now

        def lesson(split: Split, rows: np.ndarray) -> Lesson:
            data = lectures[split]
            sentences = Ragged.join([data.source.take(rows), data.target.take(rows)])
            vectors = placed(torch.from_numpy(taught[split][rows]), device)
            return Lesson(reading_of(student, sentences, settings.chunk_tokens, device), vectors)

        held = validation(settings, valid)
        history = train_on_pairs(
            settings,
            name,
            network,
            train,
            step=lambda rows, _: lesson("train", rows),
            validate=lambda: validate(
                network,
                ((rows, lesson("valid", rows)) for rows in held),
                valid.sizes,
                dropout=settings.validation_dropout,
            ),
            place=place,
        )
        if rank() == 0:
            student.save(name, languages_of(bitext), output, facts(settings, bitext))
            write_rows(history, output / "history.jsonl")


def _taught(teacher: Encoder, bitext: Sequence[Path], split: Split, data: Bitext, place: Place) -> np.ndarray:
    """The teacher's vectors of the sources (N, D), written once and mapped from disk."""
    path = place.checkpoint / f"taught-{split}.npy"
    if rank() == 0 and not path.exists():
        with atomic.replacing(path) as partial:
            vectors = np.lib.format.open_memmap(
                partial, mode="w+", dtype=np.float32, shape=(len(data), teacher.dim)
            )
            ends = np.cumsum([0, *data.sizes])
            for folder, first, last in zip(bitext, ends, ends[1:], strict=False):
                _teach(teacher, folder, split, data.kept[first:last], vectors[first:last])
            vectors.flush()
    wait()
    return np.load(path, mmap_mode="r")


def _teach(teacher: Encoder, folder: Path, split: Split, kept: np.ndarray, vectors: np.ndarray) -> None:
    """Fill in the vectors of the kept pairs of one folder, a block of sentences at a time."""
    wanted = np.zeros(kept[-1] + 1 if len(kept) else 0, dtype=bool)
    wanted[kept] = True
    sources = (pair.source for pair, keep in zip(stream_split(folder, split), wanted, strict=False) if keep)
    language, first = parse_pair(folder.name)[0], 0
    while block := list(islice(sources, BLOCK)):
        vectors[first : first + len(block)] = teacher.encode(block, language, TEACHER_TOKENS)
        first += len(block)
