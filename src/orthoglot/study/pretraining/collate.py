"""Batches as tensors: sentences packed or in chunks of similar length, and what each is to predict."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from orthoglot.encoders.base import length_batches, placed
from orthoglot.encoders.packed import BLOCK, STEP, Packed, pack, reads_packed
from orthoglot.encoders.token_lists import Ragged
from orthoglot.encoders.tokenization import TextTokenizer
from orthoglot.errors import ConfigError
from orthoglot.study.pretraining.kinds.ems import EmsSettings
from orthoglot.study.pretraining.masking import IGNORED
from orthoglot.study.pretraining.networks import SentenceNetwork, TrainableEncoder
from orthoglot.study.pretraining.objectives.token_bags import Bags, bags_of
from orthoglot.study.pretraining.settings import TrainingSettings
from orthoglot.study.pretraining.tokenised import Bitext
from orthoglot.training.distributed import added, processes

# Draws of a token to hide, until it is not punctuation (docs/papers.md#ems-punctuation).
DRAWS = 5


class Chunk(NamedTuple):
    """Token ids (b, T), and whether any of them is padding; or all sentences of a step, packed."""

    ids: Tensor | Packed
    padded: bool


class Hidden(NamedTuple):
    """The tokens of a chunk that are to be predicted, found in host memory so that nothing waits for a device."""

    places: Tensor  # among all tokens of the chunk, row after row (H,)
    ids: Tensor  # what stood there (H,), -100 where nothing is to be predicted


class TokenBatch(NamedTuple):
    """The sentences that a network reads in one step.

    Steps draw pairs of any length, so that they do not differ in their content. Only within a step sentences are
    ordered by length, and all vectors are computed before any loss.
    """

    chunks: tuple[Chunk, ...]  # all sentences, longest first; packed in their own order
    rows: Tensor  # row of sentence i among the rows of all chunks (S,)
    hidden: tuple[Hidden, ...] = ()  # what to predict of each chunk; empty where no token is hidden


class EmsBatch(NamedTuple):
    """One step of EMS: B sources, then their B targets."""

    sentences: TokenBatch  # what the network reads
    languages: Tensor  # id of the language to predict (2B,)
    bags: Bags | None  # tokens to predict (2B rows), None if none are


def encode_batch(network: nn.Module, batch: TokenBatch) -> Tensor:
    """Vectors (S, D) of the sentences, in their own order."""
    return torch.cat([network(*chunk) for chunk in batch.chunks])[batch.rows]


def encode_and_predict(
    network: SentenceNetwork, batch: TokenBatch, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Vectors (S, D) of the sentences, and the cross-entropy of their hidden tokens, nats per token.

    Source: docs/papers.md#emma-x-mlm.
    """
    vectors, logits, expected = [], [], []
    for chunk, hidden in zip(batch.chunks, batch.hidden, strict=True):
        encoded, predicted = network.predict(chunk.ids, chunk.padded, hidden.places)
        vectors.append(encoded)
        logits.append(predicted.float())
        expected.append(hidden.ids)
    wanted = torch.cat(expected)
    loss = functional.cross_entropy(torch.cat(logits), wanted, label_smoothing=smoothing, reduction="sum")
    # Processes average their gradients, and hide different numbers of tokens.
    everywhere = added((wanted != IGNORED).sum().float())
    return torch.cat(vectors)[batch.rows], loss * processes() / everywhere


def hidden_of(labels: np.ndarray, device: torch.device, multiple: int = 1) -> Hidden:
    """What to predict, from the id at each hidden place and -100 elsewhere (b, T).

    It is filled up to a multiple of so many places by the first token, of which nothing (-100) is predicted.
    """
    flat = labels.ravel()
    places = np.flatnonzero(flat != IGNORED)
    more = -len(places) % multiple
    ids = np.pad(flat[places], (0, more), constant_values=IGNORED)
    return Hidden(*(placed(torch.from_numpy(values), device) for values in (np.pad(places, (0, more)), ids)))


def chunk_size(settings: TrainingSettings, encoder: TrainableEncoder, device: torch.device) -> int | None:
    """What `collate` takes: None where the encoder reads sentences packed, else as the settings say."""
    return None if reads_packed(encoder.network.model, device) else settings.chunk_tokens


def collate(
    tokenizer: TextTokenizer,
    sentences: Ragged,
    chunk_tokens: int | None,
    device: torch.device,
    labels: np.ndarray | None = None,
) -> TokenBatch:
    """Split sentences into chunks of at most `chunk_tokens` tokens, padding included, and move them to a device.

    If it is None, all sentences are packed, and none is padded.

    The tokenizer says what surrounds a sentence and pads it. Labels are what to predict for each of the sentences' ids,
    -100 for nothing.
    """
    before, after = tokenizer.before, tokenizer.after
    shown, wanted = sentences.surrounded(before, after), None
    if labels is not None:
        nothing = [IGNORED] * len(before), [IGNORED] * len(after)
        wanted = Ragged(labels, sentences.offsets).surrounded(*nothing)
    lengths = shown.lengths
    if chunk_tokens is None:
        hidden = () if wanted is None else (hidden_of(wanted.ids.astype(np.int64), device, BLOCK),)
        packed = Chunk(pack(shown, tokenizer.pad, device), False)
        return TokenBatch((packed,), placed(torch.arange(len(lengths)), device), hidden)
    chunks, order, expected = [], [], []
    for rows in length_batches(lengths, chunk_tokens):
        ids = placed(torch.from_numpy(shown.padded(rows, tokenizer.pad)), device)
        chunks.append(Chunk(ids, bool(lengths[rows[-1]] < ids.shape[1])))
        order.append(rows)
        if wanted is not None:
            expected.append(hidden_of(wanted.padded(rows, IGNORED), device))
    rows = np.argsort(np.concatenate(order), kind="stable")
    return TokenBatch(tuple(chunks), placed(torch.from_numpy(rows), device), tuple(expected))


class EmsCollator:
    """Makes the batches of one EMS training.

    Raises:
        ConfigError: Tokens are to be hidden, and the tokenizer has no mask token.
    """

    def __init__(self, settings: EmsSettings, encoder: TrainableEncoder, device: torch.device):
        self.settings = settings
        self.tokenizer = encoder.tokenizer
        self.device = device
        self._hides = settings.target == "ugt" or settings.release_mask
        if self._hides and self.tokenizer.mask is None:
            raise ConfigError("target ugt and release_mask hide tokens, but this tokenizer has no mask token")
        self._is_word = encoder.is_word() if self._hides and not settings.release_mask else None
        self.chunk_tokens = chunk_size(settings, encoder, device)
        # Whether steps may be captured: in float32 bags are read, chunk by chunk, in host memory.
        self.captured = self.chunk_tokens is None and settings.precision == "bfloat16"

    def __call__(self, bitext: Bitext, rows: np.ndarray, generator: np.random.Generator) -> EmsBatch:
        """The given pairs as a batch; `generator` draws the tokens to be hidden, if any are."""
        settings, B = self.settings, len(rows)
        sentences = Ragged.join([side.take(rows) for side in bitext.sides])
        shown, hidden = self._hide(sentences, generator) if self._hides else (sentences, None)
        bags = None
        if settings.xtr_weight:
            other = np.concatenate([np.arange(B, 2 * B), np.arange(B)])
            # In the authors' code the other side predicts what this side's network reads.
            expected = (shown if settings.release_mask else sentences).take(other)
            asked = hidden if settings.target == "ugt" else None
            bags = bags_of(expected.ids, expected.lengths, settings.bag, asked)
            if self.chunk_tokens is None:
                bags = bags.filled(STEP)
            bags = bags.to(self.device)
        source, target = bitext.languages_of(rows).T
        return EmsBatch(
            collate(self.tokenizer, shown, self.chunk_tokens, self.device),
            placed(torch.from_numpy(np.concatenate([target, source])), self.device),
            bags,
        )

    def _hide(self, sentences: Ragged, generator: np.random.Generator) -> tuple[Ragged, np.ndarray]:
        """Replace a token of one side of each pair by the mask; also give each row's hidden token, -1 for none."""
        B = len(sentences.lengths) // 2
        rows = np.arange(B) + B * generator.integers(0, 2, B)
        lengths, starts = sentences.lengths[rows], sentences.offsets[rows]
        positions = starts + generator.integers(0, lengths)
        if self._is_word is not None:
            for _ in range(DRAWS):
                again = ~self._is_word[sentences.ids[positions]]
                positions = np.where(again, starts + generator.integers(0, lengths), positions)
        hidden = np.full(2 * B, -1)
        hidden[rows] = sentences.ids[positions]
        shown = np.array(sentences.ids)
        shown[positions] = self.tokenizer.mask
        return Ragged(shown, sentences.offsets), hidden
