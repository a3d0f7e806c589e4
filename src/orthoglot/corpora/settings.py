"""Settings of the text room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from orthoglot.errors import ConfigError
from orthoglot.languages import canonical, has_spaces, iso3, parse_pair
from orthoglot.settings import Count, Language, Settings, Share, Whole

MINI = "{mini}"  # the invented world's folder, in a benchmark's files


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


def _filled(pattern: str, /, field: str = "files", **names: str) -> str:
    try:
        return pattern.format(**names)
    except (KeyError, IndexError, ValueError) as error:
        known = ", ".join(f"{{{name}}}" for name in names)
        raise ConfigError(f"{field}: {pattern!r} may name {known}, not {error}") from error


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


class TextCorpusSettings(Settings):
    """The user's own text without translations, a file of each language, a sentence a line.

    `files` holds `{language}`; `{mini}` is the invented world's folder. .gz and .zst are read transparently.
    """

    kind: Literal["text"]
    languages: Annotated[list[Language], Field(min_length=1)]
    files: str
    licence: str

    @model_validator(mode="after")
    def _each_language_has_a_file_of_its_own(self) -> Self:
        if len({self.path(language) for language in self.languages}) < len(self.languages):
            raise ValueError("files: the same for two languages; tell them apart by {language}")
        return self

    @property
    def invented(self) -> bool:
        """Whether its files are the invented world's."""
        return MINI in self.files

    def path(self, language: str, world: str = "") -> str:
        """The file of one of the languages; `world` is the invented world's folder."""
        return _filled(self.files, language=language, mini=world)


CorpusSettings = Annotated[
    MiniSettings | OpusSettings | LocalSettings | TextCorpusSettings, Field(discriminator="kind")
]


class _Benchmark(Settings):
    """What every benchmark states.

    source: which public test set its items are of, e.g. "sts-2017"; tables of published numbers compare items of one
        source, whatever the benchmark is called here.
    """

    licence: str
    source: Annotated[str, Field(pattern=r"^[a-z0-9-]*$")] = ""


class _ByLanguage(_Benchmark):
    """A benchmark with a file per language, foreign side first, pivot second."""

    spelling: Literal["canonical", "iso639-3"] = "canonical"
    languages: Annotated[list[str], Field(min_length=1)]
    pivot: str

    @property
    def codes(self) -> set[str]:
        """The languages of its sentences."""
        return {self.pivot, *self.languages}

    def _file(self, pattern: str, spelling: str, language: str, **names: str) -> str:
        spelled = iso3 if spelling == "iso639-3" else canonical
        return _filled(pattern, foreign=spelled(language), pivot=spelled(self.pivot), **names)

    def _tells_languages_apart(self, path: Callable[[str], str]) -> bool:
        return len({path(language) for language in self.languages}) == len(set(self.languages))


class RetrievalSettings(_ByLanguage):
    """A retrieval benchmark: one TSV file per language pair, foreign side first, pivot second.

    `files` holds `{foreign}` and `{pivot}`, spelled as `spelling` says; `mini` reads the invented
    world's own set and needs no files.
    """

    kind: Literal["mini", "local"]
    files: str = ""

    @model_validator(mode="after")
    def _local_has_files(self) -> Self:
        if self.kind == "mini":
            return self
        if not self.files:
            raise ValueError("a local benchmark needs files")
        if not self._tells_languages_apart(self.path):
            raise ValueError("files: the same for two languages; tell them apart by {foreign}")
        return self

    @property
    def invented(self) -> bool:
        """Whether its files are the invented world's."""
        return self.kind == "mini"

    @property
    def outside(self) -> list[str]:
        """The user's files that it is made from."""
        return [] if self.invented else [self.path(language) for language in self.languages]

    def path(self, language: str, world: str = "") -> str:
        """The file of one of the languages; `world` is the invented world's folder."""
        if self.kind == "mini":
            return f"{world}/retrieval/{canonical(language)}-{canonical(self.pivot)}.tsv.gz"
        return self._file(self.files, self.spelling, language)


class CodeSwitchedSettings(_ByLanguage):
    """Retrieval of a sentence by its translation in which words are swapped for the pivot's (methods 7.10).

    `files` are those of a retrieval benchmark, foreign side first; `dictionaries` are MUSE's, pivot word first,
    and hold `{foreign}` and `{pivot}` too, in canonical spelling; `{mini}` is the invented world's folder.
    `rate` is the probability that a word of the dictionary is swapped.
    """

    kind: Literal["code-switched"]
    files: str
    dictionaries: str
    rate: Annotated[float, Field(gt=0, le=1)]
    seed: int

    @model_validator(mode="after")
    def _each_language_has_words_and_files(self) -> Self:
        if whole := [code for code in self.languages if not has_spaces(code)]:
            raise ValueError(f"languages: {', '.join(whole)} is written without spaces between words")
        if not all(map(self._tells_languages_apart, (self.path, self.dictionary))):
            raise ValueError("files, dictionaries: the same for two languages; tell them apart by {foreign}")
        return self

    @property
    def invented(self) -> bool:
        """Whether its files are the invented world's."""
        return MINI in self.files + self.dictionaries

    @property
    def outside(self) -> list[str]:
        """The user's files that it is made from."""
        patterns = (self.path, self.files), (self.dictionary, self.dictionaries)
        return [paths(code) for paths, pattern in patterns if MINI not in pattern for code in self.languages]

    def path(self, language: str, world: str = "") -> str:
        """The sentences of one of the languages; `world` is the invented world's folder."""
        return self._file(self.files, self.spelling, language, mini=world)

    def dictionary(self, language: str, world: str = "") -> str:
        """The dictionary of one of the languages."""
        return self._file(self.dictionaries, "canonical", language, mini=world)


class Columns(Settings):
    """Which columns of a file hold what: names of its first line, or numbers from 1 on where it has no such line.

    `{source}` and `{target}` in a name are the pair's codes. Equal text in the column `item`, in whatever pair,
    makes lines one item of the bootstrap.
    """

    source: str | int
    target: str | int
    gold: str | int
    item: str | int

    @model_validator(mode="after")
    def _all_names_or_all_numbers(self) -> Self:
        if len({isinstance(column, int) for _, column in self}) > 1:
            raise ValueError("write names of all four columns, or numbers of all four")
        if any(isinstance(column, int) and column < 1 for _, column in self):
            raise ValueError("columns are numbered from 1 on")
        return self

    def of(self, source: str, target: str) -> list[str | int]:
        """The columns of a pair's source, target, gold and item."""
        return [
            column if isinstance(column, int) else _filled(column, "columns", source=source, target=target)
            for _, column in self
        ]


class GradedSettings(_Benchmark):
    """Pairs of sentences with a gold score: similarity (`sts`, methods 7.7) or quality of a translation (`qe`, 7.8).

    `pairs` lists language pairs ("de-zh", "en-en"), or maps each to the name that stands for `{name}` in `files`
    where that is not the pair itself. Files are TSV, plain or packed; a quotation mark is a character like any
    other. `{mini}` is the invented world's folder.
    """

    kind: Literal["sts", "qe"]
    files: str
    pairs: Annotated[list[str], Field(min_length=1)] | Annotated[dict[str, str], Field(min_length=1)]
    columns: Columns

    @model_validator(mode="after")
    def _pairs_are_pairs(self) -> Self:
        if len(set(self.pairs)) < len(self.pairs):
            raise ValueError(f"pairs: {self.pairs} names something twice")
        if len({(self.path(pair), *self.columns.of(*graded_pair(pair))) for pair in self.pairs}) < len(
            self.pairs
        ):
            raise ValueError(
                "files, columns: the same for two pairs; tell them apart by {name}, {source}, {target}"
            )
        return self

    @property
    def codes(self) -> set[str]:
        """The languages of its sentences."""
        return {code for pair in self.pairs for code in graded_pair(pair)}

    @property
    def invented(self) -> bool:
        """Whether its files are the invented world's."""
        return MINI in self.files

    @property
    def outside(self) -> list[str]:
        """The user's files that it is made from."""
        return [] if self.invented else sorted({self.path(pair) for pair in self.pairs})

    def path(self, pair: str, world: str = "") -> str:
        """The file of one of the pairs; `world` is the invented world's folder."""
        name = self.pairs[pair] if isinstance(self.pairs, dict) else pair
        return _filled(self.files, name=name, mini=world)


class NwaySettings(_Benchmark):
    """One text in many languages: retrieval between any two of them (methods 7.4), geometry of their vectors (7.12).

    `files` is one TSV file, plain or packed, with a column for each language and its columns' names in the first
    line; `{mini}` is the invented world's folder. `languages` lists those to compare, whose columns are named by
    their codes, or maps each to its column.
    """

    kind: Literal["nway"]
    files: str
    languages: Annotated[list[str], Field(min_length=2)] | Annotated[dict[str, str], Field(min_length=2)]

    @model_validator(mode="after")
    def _each_language_has_a_column_of_its_own(self) -> Self:
        self.path()  # refuses names that stand for nothing
        if len(set(self.columns.values())) < len(self.languages):
            raise ValueError(f"languages: {self.languages} names something twice")
        return self

    @property
    def columns(self) -> dict[str, str]:
        """{language: its column}."""
        if isinstance(self.languages, dict):
            return self.languages
        return {code: code for code in self.languages}

    @property
    def codes(self) -> set[str]:
        """The languages of its sentences."""
        return set(self.languages)

    @property
    def invented(self) -> bool:
        """Whether its file is the invented world's."""
        return MINI in self.files

    @property
    def outside(self) -> list[str]:
        """The user's files that it is made from."""
        return [] if self.invented else [self.path()]

    def path(self, world: str = "") -> str:
        """The file; `world` is the invented world's folder."""
        return _filled(self.files, mini=world)


BenchmarkSettings = Annotated[
    RetrievalSettings | GradedSettings | CodeSwitchedSettings | NwaySettings, Field(discriminator="kind")
]


def graded_pair(pair: str) -> tuple[str, str]:
    """Source and target of a pair whose sides may be one language: "de-zh", "en-en".

    Raises:
        ConfigError: as of `parse_pair`.
    """
    source, _, target = pair.partition("-")
    if source == target and canonical(source) == source:
        return source, target
    return parse_pair(pair)


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
