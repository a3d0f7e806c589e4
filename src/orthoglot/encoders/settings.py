"""Settings of the encoders: sizes and training of ours, checkpoint and pooling of others'."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from orthoglot.settings import Count, Language, Positive, Settings, Share, Whole

Pooling = Literal["cls", "pooler", "mean"]
Precision = Literal["float32", "bfloat16"]
Words = Literal["moses", "unicode"]
Vector = Literal["own", "cls", "pooler_linear"]


class TokenizerSettings(Settings):
    """BPE over lower-cased words.

    words: split by Moses' rules for the language, as in the paper (such an encoder cannot be exported), or by one
        Unicode rule for all languages.
    threads: of the training; with `moses`, SentencePiece's result depends on it.
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
    """Another encoder of the catalogue, of kind `pretrained`, `mlm` or `ems`, whose training goes on.

    vector: the sentence is what it was for that encoder (`own`); or, of a transformers checkpoint, its first state
        (`cls`), or that through the checkpoint's pooler (a new one where it has none), tanh and a new linear map
        (`pooler_linear`, as Emma-X's code does; methods 6.10, X3).
    """

    start: Literal["encoder"]
    encoder: str
    vector: Vector = "own"


class TokensSettings(Settings):
    """How text is cut for training, once for all encoders that cut it alike.

    tokenizer: of a new one; none where it is that of the encoder that training starts from.
    max_tokens: where a new network's sentences are cut; none where it is as for that encoder.
    text: sentences without known translations beside the pairs; see `TextPhase`.
    """

    tokenizer: TokenizerSettings | None
    max_tokens: Count | None
    text: Literal["corpora", "both", "apart", "none"]


def _flat(values: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    """Settings within settings by their whole names: ("text.steps", 300)."""
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{place}{name}.")
        else:
            yield place + name, value


class TrainingSettings(Settings):
    """What a training of an encoder states, whatever it learns from.

    chunk_tokens: tokens, padding included, that the network reads at once: a step's sentences are cut by length
        into chunks, and no loss is computed before all are read. It changes speed and memory alone.
    processes: 1, or how many `torchrun` starts, one per device; a step has batch_size pairs in each.
    precision: of the matrix products; softmaxes, losses and the optimiser always work in float32.
    """

    kind: str
    network: Annotated[ScratchNetwork | EncoderNetwork, Field(discriminator="start")]
    chunk_tokens: Count
    processes: Count
    precision: Precision
    threads: Count
    seed: int

    @property
    def origins(self) -> dict[str, str]:
        """The other encoders that the training needs, by what they are to it."""
        return {"start": self.network.encoder} if isinstance(self.network, EncoderNetwork) else {}

    @property
    def predicts_tokens(self) -> bool:
        """Whether the network is to tell hidden tokens, by a head that its checkpoint brings."""
        return False

    @property
    def tokens(self) -> TokensSettings:
        """How the text that it learns from is cut."""
        if isinstance(self.network, ScratchNetwork):
            tokenizer, most = self.network.tokenizer, self.network.max_tokens
            return TokensSettings(tokenizer=tokenizer, max_tokens=most, text="none")
        return TokensSettings(tokenizer=None, max_tokens=None, text="none")

    @property
    def objective(self) -> dict[str, Any]:
        """The settings that say what is learnt, for a model card."""
        return dict(_flat(self.model_dump(exclude={"kind", *PretrainingSettings.model_fields})))

    @property
    @abstractmethod
    def work(self) -> str:
        """How much is learnt from, for a model card."""


class PretrainingSettings(TrainingSettings):
    """How an encoder is trained on pairs of sentences.

    batch_size: pairs of a step in each process; they are drawn whatever their length.
    amsgrad: Adam's second moments never fall (the authors' code; methods 5.9, E7).
    schedule: after the warm-up the learning rate stays (`constant`), falls to 0 at the last step (`cosine`), or is
        the first fifth of such a fall (`slow_cosine`, as released: it ends at 0.9045 of the peak).
    steps: in all; 0 leaves the network as it is, which is what to compare a training with.
    validation_dropout: dropout stays on while validating, as in the authors' code (methods 5.9, E11).
    """

    batch_size: Count
    learning_rate: Positive
    weight_decay: Annotated[float, Field(ge=0)]
    amsgrad: bool
    warmup_steps: Whole
    schedule: Literal["constant", "cosine", "slow_cosine"]
    steps: Whole
    validate_every: Count
    validation_dropout: bool
    sampling_temperature: Positive

    @property
    def work(self) -> str:
        """See `TrainingSettings.work`."""
        return f"{self.steps} steps of {self.batch_size * self.processes} sentence pairs"

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


class Phase(Settings):
    """A part of Emma-X's training.

    steps: 0 leaves the part out.
    batch_size: sentence pairs of a step, or sentences where they have no pair, in each process.
    learning_rate: of the encoder.
    classifier_rate: of the classifier.
    sampling_temperature: languages, or pairs of them, come by their size to the power of 1 / T: 1 keeps the shares, a
        large T makes them equal.
    """

    steps: Whole
    batch_size: Annotated[int, Field(ge=2)]
    learning_rate: Positive
    classifier_rate: Positive
    warmup_steps: Whole
    schedule: Literal["constant", "linear", "cosine"]
    validate_every: Count
    sampling_temperature: Positive


class ParallelPhase(Phase):
    """Phase 1: translations are drawn together, and the classifier learns what is how far from what.

    pairs: at most so many sentence pairs of the named language pairs; all of those that are not named.
    order: encoder and classifier learn from the same steps (`together`, the paper), or first the one and then the
        other, as many steps each (`apart`, the authors' code; methods 6.10, X17); or the encoder stays as it came, and
        the `classifier` alone learns.
    virtual: between a translation and another sentence, ranked by a ceiling (`paper`), or between the anchor and any
        candidate, ranked by the prior (`released`; X5, X6).
    temperature: of the contrastive loss.
    smoothing: of the ranks that the classifier is to tell (X7).
    """

    pairs: dict[str, Count]
    order: Literal["together", "apart", "classifier"]
    virtual: Literal["paper", "released"]
    temperature: Positive
    smoothing: Share

    @property
    def work(self) -> str:
        """How much is learnt from, but for the size of a step."""
        return {
            "together": f"{self.steps} steps",
            "apart": f"{self.steps} steps of the encoder and as many of the classifier, each",
            "classifier": f"{self.steps} steps of the classifier alone,",
        }[self.order]


class TextPhase(Phase):
    """Phase 2: encoder and classifier label text without translations for each other.

    text: the text corpora of the preset (`corpora`); sentences of both sides of every sentence pair (`both`), or of no
        pair both (`apart`); both sides of every pair in one step, without telling who translates whom (`beside`, as
        in documents about the same things); or `none`, with a batch_size of 0.
    known_pairs: so many sentence pairs are added to a step, known to be of rank 1 (methods 6.10, X14). With the text
        `none` it is what the authors' code does.
    fixed_classifier: it stays as Phase 1 left it.
    lowest_temperature, highest_temperature: of rank 1 and of rank N - 1; in even steps between.
    smoothing: of the ranks that the classifier is to tell (X7).
    """

    batch_size: Whole
    text: Literal["corpora", "both", "apart", "beside", "none"]
    known_pairs: Whole
    fixed_classifier: bool
    lowest_temperature: Positive
    highest_temperature: Positive
    smoothing: Share

    @model_validator(mode="after")
    def _a_step_has_something_to_compare(self) -> Self:
        if (self.text == "none") != (self.batch_size == 0):
            raise ValueError(f"text {self.text} with a batch_size of {self.batch_size}: none goes with 0")
        if self.text == "beside" and self.batch_size % 2:
            raise ValueError(
                f"text beside with a batch_size of {self.batch_size}: its sentences come by twos"
            )
        if self.batch_size < 2 and self.known_pairs < 2:
            raise ValueError("a step needs two sentences or two known pairs: there is nothing to compare")
        if self.lowest_temperature > self.highest_temperature:
            raise ValueError(
                "lowest_temperature is above highest_temperature: nearer ranks want the lower one"
            )
        return self


class MaskedLanguageModelling(Settings):
    """A further task of the encoder in both phases, as in the authors' code (methods 6.5, X13).

    weight: of its loss, the cross-entropy of hidden tokens in nats; 0 leaves it out. Needs a checkpoint of the RoBERTa
        family with its head.
    mask_share: of the tokens, hidden in what both encoders read.
    smoothing: of the tokens to tell.
    """

    weight: Annotated[float, Field(ge=0)]
    mask_share: Annotated[float, Field(gt=0, lt=1)]
    smoothing: Share


class EmmaXSettings(TrainingSettings):
    """Emma-X: translations first, then text without translations, with ranks of relatedness (methods 6).

    ranks: N, from paraphrase to unrelated.
    classifier: a Gaussian `mixture` over differences of vectors, or a `linear` map of both (the paper's FCN).
    mixture_start: how the mixture begins; `random` is the authors' code (methods 6.2).
    queue: keys of earlier steps among the candidates.
    momentum: of the encoder that makes the keys.
    key_dropout: it drops out, too, as in the authors' code.
    score_momentum: of the ranks' cosines; 1 leaves them where they begin.
    """

    kind: Literal["emma-x"]
    ranks: Annotated[int, Field(ge=2)]
    classifier: Literal["mixture", "linear"]
    mixture_start: Literal["spread", "random"]
    queue: Whole
    momentum: Share
    key_dropout: bool
    score_momentum: Annotated[float, Field(ge=0, le=1)]
    mlm: MaskedLanguageModelling
    parallel: ParallelPhase
    text: TextPhase

    @property
    def predicts_tokens(self) -> bool:
        """See `TrainingSettings.predicts_tokens`."""
        return self.mlm.weight > 0

    @property
    def tokens(self) -> TokensSettings:
        """See `TrainingSettings.tokens`; where translations lie beside each other, text is that of the pairs."""
        kind = "none" if self.text.text == "beside" or not self.text.steps else self.text.text
        return super().tokens.model_copy(update={"text": kind})

    @model_validator(mode="after")
    def _labels_say_something(self) -> Self:
        most = (self.ranks - 1) / self.ranks
        for name, phase in (("parallel", self.parallel), ("text", self.text)):
            if phase.smoothing >= most:
                raise ValueError(
                    f"{name}.smoothing of {self.ranks} ranks must be below {most:.3g}: from there on the label is not "
                    "the likeliest rank"
                )
        if self.mlm.weight and self.parallel.order == "classifier" and not self.text.steps:
            raise ValueError("mlm.weight: the encoder does not learn; give it a weight of 0")
        if self.mlm.weight and isinstance(self.network, ScratchNetwork):
            raise ValueError("mlm.weight: a new network has no head that tells tokens; give it a weight of 0")
        if self.classifier == "linear" and self.mixture_start == "random":
            raise ValueError("mixture_start random is of a mixture, which classifier linear has not")
        return self

    @property
    def work(self) -> str:
        """See `TrainingSettings.work`."""
        first, second = self.parallel, self.text
        told = f"{first.work} of {first.batch_size * self.processes} sentence pairs"
        if not second.steps:
            return told
        parts = [f"{second.batch_size * self.processes} sentences without known translations"] * bool(
            second.batch_size
        )
        parts += [f"{second.known_pairs * self.processes} known sentence pairs"] * bool(second.known_pairs)
        return f"{told}, then {second.steps} steps of {' and '.join(parts)}"


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


class FrozenSettings(Settings):
    """What every encoder that was trained elsewhere states.

    `languages` lists what it covers; an empty list means it is not stated.
    """

    kind: str
    checkpoint: str
    max_tokens: Count
    languages: list[Language] = []
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


class EmbeddingSettings(Settings):
    """How sentences are turned into vectors and stored; none of it changes a vector beyond rounding.

    `batch_tokens` counts padding, too. Stored as `float16`, a vector takes half the room and differs by at most
    2^-10 of its length; one that float16 cannot hold so well is refused.
    """

    batch_tokens: Count
    dtype: Literal["float32", "float16"]
    train_pairs: Count


def origins(settings: Settings) -> dict[str, str]:
    """The other encoders that an encoder's training needs, by what they are to it."""
    return settings.origins if isinstance(settings, TrainingSettings) else {}


def reads_corpora(settings: Settings) -> bool:
    """Whether an encoder is trained on the text corpora of the preset."""
    return isinstance(settings, TrainingSettings) and settings.tokens.text == "corpora"
