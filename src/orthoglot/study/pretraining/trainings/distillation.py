"""Train a student on a frozen teacher's vectors of one side of the bitext: S-BERT's multilingual distillation."""

from __future__ import annotations

from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from orthoglot import atomic
from orthoglot.encoders.base import Encoder, check_language, placed
from orthoglot.encoders.folder import card, load_encoder
from orthoglot.encoders.settings import Precision
from orthoglot.encoders.token_lists import Ragged
from orthoglot.errors import ConfigError
from orthoglot.languages import parse_pair
from orthoglot.study.pretraining.collate import TokenBatch, chunk_size, collate, encode_batch
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.kinds.distillation import DistillationSettings
from orthoglot.study.pretraining.model import PretrainingModel
from orthoglot.study.pretraining.tokenised import SPLITS
from orthoglot.study.pretraining.trainer import Training, prepared, train_on_pairs
from orthoglot.text.bitext import blocks
from orthoglot.text.prepared import stream_split
from orthoglot.text.splitting import Split
from orthoglot.training.distributed import in_turn

TEACHER_TOKENS = 4096


class DistillationBatch(NamedTuple):
    """One step: B sources, then their B targets, and the teacher's vectors of the sources (B, D)."""

    sentences: TokenBatch
    expected: Tensor


class DistillationModel(PretrainingModel):
    """The student's vectors of both sides should equal the teacher's vector of the source.

    L = mean_(j, d) (f(s_j) - t(s_j))_d^2 + mean_(j, d) (f(s'_j) - t(s_j))_d^2
    Source: Reimers and Gurevych 2020, multilingual knowledge distillation; EMS's comparator S-BERT-distill.
    """

    def __init__(self, encoder: nn.Module, precision: Precision):
        super().__init__(precision)
        self.encoder = encoder

    def terms(self, batch: DistillationBatch) -> tuple[dict[str, Tensor], Tensor]:
        """{"source", "target", "total"}, each at least 0; see `PretrainingModel.terms`."""
        with self.autocast(batch.expected.device):
            vectors = encode_batch(self.encoder, batch.sentences)
        source, target = (functional.mse_loss(side, batch.expected) for side in vectors.float().chunk(2))
        return {"source": source, "target": target, "total": source + target}, vectors


def distill(settings: DistillationSettings, name: str, inputs: Inputs, run: RunOptions, output: Path) -> None:
    """Train a student on the vectors of the encoder `teacher` and write its folder; arguments as `make_encoder`.

    The teacher reads the first language of a pair.

    Raises:
        ConfigError: The student's vectors are of another size, or the teacher does not cover a source language.
    """
    described = card(inputs.encoders["teacher"])
    for language in sorted({parse_pair(folder.name)[0] for folder in inputs.bitext}):
        check_language(described["name"], described["languages"], language)
    with prepared(settings, name, inputs, run) as training:
        encoder, corpus, device = training.encoder, training.corpus, training.device
        expected = _teacher_vectors(training)
        size = chunk_size(settings, encoder, device)

        def make_batch(split: Split, rows: np.ndarray, _: int) -> DistillationBatch:
            sentences = Ragged.join([side.take(rows) for side in corpus[split].sides])
            vectors = placed(torch.from_numpy(expected[split][rows]), device)
            tokens = collate(encoder.tokenizer, sentences, size, device)
            return DistillationBatch(tokens, vectors)

        model = DistillationModel(encoder.network, settings.precision).to(device)
        training.save(train_on_pairs(training, settings, model, make_batch, captured=size is None), output)


def _teacher_vectors(training: Training) -> dict[Split, np.ndarray]:
    """The teacher's vectors of every split; the teacher itself has left the device when this returns."""
    teacher = load_encoder(training.inputs.encoders["teacher"], str(training.device))
    if teacher.dim != training.encoder.dim:
        raise ConfigError(
            f"encoder {training.name}: has vectors of {training.encoder.dim} numbers, its teacher {teacher.name} of "
            f"{teacher.dim}; give the student's network the teacher's size"
        )
    return in_turn(lambda: {split: _stored(teacher, training, split) for split in SPLITS})


def _stored(teacher: Encoder, training: Training, split: Split) -> np.ndarray:
    """The teacher's vectors of the sources of the kept pairs (N, D), written once and mapped from disk."""
    path, data = training.run.checkpoint / f"teacher-{split}.npy", training.corpus[split]
    if not path.exists():
        with atomic.replacing(path) as partial:
            vectors = np.lib.format.open_memmap(
                partial, mode="w+", dtype=np.float32, shape=(len(data), teacher.dim)
            )
            atomic.reserve(partial)
            first = 0
            kept_of = np.split(data.kept, np.cumsum(data.sizes)[:-1])
            for folder, kept in zip(training.inputs.bitext, kept_of, strict=True):
                wanted = np.zeros(kept.max(initial=-1) + 1, dtype=bool)
                wanted[kept] = True
                language = parse_pair(folder.name)[0]
                for block in blocks(compress(stream_split(folder, split), wanted)):
                    sources = [pair.source for pair in block]
                    vectors[first : first + len(sources)] = teacher.encode(sources, language, TEACHER_TOKENS)
                    first += len(sources)
            vectors.flush()
    return np.load(path, mmap_mode="r")


TRAIN = distill
