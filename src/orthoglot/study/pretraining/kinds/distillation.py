"""Kind `distillation`: a student that learns a teacher's vectors; its folder is of the kind of the network."""

from __future__ import annotations

from typing import Literal

from orthoglot.settings import Name
from orthoglot.study.pretraining.settings import PretrainingSettings


class DistillationSettings(PretrainingSettings):
    """A student that learns to give both sides of a pair the teacher's vector of the first side."""

    serves_as = frozenset()
    kind: Literal["distillation"]
    teacher: Name
    """Another encoder of the catalogue; it is not trained further."""

    @property
    def origins(self) -> dict[str, str]:
        return {**super().origins, "teacher": self.teacher}


SETTINGS = DistillationSettings
