"""Settings of the encoders that are trained here: sizes, objectives and recipes.

Defaults are those of the encoder's paper, or of its code where the paper is silent. Lengths in steps have none: they
depend on the text.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from orthoglot.encoders.segmentation import SegmenterName
from orthoglot.encoders.settings import EncoderEntry, Pooling, Precision
from orthoglot.languages import script
from orthoglot.settings import Count, Language, Name, NotNegative, Positive, Settings, Share, Whole

Words = Literal["moses", "unicode"]
# Scripts of the languages that a segmenter cuts.
_HAN, _JAPANESE = frozenset({"Hans", "Hant"}), frozenset({"Jpan"})
SCRIPTS: dict[SegmenterName, frozenset[str]] = {
    **{"jieba": _HAN, "rjieba": _HAN, "jumanpp": _JAPANESE, "sudachi": _JAPANESE},
    "characters": _HAN | _JAPANESE,
}
Vector = Literal["own", "cls", "pooler_linear"]


class TokenizerSettings(Settings):
    """BPE over lower-cased words; the defaults are those of the EMS paper."""

    words: Words = "moses"
    """Split words by Moses' rules for the language (the paper's; cannot be exported) or by one rule for all
    (`unicode`)."""
    segmenters: dict[Language, SegmenterName] = {}
    """With `words: moses`, what cuts text of a language without spaces into words; the paper's are
    `{zh: jieba, ja: jumanpp}`. A language that is not named is only lower-cased. `rjieba` is faster than
    `jieba`, `sudachi` and `characters` need no program but a Python package or none; all of them cut differently."""
    vocabulary: Count = 60_000
    """Number of tokens."""
    sentences: Count = 10_000_000
    """Sentences that the vocabulary is learned from, at most."""
    character_coverage: Annotated[float, Field(gt=0, le=1)] = 0.9995
    """Share of the characters that get a token."""
    threads: Count = 1
    """CPU threads; with `moses`, the vocabulary of SentencePiece depends on their number."""
    beyond_memory: bool = False
    """Whether SentencePiece starts even if the estimate of its memory is more than what is available."""
    seed: int = 1
    """Seed of the sample of sentences."""

    @model_validator(mode="after")
    def _segmenters_know_the_language(self) -> Self:
        if self.segmenters and self.words != "moses":
            raise ValueError(f"segmenters: are for words: moses, not {self.words}")
        for language, name in self.segmenters.items():
            if script(language) not in SCRIPTS[name]:
                raise ValueError(f"segmenters: {name} does not cut {language}")
        return self


class Transformer(Settings):
    """Sizes that every encoder trained here has; each head gets width / heads dimensions."""

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


class ScratchNetwork(Transformer):
    """A new Transformer and a tokenizer of its own; its defaults are those of the EMS paper."""

    start: Literal["scratch"]
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
    tokenizer: TokenizerSettings = TokenizerSettings()
    """How its vocabulary is learned."""
    embedding_spread: Positive = 1.0
    """Standard deviation of the initial embeddings; from 1 Adam needs several hundred steps to move them."""
    dropout: Share = 0.1
    """Dropout of embeddings and sublayers."""
    attention_dropout: Share = 0.1
    """Dropout of attention weights."""


class EncoderNetwork(Settings):
    """Another encoder of the catalogue, whose training continues."""

    start: Literal["encoder"]
    encoder: Name
    """An encoder of kind `pretrained`, `mlm` or `ems`."""
    vector: Vector = "own"
    """The sentence vector is that encoder's (`own`); or, of a transformers checkpoint, the first state
    (`cls`), or the first state after the checkpoint's pooler (a new one where it has none), tanh and a new
    linear map (`pooler_linear`, as in Emma-X's code; docs/papers.md#emma-x-vector)."""


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


class TrainingSettings(EncoderEntry):
    """Settings of every encoder that is trained here, except those of kind `mlm`."""

    network: Annotated[ScratchNetwork | EncoderNetwork, Field(discriminator="start")]
    """What is trained: a new network, or another encoder."""
    withheld: list[Language] = []
    """Languages whose sentence pairs it does not see in training, so that it is measured on languages new to it."""
    chunk_tokens: Count = 4096
    """Tokens, padding included, that the network reads at once: sentences of a step are read in chunks of
    similar length before any loss is computed. Changes speed and memory only."""
    processes: Count = 1
    """Processes, one per GPU, that `torchrun` starts on this machine; each has `batch_size` pairs of a
    step."""
    precision: Precision = "float32"
    """Of the matrix products; softmaxes, losses and the optimiser always use float32."""
    threads: Count = 2
    """CPU threads of a process."""
    seed: int = 1
    """Seed of initial weights, order of the text, dropout and hidden tokens."""

    @property
    def origins(self) -> dict[str, str]:
        """See `EncoderEntry.origins`."""
        return {"start": self.network.encoder} if isinstance(self.network, EncoderNetwork) else {}

    @property
    def reads_corpora(self) -> bool:
        """See `EncoderEntry.reads_corpora`."""
        return self.tokens.text == "corpora"

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
    """How an encoder is trained on sentence pairs; its defaults are those of the EMS paper."""

    batch_size: Count = 152
    """Sentence pairs of a step in each process."""
    learning_rate: Positive = 3e-4
    """Adam's, at its peak."""
    weight_decay: NotNegative = 1e-5
    """L2 penalty that is added to the gradient."""
    amsgrad: bool = True
    """Whether Adam's second moments never fall (EMS's code; docs/papers.md#ems-amsgrad)."""
    warmup_steps: Whole
    """Steps over which the learning rate rises from 0 to its peak."""
    schedule: Literal["constant", "cosine", "slow_cosine"] = "cosine"
    """After the warm-up the learning rate stays (`constant`), falls to 0 at the last step (`cosine`), or is
    the first fifth of such a fall (`slow_cosine`, EMS's code: it ends at 0.9045 of the peak)."""
    steps: Whole
    """Steps in all; 0 leaves the network untrained."""
    validate_every: Count
    """Steps between validations; the best of these states is kept."""
    validation_dropout: bool = False
    """Whether dropout is on during validation, as in EMS's code (docs/papers.md#ems-validation-dropout)."""
    sampling_temperature: Positive = 1.0
    """T: language pairs are drawn in proportion to their size to the power of 1 / T."""

    @property
    def work(self) -> str:
        """See `TrainingSettings.work`."""
        return f"{self.steps} steps of {self.batch_size * self.processes} sentence pairs"

    @property
    def compared(self) -> int:
        """Pairs that are held against each other."""
        return self.batch_size


class EmsSettings(PretrainingSettings):
    """EMS: a dual encoder trained with XTR and a contrastive objective, and every variant of it.

    Source: docs/papers.md#ems-variants.
    """

    serves_as = frozenset({"start", "teacher"})
    kind: Literal["ems"]
    target: Literal["xtr", "ugt"] = "xtr"
    """Of the reconstruction: the other side's bag of tokens (`xtr`), or that and a hidden token (`ugt`)."""
    bag: Literal["counts", "distinct"] = "counts"
    """A repeated token weighs its count (`counts`), or 1 as any other (`distinct`, EMS's code.

    Source: docs/papers.md#ems-repeated-tokens.
    """
    release_mask: bool = False
    """Whether a token of each pair is hidden with `xtr`, too, and the mask symbol expected in its stead
    (EMS's code; docs/papers.md#ems-hidden-token)."""
    language_width: Whole = 128
    """Width of the vector of the language to predict; 0 leaves it out."""
    head_norm: bool = True
    """Whether the reconstruction's head has layer norms, and dropout of the language vector (EMS's code;
    docs/papers.md#ems-head-norm)."""
    tied_output: bool = False
    """Whether the output embedding of the reconstruction is the token embedding."""
    projection_width: Whole = 128
    """Width of the contrastive head; 0 compares the sentence vectors themselves."""
    temperature: Positive = 0.1
    """Of the contrastive loss."""
    margin: NotNegative = 0.0
    """Subtracted from a pair's own cosine before the temperature (additive margin softmax; 0.3 in LaBSE)."""
    negatives: Literal["local", "gathered"] = "local"
    """The other pairs of a process's own batch (the paper), or of all processes."""
    xtr_weight: NotNegative = 1.0
    """Weight of the reconstruction."""
    contrastive_weight: NotNegative = 1.0
    """Weight of the contrastive loss."""

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
    """A student that learns to give both sides of a pair the teacher's vector of the first side."""

    serves_as = frozenset()
    kind: Literal["distillation"]
    teacher: Name
    """Another encoder of the catalogue; it is not trained further."""

    @property
    def origins(self) -> dict[str, str]:
        """See `EncoderEntry.origins`."""
        return {**super().origins, "teacher": self.teacher}


class Phase(Settings):
    """A phase of Emma-X's training."""

    steps: Whole
    """Steps in all; 0 leaves the phase out."""
    batch_size: Annotated[int, Field(ge=2)]
    """Sentence pairs of a step in each process, or sentences where they have no pair."""
    learning_rate: Positive = 4e-5
    """Of the encoder, at its peak; 5e-4 in the paper, 4e-5 in Emma-X's code."""
    classifier_rate: Positive
    """Learning rate of the classifier."""
    warmup_steps: Whole
    """Steps over which the learning rates rise from 0 to their peak."""
    schedule: Literal["constant", "linear", "cosine"] = "cosine"
    """After the warm-up the learning rates stay, or fall to 0 at the last step."""
    validate_every: Count
    """Steps between validations."""
    sampling_temperature: Positive = 3.0
    """T: languages, or pairs of them, are drawn in proportion to their size to the power of 1 / T."""


class ParallelPhase(Phase):
    """Phase 1: translations are drawn together, and the classifier learns how related two vectors are."""

    batch_size: Annotated[int, Field(ge=2)] = 128
    """Sentence pairs of a step in each process."""
    classifier_rate: Positive = 1e-3
    """Learning rate of the classifier."""
    pairs: dict[str, Count] = {}
    """Sentence pairs of a language pair at most; language pairs that are not named have no limit."""
    order: Literal["together", "apart", "classifier"] = "together"
    """Encoder and classifier learn from the same steps (`together`, the paper), or first the one and then the
    other, as many steps each (`apart`, Emma-X's code; docs/papers.md#emma-x-order); or the `classifier` learns
    alone."""
    virtual: Literal["paper", "released"] = "paper"
    """Mixtures of vectors lie between a translation and another sentence, ranked by a ceiling (`paper`), or
    between the anchor and any candidate, ranked by the prior (`released`; docs/papers.md#emma-x-virtual,
    docs/papers.md#emma-x-virtual-rank)."""
    temperature: Positive = 0.04
    """Of the contrastive loss."""
    smoothing: Share = 0.0
    """Label smoothing of the ranks (docs/papers.md#emma-x-smoothing)."""

    @property
    def work(self) -> str:
        """How much is learnt from, but for the size of a step."""
        return {
            "together": f"{self.steps} steps",
            "apart": f"{self.steps} steps of the encoder and as many of the classifier, each",
            "classifier": f"{self.steps} steps of the classifier alone,",
        }[self.order]


class TextPhase(Phase):
    """Phase 2: encoder and classifier label text without translations for each other."""

    batch_size: Whole = 256
    """Sentences without known translations of a step in each process."""
    classifier_rate: Positive = 3e-5
    """Learning rate of the classifier."""
    text: Literal["corpora", "both", "apart", "beside", "none"] = "corpora"
    """Text corpora of the preset (`corpora`); sentences of both sides of every sentence pair (`both`), or of
    no pair both (`apart`); both sides of every pair in one step, without the knowledge of who translates whom
    (`beside`, as in documents on the same subject); or `none`, with a `batch_size` of 0."""
    known_pairs: Whole = 0
    """Sentence pairs that are added to a step with the known rank 1 (docs/papers.md#emma-x-text). With the text `none`
    this is what Emma-X's code does."""
    fixed_classifier: bool = False
    """Whether the classifier stays as Phase 1 left it."""
    lowest_temperature: Positive = 0.05
    """Temperature of rank 1."""
    highest_temperature: Positive = 0.1
    """Temperature of rank N - 1; those between are in even steps."""
    smoothing: Share = 0.3
    """Label smoothing of the ranks (docs/papers.md#emma-x-smoothing)."""

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
    """A further task of the encoder in both phases, as in Emma-X's code (docs/papers.md#emma-x-mlm-reading)."""

    weight: NotNegative = 0.0
    """Of its loss, the cross-entropy of hidden tokens in nats; 0 leaves it out, Emma-X's code has 1. Needs a
    checkpoint of the RoBERTa family with its head."""
    mask_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Share of the tokens that are hidden from both encoders."""
    smoothing: Share = 0.1
    """Label smoothing of the hidden tokens."""


class EmmaXSettings(TrainingSettings):
    """Emma-X: translations first, then text without translations, with ranks of relatedness (docs/papers.md#emma-x)."""

    kind: Literal["emma-x"]
    ranks: Annotated[int, Field(ge=2)] = 4
    """N, the ranks from paraphrase to unrelated."""
    classifier: Literal["mixture", "linear"] = "mixture"
    """A Gaussian mixture over differences of vectors, or a linear map of both (the paper's FCN)."""
    mixture_start: Literal["spread", "random"] = "spread"
    """How the mixture begins; `random` is Emma-X's code (docs/papers.md#emma-x-mixture-start)."""
    queue: Whole = 256
    """Keys of earlier steps among the candidates."""
    momentum: Share = 0.999
    """Of the encoder that makes the keys, per step."""
    key_dropout: bool = False
    """Whether that encoder has dropout, too, as in Emma-X's code."""
    score_momentum: Annotated[float, Field(ge=0, le=1)] = 0.999
    """Of the ranks' cosines, per step; 1 leaves them where they begin."""
    mlm: MaskedLanguageModelling = MaskedLanguageModelling()
    """Masked language modelling as a further task."""
    parallel: ParallelPhase
    """Phase 1, on sentence pairs."""
    text: TextPhase
    """Phase 2, on text."""

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
        work = f"{first.work} of {first.batch_size * self.processes} sentence pairs"
        if not second.steps:
            return work
        parts = [f"{second.batch_size * self.processes} sentences without known translations"] * bool(
            second.batch_size
        )
        parts += [f"{second.known_pairs * self.processes} known sentence pairs"] * bool(second.known_pairs)
        return f"{work}, then {second.steps} steps of {' and '.join(parts)}"


class MlmSettings(EncoderEntry, Transformer):
    """A small XLM-R trained from scratch with masked language modelling alone: language-biased on purpose."""

    serves_as = frozenset({"start", "teacher"})
    kind: Literal["mlm"]
    vocabulary: Count
    """Number of tokens."""
    sentences_per_language: Count = 50_000
    """Sentences of each language that the vocabulary is learned from, at most."""
    mask_share: Share = 0.15
    """Share of the tokens to predict (BERT)."""
    weight_decay: NotNegative = 0.01
    """Of AdamW (BERT)."""
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
