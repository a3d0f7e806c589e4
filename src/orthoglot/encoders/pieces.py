"""The tokens of sentences with their states, of encoders whose vector is the mean of its tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from orthoglot.encoders.base import length_batches
from orthoglot.errors import DataError


class Pieces(NamedTuple):
    """The tokens of a sentence, without those of a prefix and of the network.

    Attributes:
        spans: first and last character, exclusive (T, 2).
        states: of the last layer (T, D).
        vector: of the sentence (D,), the mean of these states and of those of the prefix and the network.
    """

    spans: np.ndarray
    states: np.ndarray
    vector: np.ndarray


def read_pieces(
    name: str,
    prefix: str,
    spans: Sequence[np.ndarray],
    lengths: np.ndarray,
    batch_tokens: int,
    read: Callable[[np.ndarray], tuple[Sequence[Tensor], Tensor]],
) -> list[Pieces]:
    """The tokens of each sentence.

    Args:
        name: of the encoder.
        prefix: before each sentence.
        spans: of each sentence, in the text with the prefix, of all tokens (T, 2); those of the network are empty.
        lengths: how many tokens the network reads of each (n,); a longer sentence is cut.
        batch_tokens: see `Encoder.encode`.
        read: row numbers (b,), the longest first -> states of each row (T, D), and vectors (b, D).
    Raises:
        DataError: a state is not finite.
    """
    found: dict[int, Pieces] = {}
    with torch.inference_mode():
        for rows in length_batches(lengths, batch_tokens):
            states, vectors = read(rows)
            for row, of_row, vector in zip(rows.tolist(), states, vectors.float().cpu().numpy(), strict=True):
                places = spans[row][: len(of_row)] - len(prefix)
                # The first token of the sentence may begin with the space that ends the prefix.
                own = (places[:, 1] > 0) & (places[:, 1] > places[:, 0])
                found[row] = Pieces(places[own].clip(min=0), of_row.float().cpu().numpy()[own], vector)
                if not np.isfinite(found[row].states).all():
                    raise DataError(f"encoder {name}: a state of sentence {row} (from 0) is not finite")
    return [found[row] for row in range(len(found))]
