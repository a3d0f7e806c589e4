"""Settings of the encoders: sizes and training of ours, checkpoint and pooling of others'."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from orthoglot.languages import canonical
from orthoglot.settings import Count, Positive, Settings, Share, Whole

Pooling = Literal["cls", "pooler", "mean"]
Precision = Literal["float32", "bfloat16"]
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


class ScratchNetwork(Transformer):
    """A new Transformer and a tokenizer of its own.

    Embeddings start as N(0, embedding_spread^2): from the paper's 1 Adam takes several hundred steps to leave.
    """

    start: Literal["scratch"]
    tokenizer: TokenizerSettings
    embedding_spread: Positive
    dropout: Share
    attention_dropout: Share


class EncoderNetwork(Settings):
    """Another encoder of the catalogue, of kind `pretrained`, `mlm` or `ems`, whose training goes on."""

    start: Literal["encoder"]
    encoder: str


class PretrainingSettings(Settings):
    """How an encoder is trained on pairs of sentences.

    batch_size: pairs of a step in each process; they are drawn whatever their length.
    chunk_tokens: tokens, padding included, that the network reads at once: a step's sentences are cut by length
        into chunks, and no loss is computed before all are read. It changes speed and memory alone.
    processes: 1, or how many `torchrun` starts, one per device; a step has batch_size pairs in each.
    precision: of the matrix products; softmaxes, losses and the optimiser always work in float32.
    amsgrad: Adam's second moments never fall (the authors' code; methods 5.9, E7).
    schedule: after the warm-up the learning rate stays (`constant`), falls to 0 at the last step (`cosine`), or is
        the first fifth of such a fall (`slow_cosine`, as released: it ends at 0.9045 of the peak).
    steps: in all; 0 leaves the network as it is, which is what to compare a training with.
    validation_dropout: dropout stays on while validating, as in the authors' code (methods 5.9, E11).
    """

    network: Annotated[ScratchNetwork | EncoderNetwork, Field(discriminator="start")]
    batch_size: Count
    chunk_tokens: Count
    processes: Count
    precision: Precision
    learning_rate: Positive
    weight_decay: Annotated[float, Field(ge=0)]
    amsgrad: bool
    warmup_steps: Whole
    schedule: Literal["constant", "cosine", "slow_cosine"]
    steps: Whole
    validate_every: Count
    validation_dropout: bool
    sampling_temperature: Positive
    threads: Count
    seed: int

    @property
    def origins(self) -> dict[str, str]:
        """The other encoders that the training needs, by what they are to it."""
        return {"start": self.network.encoder} if isinstance(self.network, EncoderNetwork) else {}

    @property
    def compared(self) -> int:
        """Pairs that are held against each other."""
        return self.batch_size


class EmsSettings(PretrainingSettings):
    """EMS: a dual encoder trained with XTR and a contrastive objective, and every variant of it (methods 5.6).

    target: of the reconstruction: `xtr`, the other side's bag of tokens, or `ugt`, that and a hidden token.
    bag: what a repeated token weighs: its count (`counts`, a distribution), or 1 like any other (`distinct`, the
        authors' code; methods 5.9, E1).
    release_mask: hide a token of each pair under `xtr`, too, and expect the mask symbol in its stead (E2).
    language_width: of the vector of the language to predict; 0 leaves it out.
    head_norm: layer norms, and dropout of the language vector, in the reconstruction's head (E3).
    tied_output: the reconstruction's output embedding is the token embedding.
    projection_width: of the contrastive head; 0 compares sentence vectors themselves.
    margin: taken from a pair's own cosine before the temperature (additive margin softmax).
    negatives: the other pairs of a process's own batch (`local`, as the paper did), or of all processes.
    """

    kind: Literal["ems"]
    target: Literal["xtr", "ugt"]
    bag: Literal["counts", "distinct"]
    release_mask: bool
    language_width: Whole
    head_norm: bool
    tied_output: bool
    projection_width: Whole
    temperature: Positive
    margin: Annotated[float, Field(ge=0)]
    negatives: Literal["local", "gathered"]
    xtr_weight: Annotated[float, Field(ge=0)]
    contrastive_weight: Annotated[float, Field(ge=0)]

    @property
    def compared(self) -> int:
        """See `PretrainingSettings.compared`."""
        return self.batch_size * (self.processes if self.negatives == "gathered" else 1)

    @model_validator(mode="after")
    def _something_to_learn(self) -> Self:
        if not (self.xtr_weight or self.contrastive_weight):
            raise ValueError("xtr_weight and contrastive_weight are both 0: there is nothing to learn")
        if not self.xtr_weight and (self.target == "ugt" or self.release_mask):
            raise ValueError(
                "target ugt and release_mask hide tokens, which nothing predicts where xtr_weight is 0: "
                "take target xtr and release_mask false, or give xtr_weight a weight"
            )
        return self


class DistillationSettings(PretrainingSettings):
    """A student that gives both sides of a pair the teacher's vector of the first side.

    teacher: another encoder of the catalogue; it stays as it is.
    """

    kind: Literal["distillation"]
    teacher: str

    @property
    def origins(self) -> dict[str, str]:
        """See `PretrainingSettings.origins`."""
        return {**super().origins, "teacher": self.teacher}


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
    EmsSettings
    | DistillationSettings
    | MlmSettings
    | PretrainedSettings
    | SentenceTransformersSettings
    | LaserSettings,
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
