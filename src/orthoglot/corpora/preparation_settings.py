"""Settings of how sentence pairs are cleaned and split."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from orthoglot.settings import Count, Settings, Share, Whole

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
    duplicates_by: Literal["letters-and-digits", "letters", "words"] = "letters-and-digits"
    """What makes two pairs the same: letters and digits of both sides; letters alone, so that other numbers make no
    other pair; or the set of words, in any order."""
    nfc: bool = False
    """Whether sentences are brought to Unicode's composed form (NFC)."""
    drop_controls: bool = False
    """Whether a pair with control characters or U+FFFD is dropped; if not, control characters become spaces."""
    min_script: PartOfOne = 0.0
    """Share of the letters of each side at least that are of a script of its language; 0 to accept any."""
    min_numbers: PartOfOne = 0.0
    """Share of the numbers in digits at least that both sides have; 0 to accept any."""
    min_language: PartOfOne = 0.0
    """Probability of its language at least that py3langid gives each side; 0 to not ask it. A language that it does
    not know is accepted."""
    opusfilter: str = ""
    """File of OpusFilter with filters that judge in place of those of this class; only benchmarks, `drop_duplicates`,
    `duplicates_by` and `nfc` count as well. Needs the extra `opusfilter`."""

    @model_validator(mode="after")
    def _one_set_of_filters(self) -> Self:
        names = ("drop_controls", "min_script", "min_numbers", "min_language")
        if self.opusfilter and (more := [name for name in names if getattr(self, name)]):
            raise ValueError(f"opusfilter judges in place of {', '.join(more)}: name filters in its file")
        return self

    @model_validator(mode="after")
    def _range_is_not_empty(self) -> Self:
        if self.min_characters > self.max_characters:
            raise ValueError(
                f"min_characters {self.min_characters} is above max_characters {self.max_characters}"
            )
        return self


class SplitSettings(Settings):
    """Which sentence pairs are kept for validation and test, by a hash of the pivot sentence."""

    seed: int = 1
    """Seed of the hash."""
    valid: Share = 0.01
    """Share of the pivot sentences for validation."""
    test: Share = 0.02
    """Share of the pivot sentences for the task `heldout`."""
    max_train: Whole = 0
    """Training pairs of each language pair at most; 0 for all."""
    max_valid: Whole = 500
    """Validation pairs of each language pair at most; 0 for all."""
    max_test: Whole = 1000
    """Test pairs of each language pair at most; 0 for all."""

    @model_validator(mode="after")
    def _something_is_left_to_train_on(self) -> Self:
        if self.valid + self.test >= 1:
            raise ValueError(f"valid {self.valid} and test {self.test} leave nothing to train on")
        return self
