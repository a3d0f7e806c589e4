"""A step's pairs as tensors: sentences in chunks of like length, and what each is to predict."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from orthoglot.encoders.base import length_batches, placed
from orthoglot.encoders.settings import EmsSettings
from orthoglot.encoders.tokenization import Ragged
from orthoglot.errors import ConfigError
from orthoglot.objectives.bags import Bags, bags_of
from orthoglot.training.bitext import Bitext
from orthoglot.training.students import Student

# Draws of a token to hide, until it is not punctuation (methods 5.9, E9).
DRAWS = 5


class Chunk(NamedTuple):
    """Token ids (b, T), and whether any of them is padding."""

    ids: Tensor
    padded: bool


class Reading(NamedTuple):
    """The sentences that a network reads in one step.

    They come as pairs of whatever length, so that steps do not differ in what they are about; only within a step
    are they put in order of length, and all vectors are there before any loss is computed.

    Attributes:
        chunks: all sentences, longest first.
        places: where sentence i lies among the rows of all chunks (S,).
    """

    chunks: tuple[Chunk, ...]
    places: Tensor


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


def reading_of(student: Student, sentences: Ragged, chunk_tokens: int, device: torch.device) -> Reading:
    """Cut sentences into chunks of at most `chunk_tokens` tokens, padding included, and put them on a device."""
    before, after = (np.array(ids, dtype=np.int64) for ids in (student.before, student.after))
    lengths = sentences.lengths + len(before) + len(after)
    chunks, order = [], []
    for rows in length_batches(lengths, chunk_tokens):
        ids = sentences.padded(rows, student.pad)
        if len(before) + len(after):
            ids = np.pad(ids, ((0, 0), (len(before), len(after))), constant_values=student.pad)
            ids[:, : len(before)] = before
            for place, one in enumerate(after):
                ids[np.arange(len(rows)), lengths[rows] - len(after) + place] = one
        padded = bool(lengths[rows[-1]] < ids.shape[1])
        chunks.append(Chunk(placed(torch.from_numpy(ids), device), padded))
        order.append(rows)
    places = torch.from_numpy(np.argsort(np.concatenate(order), kind="stable"))
    return Reading(tuple(chunks), placed(places, device))


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
