"""Vectors of translations: a meaning that both share, the mean of their language, and noise."""

from __future__ import annotations

import torch

from orthoglot.training.batching import PairRows
from orthoglot.training.decompose import Data

CHUNK = 100_000


def data(pairs: int, dim: int, languages: int, device: torch.device, *, valid: int | None = None) -> Data:
    """Pairs of the first language with the others in turn; vectors are made on the device and stay there."""
    valid = min(pairs // 10 + 1, 5000) if valid is None else valid
    count = pairs + valid
    other = 1 + torch.arange(count) % (languages - 1)
    draw = torch.Generator(device).manual_seed(0)
    means = torch.randn(languages, dim, device=device, generator=draw)
    vectors = torch.empty(2 * count, dim, device=device)
    for first in range(0, count, CHUNK):
        rows = slice(first, min(first + CHUNK, count))
        meaning = torch.randn(rows.stop - rows.start, dim, device=device, generator=draw)
        for side, ids in ((0, torch.zeros_like(other[rows])), (count, other[rows])):
            part = vectors[side + rows.start : side + rows.stop]
            part.normal_(generator=draw).mul_(0.5).add_(meaning).add_(means[ids.to(device)])
    every = torch.arange(count)
    rows = PairRows(every, every + count, torch.zeros_like(other), other)
    codes = [f"qa{chr(97 + number)}" for number in range(languages)]
    return Data(vectors, codes, rows.take(slice(0, pairs)), rows.take(slice(pairs, count)))


def on_cpu(found: Data) -> Data:
    """The same in host memory."""
    return Data(found.vectors.cpu(), found.languages, found.train, found.valid)
