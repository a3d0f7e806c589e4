"""Settings of a mining by jobs."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from orthoglot.apply.early_checks import check_best
from orthoglot.encoders.settings import Precision
from orthoglot.search.margins import Margin, Strategy
from orthoglot.settings import Count, Language, Settings

File = Annotated[str, Field(min_length=1)]


class MineSettings(Settings):
    """Two texts that `snakemake mined` mines; most are options of `orthoglot mine`, with its defaults."""

    source: File
    """UTF-8 text, a sentence per line, plain, .gz or .zst."""
    target: File
    """The same in the other language."""
    source_language: Language | None = None
    """Language code, where the model needs it."""
    target_language: Language | None = None
    """Language code, where the model needs it."""
    model: File | None = None
    """Folder of a model; the ready model if null. One that a job of the preset makes is made first."""
    parts: Count = 8
    """Parts of each text. Each part is a job that encodes, and each pair of parts one that searches; with `cells`, each
    part and each block of cells is one."""
    cells: Count | None = None
    """Cells of k-means, about one for 100 sentences of a text; the search is exact if null."""
    probes: Count = 10
    """Cells that a sentence looks up: it is compared with those of the other text that look up one of them."""
    part: Literal["sentence", "meaning", "language"] | None = None
    """Which vectors; null is the meaning, or the sentence of an encoder alone."""
    precision: Precision = "float32"
    """What the encoder computes in."""
    own_mean: bool = True
    """Whether each text has its own mean (PLDA)."""
    neighborhood: Count = 4
    """Neighbours of a margin."""
    margin: Margin = "ratio"
    """`ratio` is a cosine over the mean of its neighbours', `distance` is less that mean, `absolute` is as it is."""
    retrieval: Strategy = "max"
    """`max` is one to one by falling margin, `intersection` what both sides propose, `forward` and `backward` what one
    proposes."""
    threshold: float | None = None
    """Least margin to keep; all if null."""
    best: Count = 1
    """Pairs of each source sentence, with `retrieval: forward`."""
    numbers: bool = False
    """Whether the numbers of lines are further columns."""

    @model_validator(mode="after")
    def _numbers_fit(self) -> Self:
        check_best(self.best, self.retrieval, self.neighborhood)
        for name in ("probes", "parts"):
            if self.cells and self.cells < getattr(self, name):
                raise ValueError(f"{name} {getattr(self, name)} is above cells {self.cells}")
        return self
