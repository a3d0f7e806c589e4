"""Retrieval among the invented languages: the world's own set, which needs no files."""

from __future__ import annotations

from typing import Literal

from orthoglot.study.benchmarks.base import ByLanguage
from orthoglot.study.benchmarks.kinds.local import collect
from orthoglot.study.corpora.patterns import MINI

__all__ = ["SETTINGS", "collect"]


class MiniRetrievalSettings(ByLanguage):
    """The retrieval set of the invented languages."""

    retrieval = True
    kind: Literal["mini"]

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        return {code: [f"{world}/retrieval/{code}-{self.pivot}.tsv.gz"] for code in self.languages}


SETTINGS = MiniRetrievalSettings
