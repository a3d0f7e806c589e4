"""Settings of the text room."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from orthoglot.errors import ConfigError
from orthoglot.languages import canonical, iso3, parse_pair
from orthoglot.settings import Count, Settings, Share, Whole


class MiniSettings(Settings):
    """The invented world: how much of each language, from which seed.

    `languages` maps a private-use code (qaa ... qtz) to its number of sentence pairs with the pivot;
    the pivot itself has its number of monolingual sentences.
    """

    kind: Literal["mini"]
    seed: int
    pivot: str
    languages: dict[str, Count]
    retrieval_pairs: Count
    graded_items: Count


def _filled(pattern: str, **names: str) -> str:
    try:
        return pattern.format(**names)
    except (KeyError, IndexError, ValueError) as error:
        known = ", ".join(f"{{{name}}}" for name in names)
        raise ConfigError(f"files: {pattern!r} may name {known}, not {error}") from error


class OpusSettings(Settings):
    """One OPUS corpus in one or more language pairs ("en-de"); `sha256` pins an archive by pair."""

    kind: Literal["opus"]
    corpus: str
    version: str
    pairs: Annotated[list[str], Field(min_length=1)]
    licence: str
    sha256: dict[str, Annotated[str, Field(pattern=r"^[0-9A-Fa-f]{64}$")]] = {}

    @model_validator(mode="after")
    def _pairs_are_pairs_and_pins_are_of_them(self) -> Self:
        for pair in self.pairs:
            parse_pair(pair)
        if strange := sorted(set(self.sha256) - set(self.pairs)):
            raise ValueError(f"sha256 names {', '.join(strange)}, which is none of the pairs")
        return self


class LocalSettings(Settings):
    """The user's own files.

    `files` is one TSV path or two Moses paths, source first; `{pair}`, `{source}` and `{target}` are filled
    in for each of `pairs`. .gz and .zst are read transparently.
    """

    kind: Literal["local"]
    pairs: Annotated[list[str], Field(min_length=1)]
    files: Annotated[list[str], Field(min_length=1, max_length=2)]
    licence: str

    @model_validator(mode="after")
    def _each_pair_has_files_of_its_own(self) -> Self:
        if len({tuple(self.paths(pair)) for pair in self.pairs}) < len(set(self.pairs)):
            raise ValueError(
                f"files: the same for two of {len(self.pairs)} pairs; tell them apart by {{pair}}"
            )
        return self

    def paths(self, pair: str) -> list[str]:
        """The files of one of the pairs."""
        source, target = parse_pair(pair)
        return [_filled(pattern, pair=pair, source=source, target=target) for pattern in self.files]


CorpusSettings = Annotated[MiniSettings | OpusSettings | LocalSettings, Field(discriminator="kind")]


class BenchmarkSettings(Settings):
    """A retrieval benchmark: one TSV file per language pair, foreign side first, pivot second.

    `files` holds `{foreign}` and `{pivot}`, spelled as `spelling` says; `mini` reads the invented
    world's own set and needs no files.
    """

    kind: Literal["mini", "local"]
    files: str = ""
    spelling: Literal["canonical", "iso639-3"] = "canonical"
    languages: Annotated[list[str], Field(min_length=1)]
    pivot: str
    licence: str

    @model_validator(mode="after")
    def _local_has_files(self) -> Self:
        if self.kind == "mini":
            return self
        if not self.files:
            raise ValueError("a local benchmark needs files")
        if len({self.path(language) for language in self.languages}) < len(set(self.languages)):
            raise ValueError("files: the same for two languages; tell them apart by {foreign}")
        return self

    def path(self, language: str) -> str:
        """The user's file of one of the languages."""
        spelled = iso3 if self.spelling == "iso639-3" else canonical
        return _filled(self.files, foreign=spelled(language), pivot=spelled(self.pivot))


class CleaningSettings(Settings):
    """Filters of one language pair; a pair that any of them rejects is dropped and counted.

    Lengths count characters of the longer and shorter side; `max_ratio` compares the two sides' lengths
    after scaling both by the corpus's mean length.
    """

    min_characters: Count
    max_characters: Count
    max_ratio: Annotated[float, Field(ge=1)]
    drop_copies: bool
    drop_duplicates: bool

    @model_validator(mode="after")
    def _range_is_not_empty(self) -> Self:
        if self.min_characters > self.max_characters:
            raise ValueError(
                f"min_characters {self.min_characters} is above max_characters {self.max_characters}"
            )
        return self


class SplitSettings(Settings):
    """Shares of the pivot sentences held out, by hash; and caps per language pair (0 = no cap)."""

    seed: int
    valid: Share
    test: Share
    max_train: Whole
    max_valid: Whole
    max_test: Whole

    @model_validator(mode="after")
    def _something_is_left_to_train_on(self) -> Self:
        if self.valid + self.test >= 1:
            raise ValueError(f"valid {self.valid} and test {self.test} leave nothing to train on")
        return self
