"""LASER1 and LASER2: a BiLSTM over lower-cased subwords whose largest states are the sentence.

Source: docs/papers.md#sentence-vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from orthoglot.encoders.base import TokenEncoder, compute_dtype, resolve_device
from orthoglot.encoders.folder import stated
from orthoglot.encoders.laser_tokenizers import PAD, open_tokenizer
from orthoglot.encoders.settings import Precision
from orthoglot.encoders.token_lists import Ragged
from orthoglot.encoders.weights_files import open_converted


@dataclass(frozen=True)
class LaserSizes:
    """What shapes the network: width 320, 5 layers of 512 in each direction; LASER1 has 73640 pieces, LASER2 50004."""

    vocabulary: int
    width: int
    hidden: int
    layers: int


class LaserModel(nn.Module):
    """Token ids to sentence vectors.

    h = BiLSTM(E ids);  u_k = max_t h_tk over the tokens of the sentence, its end token among them

    Every direction of every layer sees a sentence's own tokens only, and padded states count as -inf, so neither
    the amount of padding nor its side changes a vector. There is no language embedding: in LASER 1 and 2 the
    encoder is the same for all languages (LASER 1 has one in its decoder, which is not published here).
    Source: docs/papers.md#sentence-vectors; Artetxe and Schwenk 2019.
    """

    def __init__(self, sizes: LaserSizes):
        super().__init__()
        # Named as in the official weights.
        self.embed_tokens = nn.Embedding(sizes.vocabulary, sizes.width, padding_idx=PAD)
        self.lstm = nn.LSTM(
            sizes.width, sizes.hidden, num_layers=sizes.layers, bidirectional=True, batch_first=True
        )

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Ids (B, T) filled up with 1 at the end, tokens per row (B,) on the CPU; to (B, D), not normalised."""
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed_tokens(ids), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, padding_value=float("-inf")
        )
        return states.max(dim=1).values


@dataclass(frozen=True)
class LaserEncoder(TokenEncoder):
    """A converted LASER1 or LASER2; see `Encoder`."""

    @classmethod
    def load(cls, folder: Path, device: str = "cpu", precision: Precision = "float32") -> LaserEncoder:
        """Read an encoder folder: encoder.json, and the folder that it names, which `orthoglot get` wrote.

        Raises:
            ConfigError: LASER1 needs a segmenter that is not installed.
            DataError: A file is damaged or does not fit the stated sizes.
            OfflineError: The converted LASER is not on this machine.
        """
        place, fields = stated(folder, "name", "languages", "max_tokens")
        target = resolve_device(device)
        sizes, model = open_converted(place, fields["name"], LaserSizes, LaserModel)
        return cls(
            dim=2 * sizes.hidden,
            tokenizer=open_tokenizer(place, fields["name"]),
            model=model.to(target, compute_dtype(precision, target)).eval(),
            device=target,
            **fields,
        )

    def vectors(self, tokens: Ragged, batch: np.ndarray) -> Tensor:
        return self.model(self.padded(tokens, batch), torch.from_numpy(tokens.lengths[batch]))
