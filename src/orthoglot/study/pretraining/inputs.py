"""What a training of an encoder reads, and where it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Inputs:
    """The folders that a training reads."""

    bitext: Sequence[Path]  # prepared pair folders; a folder's name is its pair
    corpora: Sequence[Path] = ()  # prepared text folders; a folder's name is its language
    tokens: Path | None = None  # as `tokenise` wrote it for these folders
    # other encoders by their role in `EncoderEntry.origins`: "start", "teacher"
    encoders: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class RunOptions:
    """Where a training runs and writes; it does not change what is computed on one kind of device."""

    device: str  # as `resolve_device` reads it
    checkpoint: Path  # folder for the state from which an interrupted training resumes
    curves: Path | None = None  # folder for the curves of `tools`
    tools: tuple[str, ...] = ()  # names in `orthoglot.training.curves.TOOLS`
    speed: Path | None = None  # folder that gets seconds and hardware (`orthoglot.training.speed`)
