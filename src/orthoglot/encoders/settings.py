"""Settings of the encoders: sizes and training of ours, checkpoint and pooling of others'."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from orthoglot.languages import canonical
from orthoglot.settings import Count, Positive, Settings, Share, Whole

Pooling = Literal["cls", "pooler", "mean"]
Words = Literal["moses", "unicode"]


class TokenizerSettings(Settings):
    """SentencePiece BPE over lower-cased words; the thread count changes the model.

    Words are cut by Moses' rules for the language (the paper's, cannot be exported) or by one rule for all.
    """

    words: Words
    vocabulary: Count
    sentences: Count
    character_coverage: Annotated[float, Field(gt=0, le=1)]
    threads: Count
    seed: int


class Transformer(Settings):
    """Sizes that every encoder trained here has; each head gets width / heads dimensions."""

    layers: Count
    width: Count
    heads: Count
    feed_forward: Count
    max_tokens: Count

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        return self


class EmsSettings(Transformer):
    """EMS (methods: dual encoder trained with XTR and a contrastive objective).

    Embeddings start as N(0, embedding_spread^2): from the paper's 1 Adam takes several hundred steps to leave.
    After the warm-up the learning rate stays (`constant`), falls to 0 at the last step (`cosine`), or is the
    first fifth of such a fall (`slow_cosine`, as released: it ends at 0.9045 of the peak).
    """

    kind: Literal["ems"]
    tokenizer: TokenizerSettings
    embedding_spread: Positive
    dropout: Share
    attention_dropout: Share
    language_width: Count
    projection_width: Count
    temperature: Positive
    xtr_weight: Annotated[float, Field(ge=0)]
    contrastive_weight: Annotated[float, Field(ge=0)]
    learning_rate: Positive
    weight_decay: Annotated[float, Field(ge=0)]
    warmup_steps: Whole
    schedule: Literal["constant", "cosine", "slow_cosine"]
    batch_size: Count
    steps: Count
    validate_every: Count
    sampling_temperature: Positive
    threads: Count
    seed: int


class MlmSettings(Transformer):
    """A small XLM-R trained from scratch with masked language modelling alone: language-biased on purpose."""

    kind: Literal["mlm"]
    vocabulary: Count
    sentences_per_language: Count
    mask_share: Share
    weight_decay: Annotated[float, Field(ge=0)]
    learning_rate: Positive
    warmup_steps: Whole
    batch_size: Count
    steps: Count
    validate_every: Count
    pooling: Pooling
    threads: Count
    seed: int


def _norwegian(code: object) -> object:
    # YAML 1.1 reads an unquoted `no` as false, and `dvc exp run -S` writes it unquoted.
    return "no" if code is False else code


def _canonical(code: str) -> str:
    if canonical(code) != code:
        raise ValueError(f"write the language {code!r} as {canonical(code)!r}")
    return code


class FrozenSettings(Settings):
    """What every encoder that was trained elsewhere states.

    `languages` lists what it covers; an empty list means it is not stated.
    """

    checkpoint: str
    max_tokens: Count
    languages: list[Annotated[str, BeforeValidator(_norwegian), AfterValidator(_canonical)]] = []
    licence: str


class PretrainedSettings(FrozenSettings):
    """Any transformers checkpoint: a folder, or a hub id with a pinned revision (a commit hash)."""

    kind: Literal["pretrained"]
    revision: str
    pooling: Pooling
    prefix: str = ""


class SentenceTransformersSettings(FrozenSettings):
    """Any sentence-transformers model, folder or hub id at a commit; its own modules pool and normalise.

    `prefix` stands in for the prompts that such a model may carry: those are not used.
    """

    kind: Literal["sentence-transformers"]
    revision: str
    prefix: str = ""


class LaserSettings(FrozenSettings):
    """LASER2, from the folder that `orthoglot convert-laser` wrote; the end token counts in `max_tokens`."""

    kind: Literal["laser"]


EncoderSettings = Annotated[
    EmsSettings | MlmSettings | PretrainedSettings | SentenceTransformersSettings | LaserSettings,
    Field(discriminator="kind"),
]


class EmbeddingSettings(Settings):
    """How sentences are turned into vectors and stored; none of it changes a vector beyond rounding.

    `batch_tokens` counts padding, too. Stored as `float16`, a vector takes half the room and differs by at most
    2^-10 of its length; one that float16 cannot hold so well is refused.
    """

    batch_tokens: Count
    dtype: Literal["float32", "float16"]
    train_pairs: Count
