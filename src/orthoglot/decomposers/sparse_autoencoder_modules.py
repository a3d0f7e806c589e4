"""The maps of the sparse autoencoder as PyTorch modules."""

from __future__ import annotations

import math

from torch import Generator, nn


def autoencoder(dim: int, generator: Generator, *, expansion: int, **_: object) -> dict[str, nn.Linear]:
    """Encoder and decoder of `expansion` latents for each dimension, without bias.

    The encoder has PyTorch's default distribution, the decoder starts as its transpose.
    """
    encoder = nn.utils.skip_init(nn.Linear, dim, expansion * dim, bias=False)
    decoder = nn.utils.skip_init(nn.Linear, expansion * dim, dim, bias=False)
    bound = 1 / math.sqrt(dim)
    nn.init.uniform_(encoder.weight, -bound, bound, generator=generator)
    decoder.weight.data.copy_(encoder.weight.data.T)
    return {"encoder": encoder, "decoder": decoder}
