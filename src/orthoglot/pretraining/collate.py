"""A step's pairs as tensors: sentences in chunks of like length, and what each is to predict."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from orthoglot.encoders.base import length_batches, placed
from orthoglot.encoders.settings import EmsSettings
from orthoglot.encoders.tokenization import Ragged
from orthoglot.errors import ConfigError
from orthoglot.objectives.bags import Bags, bags_of
from orthoglot.pretraining.masking import IGNORED
from orthoglot.pretraining.networks import Student
from orthoglot.pretraining.tokenised_bitext import Bitext
from orthoglot.training.distributed import added, processes

# Draws of a token to hide, until it is not punctuation (methods 5.9, E9).
DRAWS = 5


class Chunk(NamedTuple):
    """Token ids (b, T), and whether any of them is padding."""

    ids: Tensor
    padded: bool


class Predicting(Protocol):
    """A network that reads sentences and tells hidden tokens."""

    def predicted(self, ids: Tensor, padded: bool, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors (b, D) and logits (H, V) of the H tokens where `hidden` (b, T) is true."""
        ...


class Reading(NamedTuple):
    """The sentences that a network reads in one step.

    They come as pairs of whatever length, so that steps do not differ in what they are about; only within a step
    are they put in order of length, and all vectors are there before any loss is computed.

    Attributes:
        chunks: all sentences, longest first.
        places: where sentence i lies among the rows of all chunks (S,).
        expected: of each chunk what to predict (b, T), -100 for nothing; none where no token is hidden.
    """

    chunks: tuple[Chunk, ...]
    places: Tensor
    expected: tuple[Tensor, ...] = ()


class Step(NamedTuple):
    """One step of EMS: B sources, then their B targets.

    Attributes:
        reading: what the network reads.
        languages: id of the language to predict (2B,).
        bags: tokens to predict (2B rows), None if none are.
    """

    reading: Reading
    languages: Tensor
    bags: Bags | None


def read(network: nn.Module, reading: Reading) -> Tensor:
    """Vectors (S, D) of a step's sentences, in their own order."""
    return torch.cat([network(*chunk) for chunk in reading.chunks])[reading.places]


def read_and_predict(network: Predicting, reading: Reading, smoothing: float) -> tuple[Tensor, Tensor]:
    """Vectors (S, D) of a step's sentences, and the cross-entropy of its hidden tokens, nats per token.

    Source: methods 6.5.
    """
    vectors, logits, expected = [], [], []
    for chunk, wanted in zip(reading.chunks, reading.expected, strict=True):
        hidden = wanted != IGNORED
        found, told = network.predicted(chunk.ids, chunk.padded, hidden)
        vectors.append(found)
        logits.append(told.float())
        expected.append(wanted[hidden])
    labels = torch.cat(expected)
    loss = functional.cross_entropy(torch.cat(logits), labels, label_smoothing=smoothing, reduction="sum")
    # Several processes take the mean of their gradients, and hide unlike numbers of tokens.
    everywhere = added(torch.tensor(float(len(labels)), device=labels.device))
    return torch.cat(vectors)[reading.places], loss * processes() / everywhere


def reading_of(
    student: Student,
    sentences: Ragged,
    chunk_tokens: int,
    device: torch.device,
    expected: np.ndarray | None = None,
) -> Reading:
    """Cut sentences into chunks of at most `chunk_tokens` tokens, padding included, and put them on a device.

    Args:
        student: who reads.
        sentences: S of them.
        chunk_tokens: of a chunk.
        device: of the tensors.
        expected: what to predict in the place of each of the sentences' ids, -100 for nothing.
    """
    around = len(student.before) + len(student.after)
    lengths = sentences.lengths + around
    wanted = None if expected is None else Ragged(expected, sentences.offsets)
    nothing = (IGNORED,) * len(student.before), (IGNORED,) * len(student.after)
    chunks, order, labels = [], [], []
    for rows in length_batches(lengths, chunk_tokens):
        ids = sentences.padded(rows, student.pad)
        ids = _surrounded(ids, lengths[rows], student.before, student.after, student.pad)
        chunks.append(Chunk(placed(torch.from_numpy(ids), device), bool(lengths[rows[-1]] < ids.shape[1])))
        order.append(rows)
        if wanted is not None:
            told = _surrounded(wanted.padded(rows, IGNORED), lengths[rows], *nothing, IGNORED)
            labels.append(placed(torch.from_numpy(told), device))
    places = torch.from_numpy(np.argsort(np.concatenate(order), kind="stable"))
    return Reading(tuple(chunks), placed(places, device), tuple(labels))


def _surrounded(
    ids: np.ndarray, lengths: np.ndarray, before: tuple[int, ...], after: tuple[int, ...], fill: int
) -> np.ndarray:
    """Padded rows with ids put before and after each sentence; `lengths` counts these."""
    if not (before or after):
        return ids
    ids = np.pad(ids, ((0, 0), (len(before), len(after))), constant_values=fill)
    ids[:, : len(before)] = before
    for place, one in enumerate(after):
        ids[np.arange(len(ids)), lengths - len(after) + place] = one
    return ids


class Steps:
    """Makes the steps of one EMS training.

    Raises:
        ConfigError: tokens are to be hidden, and the student has none to hide them with.
    """

    def __init__(self, settings: EmsSettings, student: Student, device: torch.device):
        self.settings = settings
        self.student = student
        self.device = device
        self._hides = settings.target == "ugt" or settings.release_mask
        if self._hides and student.mask is None:
            raise ConfigError("target ugt and release_mask hide tokens, but this tokenizer has no mask token")
        self._words = student.words() if self._hides and not settings.release_mask else None

    def step(self, bitext: Bitext, rows: np.ndarray, generator: np.random.Generator) -> Step:
        """The named pairs as a step; `generator` draws the tokens to be hidden, if any are."""
        settings, B = self.settings, len(rows)
        sides = bitext.source.take(rows), bitext.target.take(rows)
        sentences = Ragged.join(sides)
        shown, hidden = self._hide(sentences, generator) if self._hides else (sentences, None)
        languages = bitext.languages_of(rows)
        bags = None
        if settings.xtr_weight:
            other = np.concatenate([np.arange(B, 2 * B), np.arange(B)])
            # What the authors' code expects is what the other side's network read.
            expected = (shown if settings.release_mask else sentences).take(other)
            asked = hidden if settings.target == "ugt" else None
            bags = bags_of(expected.ids, expected.lengths, settings.bag, asked).to(self.device)
        asked_languages = torch.from_numpy(np.concatenate([languages[:, 1], languages[:, 0]]))
        return Step(
            reading_of(self.student, shown, settings.chunk_tokens, self.device),
            placed(asked_languages, self.device),
            bags,
        )

    def _hide(self, sentences: Ragged, generator: np.random.Generator) -> tuple[Ragged, np.ndarray]:
        """Put the mask in the place of one token of one side of each pair.

        Returns:
            The sentences as the network reads them, and for each row the token that is hidden there, -1 for none.
        """
        B = len(sentences.lengths) // 2
        rows = np.arange(B) + B * generator.integers(0, 2, B)
        lengths, starts = sentences.lengths[rows], sentences.offsets[rows]
        places = starts + generator.integers(0, lengths)
        if self._words is not None:
            for _ in range(DRAWS):
                again = ~self._words[sentences.ids[places]]
                places = np.where(again, starts + generator.integers(0, lengths), places)
        hidden = np.full(2 * B, -1)
        hidden[rows] = sentences.ids[places]
        shown = np.array(sentences.ids)
        shown[places] = self.student.mask
        return Ragged(shown, sentences.offsets), hidden
