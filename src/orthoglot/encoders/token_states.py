"""The tokens of sentences with their states, of encoders whose vector is the mean of its tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from orthoglot.encoders.base import length_batches
from orthoglot.errors import DataError


class Pieces(NamedTuple):
    """The tokens of a sentence, without those of a prefix and of the network."""

    spans: np.ndarray  # first and last character, exclusive (T, 2)
    states: np.ndarray  # of the last layer (T, D)
    # vector of the sentence (D,), the mean of these states and of those of the prefix and the network
    vector: np.ndarray
    cut: bool  # whether the sentence has more tokens than the network reads


@runtime_checkable
class ReadsPieces(Protocol):
    """An encoder that gives the tokens of sentences, too."""

    @property
    def name(self) -> str: ...

    def check_pieces(self) -> None:
        """Refuse an encoder whose tokens are not in the space of its sentences.

        Raises:
            ConfigError: Its vector is not the mean of its tokens, or its tokenizer does not say where they are.
        """
        ...

    def pieces(self, sentences: Sequence[str], language: str, batch_tokens: int) -> list[Pieces]:
        """The tokens of each sentence with their states, and its vector.

        The arguments are those of `Encoder.encode`.

        Raises:
            ConfigError: As `check_pieces`; or the encoder does not cover the language.
            DataError: As `Encoder.encode`; or a state is not finite.
        """
        ...


def read_pieces(
    name: str,
    prefix: str,
    spans: Sequence[np.ndarray],
    cut: Sequence[bool],
    batch_tokens: int,
    read: Callable[[np.ndarray], tuple[Sequence[Tensor], Tensor]],
) -> list[Pieces]:
    """The tokens of each sentence.

    Args:
        name: The name of the encoder.
        prefix: The text before each sentence.
        spans: Where each token that the network reads of a sentence is in the text with the prefix (T, 2); empty for
            tokens that the network adds.
        cut: Whether a sentence has more tokens.
        batch_tokens: See `Encoder.encode`.
        read: Row numbers (b,), the longest first -> states of each row (T, D), and vectors (b, D).
    Raises:
        DataError: A state is not finite.
    """
    by_row: dict[int, Pieces] = {}
    with torch.inference_mode():
        for rows in length_batches(np.array([len(row_spans) for row_spans in spans]), batch_tokens):
            states, vectors = read(rows)
            for row, of_row, vector in zip(rows.tolist(), states, vectors.float().cpu().numpy(), strict=True):
                places = spans[row] - len(prefix)
                # The first token of the sentence may begin with the space that ends the prefix.
                in_sentence = (places[:, 1] > 0) & (places[:, 1] > places[:, 0])
                numbers = of_row.float().cpu().numpy()[in_sentence]
                by_row[row] = Pieces(places[in_sentence].clip(min=0), numbers, vector, cut[row])
                if not np.isfinite(numbers).all():
                    raise DataError(f"encoder {name}: a state of sentence {row} (from 0) is not finite")
    return [by_row[row] for row in range(len(by_row))]
