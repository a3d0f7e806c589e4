"""The kinds of encoders: one line each.

To add a kind, write its settings and the functions that make and open an encoder folder, and add a line to `KINDS`.
Functions are imported when they are called, so that reading params.yaml stays fast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, NamedTuple, Union

from pydantic import Field

from orthoglot.encoders.folder import card
from orthoglot.encoders.settings import (
    EncoderEntry,
    FrozenSettings,
    LaserSettings,
    Precision,
    PretrainedSettings,
    SentenceTransformersSettings,
    UseSettings,
)
from orthoglot.encoders.training_settings import DistillationSettings, EmmaXSettings, EmsSettings, MlmSettings
from orthoglot.errors import ConfigError

if TYPE_CHECKING:
    from orthoglot.encoders.base import Encoder


class Kind(NamedTuple):
    """A kind of encoder.

    Attributes:
        settings: its class; the field `kind` holds the name of the kind.
        make: "module:function" that writes an encoder folder: of a trained kind (settings, name, inputs, run, output),
            of a kind that was trained elsewhere (settings, name, output).
        load: "module:class" with `load(folder, device, precision)`, which opens a folder of this kind; empty where
            `make` writes folders of other kinds.
        tokenizer: "module:function" from the folder of a checkpoint and a name to a tokenizer with `encode` and
            `unknown`; see `TextTokenizer`.
    """

    settings: type[EncoderEntry]
    make: str
    load: str = ""
    tokenizer: str = "orthoglot.encoders.tokenization:open_tokenizer"


KINDS = {
    "ems": Kind(
        EmsSettings,
        "orthoglot.pretraining.ems:pretrain_ems",
        "orthoglot.encoders.pretrained:PretrainedEncoder",
    ),
    "distillation": Kind(DistillationSettings, "orthoglot.pretraining.distillation:distill"),
    "emma-x": Kind(EmmaXSettings, "orthoglot.pretraining.emma_x:pretrain_emma_x"),
    "mlm": Kind(
        MlmSettings,
        "orthoglot.pretraining.mlm:pretrain_mlm",
        "orthoglot.encoders.pretrained:PretrainedEncoder",
    ),
    "pretrained": Kind(
        PretrainedSettings,
        "orthoglot.encoders.link:link_packaged",
        "orthoglot.encoders.pretrained:PretrainedEncoder",
    ),
    "sentence-transformers": Kind(
        SentenceTransformersSettings,
        "orthoglot.encoders.sentence_transformer:link_sentence_transformers",
        "orthoglot.encoders.sentence_transformer:SentenceTransformersEncoder",
        "orthoglot.encoders.sentence_transformer:open_first_tokenizer",
    ),
    "laser": Kind(
        LaserSettings,
        "orthoglot.encoders.link:link",
        "orthoglot.encoders.laser:LaserEncoder",
        "orthoglot.encoders.laser:LaserTokenizer",
    ),
    "use": Kind(
        UseSettings,
        "orthoglot.encoders.link:link_packaged",
        "orthoglot.encoders.use:UseEncoder",
        "orthoglot.encoders.use:UseTokenizer",
    ),
}

# Kinds of the folders that trainings without a `load` of their own write.
SAVED_AS = ("ems", "pretrained", "sentence-transformers")

if TYPE_CHECKING:
    EncoderSettings = EncoderEntry
else:
    EncoderSettings = Annotated[
        Union[tuple(kind.settings for kind in KINDS.values())],  # noqa: UP007 - known at run time
        Field(discriminator="kind"),
    ]


@dataclass(frozen=True)
class Inputs:
    """The folders that a training reads.

    Attributes:
        bitext: prepared pair folders; a folder's name is its pair.
        corpora: prepared text folders; a folder's name is its language.
        tokens: as `tokenise` wrote it for these folders.
        encoders: other encoders by their role in `EncoderEntry.origins`: "start", "teacher".
    """

    bitext: Sequence[Path]
    corpora: Sequence[Path] = ()
    tokens: Path | None = None
    encoders: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class RunOptions:
    """Where a training runs and writes; it does not change what is computed on one kind of device.

    Attributes:
        device: as `resolve_device` reads it.
        checkpoint: folder for the state from which an interrupted training resumes.
        curves: folder for the curves of `tools`.
        tools: names in `orthoglot.training.curves.TOOLS`.
    """

    device: str
    checkpoint: Path
    curves: Path | None = None
    tools: tuple[str, ...] = ()


def make_encoder(settings: EncoderSettings, name: str, inputs: Inputs, run: RunOptions, output: Path) -> None:
    """Train an encoder, or link one that was trained elsewhere, and write its folder.

    Args:
        settings: of any kind.
        name: of the encoder, kept in encoder.json.
        inputs: what a training reads.
        run: where a training runs.
        output: an existing empty folder.
    """
    make = resolve_name(KINDS[settings.kind].make)
    if isinstance(settings, FrozenSettings):
        make(settings, name, output)
    else:
        make(settings, name, inputs, run, output)


def load_encoder(folder: Path, device: str = "auto", precision: Precision = "float32") -> Encoder:
    """Open an encoder folder.

    Args:
        folder: as written by `make_encoder`.
        device: as `resolve_device` reads it.
        precision: that the network computes in; its vectors are float32.
    Raises:
        ConfigError: of an unknown kind.
        DataError: no such folder, or a damaged one.
    """
    kind = card(folder)["kind"]
    loaders = {name: one.load for name, one in KINDS.items() if one.load}
    if kind not in loaders:
        raise ConfigError(f"encoder {folder}: unknown kind {kind!r}; known are {', '.join(loaders)}")
    encoder: Encoder = resolve_name(loaders[kind]).load(folder, device, precision)
    return encoder
