"""Settings of the encoders that are trained here: sizes, objectives and recipes.

Defaults are those of the encoder's paper, or of its code where the paper is silent. Lengths in steps have none: they
depend on the text.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from orthoglot.encoders.kinds.ems import EmsSizes
from orthoglot.encoders.segmentation import SegmenterName
from orthoglot.encoders.settings import EncoderEntry
from orthoglot.languages import script
from orthoglot.settings import Count, Language, Name, Positive, Settings, Whole

Words = Literal["moses", "unicode"]
# Scripts of the languages that a segmenter cuts.
_HAN, _JAPANESE = frozenset({"Hans", "Hant"}), frozenset({"Jpan"})
SCRIPTS: dict[SegmenterName, frozenset[str]] = {
    "jieba": _HAN,
    "rjieba": _HAN,
    "jumanpp": _JAPANESE,
    "sudachi": _JAPANESE,
    "mecab": _JAPANESE,
    "characters": _HAN | _JAPANESE,
    "moses": frozenset({"Khmr", "Laoo", "Mymr", "Thai", "Tibt"}),
}
Vector = Literal["own", "cls", "pooler_linear"]


class TokenizerSettings(Settings):
    """BPE over lower-cased words; the defaults are those of the EMS paper."""

    words: Words = "moses"
    """Split words by Moses' rules for the language (the paper's; cannot be exported) or by one rule for all
    (`unicode`)."""
    segmenters: dict[Language, SegmenterName] = {}
    """What cuts text of a language without spaces into words, with `words: moses`; the paper's are
    `{zh: jieba, ja: jumanpp, th: moses, my: moses}`. A language that is not named is only lower-cased. `rjieba` is
    faster than `jieba`, `sudachi`, `mecab` and `characters` need no program but a Python package or none; all of them
    cut differently."""
    vocabulary: Count = 60_000
    """Number of tokens."""
    sentences: Count = 10_000_000
    """Sentences that the vocabulary is learned from, at most."""
    character_coverage: Annotated[float, Field(gt=0, le=1)] = 0.9995
    """Share of the characters that get a token."""
    threads: Count = 1
    """CPU threads; with `moses`, the vocabulary of SentencePiece depends on their number."""
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


class ScratchNetwork(EmsSizes):
    """A new Transformer and a tokenizer of its own; its defaults are those of the EMS paper."""

    start: Literal["scratch"]
    tokenizer: TokenizerSettings = TokenizerSettings()
    """How its vocabulary is learned."""


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
    """How text is cut for training, once for all encoders that cut it alike."""

    # of a new network; None for the tokenizer of the encoder that training starts from
    tokenizer: TokenizerSettings | None
    max_tokens: Count | None  # where a new network's sentences are cut; None as for that encoder
    text: Literal["corpora", "both", "apart", "none"]  # beside the pairs; see `TextPhase`


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
    chunk_tokens: Count = 1024
    """Tokens, padding included, that the network reads at once: sentences of a step are read in chunks of
    similar length before any loss is computed. Changes speed and memory only. On a GPU, networks of the
    families BERT and RoBERTa read all sentences of a step at once, without padding."""
    processes: Count = 1
    """Processes, one per GPU, that `torchrun` starts on this machine; each has `batch_size` pairs of a
    step."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """The precision of matrix products; softmaxes, losses and the optimiser always use float32."""
    threads: Count = 2
    """CPU threads of a process."""
    seed: int = 1
    """Seed of initial weights, order of the text, dropout and hidden tokens."""

    @property
    def origins(self) -> dict[str, str]:
        return {"start": self.network.encoder} if isinstance(self.network, EncoderNetwork) else {}

    @property
    def reads_corpora(self) -> bool:
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
        return f"{self.steps} steps of {self.batch_size * self.processes} sentence pairs"

    @property
    def compared(self) -> int:
        """Pairs that are held against each other."""
        return self.batch_size
