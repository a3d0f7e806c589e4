"""Settings of how sentence pairs are cleaned and split."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from orthoglot.settings import Count, Settings

PartOfOne = Annotated[float, Field(ge=0, le=1)]


class CleaningSettings(Settings):
    """Filters of one language pair; a pair that any of them rejects is dropped and counted."""

    min_characters: Count = 1
    """Characters of the shorter side at least."""
    max_characters: Count = 1000
    """Characters of the longer side at most."""
    max_ratio: Annotated[float, Field(ge=1)] = 9.0
    """Length of the longer side over that of the shorter at most, after both are divided by their means over
    the corpus."""
    drop_copies: bool = True
    """Whether a pair with the same text on both sides is dropped."""
    drop_duplicates: bool = True
    """Whether a pair that came before is dropped."""
    drop_shifted: bool = True
    """Whether runs of pairs are left out whose translations stand up to three lines before or after, or nowhere: see
    `orthoglot.text.shifts`."""
    realign: bool = False
    """Whether the pairs of a shifted run are put together anew in place of being left out; needs `drop_shifted`."""
    near_duplicates: PartOfOne = 0.0
    """Similarity of a pair that is dropped with one that stays, from 0.7; 0.8 is usual; 0 to keep all. The first stays
    of a text, of pairs the first in one of 256 parts by a hash of the source. See
    `orthoglot.corpora.near_duplicates.similarity`."""
    drop_controls: bool = False
    """Whether a pair with control characters or U+FFFD is dropped; if not, control characters become spaces."""
    min_script: PartOfOne = 0.0
    """Share of the letters of each side at least that are of a script of its language; 0 to accept any."""
    min_numbers: PartOfOne = 0.0
    """Share of the numbers in digits at least that both sides have; 0 to accept any."""
    min_language: PartOfOne = 0.0
    """Probability of its language at least that py3langid gives each side; 0 to not ask it. A language that it does
    not know is accepted."""

    @field_validator("near_duplicates")
    @classmethod
    def _similar_at_least(cls, value: float) -> float:
        if 0 < value < 0.7:
            raise ValueError(f"near_duplicates is {value}: give 0.7 to 1, or 0 to keep all")
        return value

    @model_validator(mode="after")
    def _shifts_are_found(self) -> Self:
        if self.realign and not self.drop_shifted:
            raise ValueError("realign: true needs drop_shifted: true, which finds what is shifted")
        return self

    @model_validator(mode="after")
    def _range_is_not_empty(self) -> Self:
        if self.min_characters > self.max_characters:
            raise ValueError(
                f"min_characters {self.min_characters} is above max_characters {self.max_characters}"
            )
        return self
