"""What a training of an encoder reads, and where it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


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
        speed: folder that gets seconds and hardware (`orthoglot.training.speed`).
    """

    device: str
    checkpoint: Path
    curves: Path | None = None
    tools: tuple[str, ...] = ()
    speed: Path | None = None
