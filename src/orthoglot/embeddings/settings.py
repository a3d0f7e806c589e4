"""Settings of the vectors on disk."""

from __future__ import annotations

from typing import Literal

from orthoglot.encoders.settings import Precision
from orthoglot.settings import Count, Settings


class EmbeddingSettings(Settings):
    """How sentences are turned into vectors and stored; none of it changes a vector by more than rounding."""

    precision: Precision = "float32"
    """What the encoder's network computes in. `bfloat16` is faster on processors that have it and halves the
    memory of the weights; its vectors have a cosine of more than 0.999 with those of float32
    (measurements/speed-of-encoding/README.md). `int8` is for processors without it: on a CPU, for networks of
    the BERT family, with the extra `int8`. Sentence vectors are always pooled in float32."""
    batch_tokens: Count | None = None
    """Tokens, padding included, that the encoder reads at once; null is 2,048 on a CPU and 16,384 on a GPU."""
    dtype: Literal["float32", "float16"] = "float32"
    """The type of the stored vectors. `float16` takes half the space and changes a vector by at most 2^-10 of its
    length; a vector that it cannot hold so well is refused."""
    train_pairs: Count = 2500
    """Sentence pairs of each language pair that decomposers are trained on, at most."""
    unseen_languages: bool = False
    """Whether text and test sets may be in languages that an encoder does not cover: papers measure such languages."""
