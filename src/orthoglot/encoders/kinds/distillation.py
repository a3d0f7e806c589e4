"""Kind `distillation`: a student that learns a teacher's vectors; its folder is of the kind of the network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orthoglot.encoders.settings import Kind
from orthoglot.encoders.training_settings import PretrainingSettings
from orthoglot.settings import Name

if TYPE_CHECKING:
    from orthoglot.encoders.kinds import Inputs, RunOptions


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


def make(settings: DistillationSettings, name: str, inputs: Inputs, run: RunOptions, output: Path) -> None:
    """As `orthoglot.pretraining.distillation.distill`."""
    # Imported here: PyTorch takes seconds, and params.yaml is read without it.
    from orthoglot.pretraining.distillation import distill

    distill(settings, name, inputs, run, output)


KIND = Kind(DistillationSettings, make)
