"""Kind `emma-x`: Emma-X; its folder is of the kind of the network."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from orthoglot.settings import Count, NotNegative, Positive, Settings, Share, Whole
from orthoglot.study.pretraining.settings import ScratchNetwork, TokensSettings, TrainingSettings


class Phase(Settings):
    """A phase of Emma-X's training."""

    steps: Whole
    """Steps in all; 0 leaves the phase out."""
    batch_size: Annotated[int, Field(ge=2)]
    """Sentence pairs of a step in each process, or sentences where they have no pair."""
    learning_rate: Positive = 4e-5
    """The learning rate of the encoder at its peak; 5e-4 in the paper, 4e-5 in Emma-X's code."""
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
    """The temperature of the contrastive loss."""
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
        return self


class MaskedLanguageModelling(Settings):
    """A further task of the encoder in both phases, as in Emma-X's code (docs/papers.md#emma-x-mlm-reading)."""

    weight: NotNegative = 0.0
    """The weight of its loss, the cross-entropy of hidden tokens in nats; 0 leaves it out, Emma-X's code has 1. Needs a
    checkpoint of the RoBERTa family with its head."""


class EmmaXSettings(TrainingSettings):
    """Emma-X: translations first, then text without translations, with ranks of relatedness (docs/papers.md#emma-x)."""

    kind: Literal["emma-x"]
    ranks: Annotated[int, Field(ge=2)] = 4
    """N, the ranks from paraphrase to unrelated."""
    classifier: Literal["mixture", "linear"] = "mixture"
    """A Gaussian mixture over differences of vectors, or a linear map of both (the paper's FCN)."""
    queue: Whole = 256
    """Keys of earlier steps among the candidates."""
    momentum: Share = 0.999
    """The momentum of the encoder that makes the keys, per step."""
    mlm: MaskedLanguageModelling = MaskedLanguageModelling()
    """Masked language modelling as a further task."""
    parallel: ParallelPhase
    """Phase 1, on sentence pairs."""
    text: TextPhase
    """Phase 2, on text."""

    @property
    def predicts_tokens(self) -> bool:
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
        return self

    @property
    def work(self) -> str:
        first, second = self.parallel, self.text
        work = f"{first.work} of {first.batch_size * self.processes} sentence pairs"
        if not second.steps:
            return work
        parts = []
        if second.batch_size:
            parts.append(f"{second.batch_size * self.processes} sentences without known translations")
        if second.known_pairs:
            parts.append(f"{second.known_pairs * self.processes} known sentence pairs")
        return f"{work}, then {second.steps} steps of {' and '.join(parts)}"


SETTINGS = EmmaXSettings
