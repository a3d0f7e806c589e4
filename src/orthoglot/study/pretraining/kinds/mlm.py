"""Kind `mlm`: a small XLM-R, trained here."""

from __future__ import annotations

from typing import Literal

from orthoglot.encoders.kinds.ems import Transformer
from orthoglot.encoders.settings import EncoderEntry, Pooling
from orthoglot.settings import Count, Positive, Whole


class MlmSettings(EncoderEntry, Transformer):
    """A small XLM-R trained from scratch with masked language modelling alone: language-biased on purpose."""

    serves_as = frozenset({"start", "teacher"})
    kind: Literal["mlm"]
    vocabulary: Count
    """Number of tokens."""
    learning_rate: Positive = 1e-3
    """AdamW's, at its peak."""
    warmup_steps: Whole
    """Steps over which the learning rate rises from 0 to its peak."""
    batch_size: Count = 128
    """Sentences of a step."""
    steps: Count
    """Steps in all."""
    validate_every: Count
    """Steps between validations."""
    pooling: Pooling = "mean"
    """The sentence vector: the mean of the states, the first state (`cls`), or that after the pooler
    (`pooler`)."""
    threads: Count = 2
    """CPU threads."""
    seed: int = 1
    """Seed of initial weights, order of the text, dropout and hidden tokens."""


SETTINGS = MlmSettings
