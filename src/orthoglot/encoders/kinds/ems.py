"""Kind `ems`: an EMS network, out of a training of the study or from EMS's authors."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from orthoglot.encoders.kinds import Kind, pretrained
from orthoglot.settings import Count, Positive, Settings, Share


class Transformer(Settings):
    """Sizes of a Transformer; each head gets width / heads dimensions."""

    layers: Count
    """Transformer layers."""
    width: Count
    """Numbers of a state, and of a sentence vector; a multiple of `heads`."""
    heads: Count
    """Attention heads."""
    feed_forward: Count
    """Width of the feed-forward layers."""
    max_tokens: Count
    """Tokens of a sentence at most; longer ones are truncated."""

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        return self


class EmsSizes(Transformer):
    """What an EMS network is made of; the defaults are those of the EMS paper."""

    layers: Count = 6
    """Transformer layers."""
    width: Count = 1024
    """Numbers of a state, and of a sentence vector; a multiple of `heads`."""
    heads: Count = 16
    """Attention heads."""
    feed_forward: Count = 4096
    """Width of the feed-forward layers."""
    max_tokens: Count = 120
    """Tokens of a sentence at most; longer ones are truncated."""
    embedding_spread: Positive = 1.0
    """Standard deviation of the initial embeddings; from 1 Adam needs several hundred steps to move them."""
    dropout: Share = 0.1
    """Dropout of embeddings and sublayers."""
    attention_dropout: Share = 0.1
    """Dropout of attention weights."""


KIND = Kind(load=pretrained.load)
