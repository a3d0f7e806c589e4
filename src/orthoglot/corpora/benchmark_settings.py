"""Settings of benchmarks: where their files are, and what is in them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from orthoglot.corpora.patterns import MINI, by_name, filled
from orthoglot.languages import canonical, has_spaces, iso3, parse_pair
from orthoglot.settings import Language, Settings


class Benchmark(Settings):
    """What every benchmark says about itself.

    Attributes:
        retrieval: the variants of an ablation are compared on it.
    """

    retrieval: ClassVar[bool] = False
    kind: str
    licence: str
    """Of the text; the report lists it."""
    source: Annotated[str, Field(pattern=r"^[a-z0-9-]*$")] = ""
    """The public test set of its items, e.g. sts-2017; tables of published numbers compare items of one source."""

    @property
    @abstractmethod
    def codes(self) -> set[str]:
        """The languages of its sentences."""

    @abstractmethod
    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        """The files of each language or language pair; `world` is the invented world's folder."""

    @property
    def invented(self) -> bool:
        """Whether some of its files are the invented world's."""
        return any(MINI in path for paths in self.paths().values() for path in paths)

    @property
    def outside(self) -> list[str]:
        """The user's files that it is made from."""
        return sorted({path for paths in self.paths().values() for path in paths if MINI not in path})


class _ByLanguage(Benchmark):
    """A benchmark with a file per language, foreign side first, pivot second."""

    spelling: Literal["canonical", "iso639-3"] = "canonical"
    """How the names of the files spell a language: as here, or with three letters."""
    languages: Annotated[list[Language], Field(min_length=1)]
    """The foreign languages."""
    pivot: Language
    """The language of the other side."""

    @property
    def codes(self) -> set[str]:
        """See `Benchmark.codes`."""
        return {self.pivot, *self.languages}

    def _paths(self, field: str, spelling: str, **names: str) -> list[str]:
        """The file of each language, of those that a field names."""
        spelled = iso3 if spelling == "iso639-3" else canonical
        pivot = spelled(self.pivot)
        found = [
            filled(getattr(self, field), field, foreign=spelled(code), pivot=pivot, **names)
            for code in self.languages
        ]
        if len(set(found)) < len(set(self.languages)):
            raise ValueError(f"{field}: the same for two languages; tell them apart by {{foreign}}")
        return found


class RetrievalSettings(_ByLanguage):
    """A retrieval benchmark: one TSV file per language pair, foreign side first, pivot second."""

    retrieval = True
    kind: Literal["mini", "local"]
    """`mini` is the set of the invented languages, which needs no files; `local` reads the user's files."""
    files: str = ""
    """A TSV file, plain, .gz or .zst; `{foreign}` and `{pivot}` stand for the languages, spelled as
    `spelling` says."""

    @model_validator(mode="after")
    def _local_has_files(self) -> Self:
        if self.kind == "local" and not self.files:
            raise ValueError("a local benchmark needs files")
        self.paths()
        return self

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        """See `Benchmark.paths`."""
        if self.kind == "mini":
            return {code: [f"{world}/retrieval/{code}-{self.pivot}.tsv.gz"] for code in self.languages}
        return {
            code: [path]
            for code, path in zip(self.languages, self._paths("files", self.spelling), strict=True)
        }


class CodeSwitchedSettings(_ByLanguage):
    """Retrieval of a sentence by its translation in which words are replaced by the pivot's.

    Source: docs/papers.md#protocol-code-switching.
    """

    kind: Literal["code-switched"]
    files: str
    """As of a retrieval benchmark, foreign side first; `{mini}` stands for the folder of the invented
    languages."""
    dictionaries: str
    """Dictionaries in MUSE's format, pivot word first; `{foreign}` and `{pivot}` in canonical spelling, and
    `{mini}`."""
    rate: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Probability that a word of the dictionary is replaced."""
    seed: int = 1
    """Seed of the replacements."""

    @model_validator(mode="after")
    def _each_language_has_words_and_files(self) -> Self:
        if whole := [code for code in self.languages if not has_spaces(code)]:
            raise ValueError(f"languages: {', '.join(whole)} is written without spaces between words")
        self.paths()
        return self

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        """The sentences and the dictionary of each language; see `Benchmark.paths`."""
        sentences = self._paths("files", self.spelling, mini=world)
        dictionaries = self._paths("dictionaries", "canonical", mini=world)
        return {code: [*both] for code, *both in zip(self.languages, sentences, dictionaries, strict=True)}


class Columns(Settings):
    """Which column of a file holds what: its name in the first line, or its number from 1 in a file without names.

    `{source}` and `{target}` in a name stand for the codes of a language pair.
    """

    source: str | int
    """The source sentence."""
    target: str | int
    """The target sentence."""
    gold: str | int
    """The gold score."""
    item: str | int
    """Lines with the same text here, in whatever language pair, are one item of the bootstrap."""

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
            column if isinstance(column, int) else filled(column, "columns", source=source, target=target)
            for _, column in self
        ]


class GradedSettings(Benchmark):
    """Pairs of sentences with a gold score: similarity (`sts`, docs/papers.md#protocol-sts) or quality of a
    translation (`qe`, docs/papers.md#protocol-qe)."""

    kind: Literal["sts", "qe"]
    files: str
    """A TSV file, plain, .gz or .zst, in which a quotation mark is an ordinary character; `{name}` stands for
    a language pair, `{mini}` for the folder of the invented languages."""
    pairs: Annotated[list[str], Field(min_length=1)] | Annotated[dict[str, str], Field(min_length=1)]
    """Language pairs such as de-zh or en-en, or each with the text that `{name}` stands for."""
    columns: Columns
    """Which column holds what."""
    gold_files: str = ""
    """As `files`: files with further columns of the same lines, which are read as if they followed those of `files`.
    MLQE-PE has its edit rates in such files."""
    error: bool = False
    """Whether a high gold score is bad, as of HTER, the edits per word that a translation needs. Its negative is then
    the gold score, so that a correlation above 0 is good for every benchmark."""

    @model_validator(mode="after")
    def _pairs_are_pairs(self) -> Self:
        if len(set(self.pairs)) < len(self.pairs):
            raise ValueError(f"pairs: {self.pairs} names something twice")
        found = {(*paths, *self.columns.of(*graded_pair(pair))) for pair, paths in self.paths().items()}
        if len(found) < len(self.pairs):
            raise ValueError(
                "files, columns: the same for two pairs; tell them apart by {name}, {source}, {target}"
            )
        return self

    @property
    def codes(self) -> set[str]:
        """See `Benchmark.codes`."""
        return {code for pair in self.pairs for code in graded_pair(pair)}

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        """See `Benchmark.paths`."""
        patterns = {"files": self.files} | ({"gold_files": self.gold_files} if self.gold_files else {})
        return {
            pair: [filled(pattern, field, name=name, mini=world) for field, pattern in patterns.items()]
            for pair, name in by_name(self.pairs).items()
        }


class NwaySettings(Benchmark):
    """One text in many languages: retrieval between any two of them, geometry of their vectors.

    Source: docs/papers.md#protocol-n-way, docs/papers.md#protocol-geometry.
    """

    retrieval = True
    kind: Literal["nway"]
    files: str
    """One TSV file, plain, .gz or .zst, with a column for each language, named in the first line; or, with
    `{language}` for a language's name, a file for each, in which line n is the translation of line n of the others.
    `{mini}` stands for the folder of the invented languages."""
    languages: (
        Annotated[list[Language], Field(min_length=2)] | Annotated[dict[Language, str], Field(min_length=2)]
    )
    """The languages to compare, whose columns or files have their codes as names, or each with the name of its
    column or file."""

    @model_validator(mode="after")
    def _each_language_has_a_column_of_its_own(self) -> Self:
        self.paths()  # refuses names that stand for nothing
        if len(set(self.columns.values())) < len(self.languages):
            raise ValueError(f"languages: {self.languages} names something twice")
        return self

    @property
    def by_language(self) -> bool:
        """Whether each language has a file of its own."""
        return "{language}" in self.files

    @property
    def columns(self) -> dict[str, str]:
        """{language: its column}."""
        return by_name(self.languages)

    @property
    def codes(self) -> set[str]:
        """See `Benchmark.codes`."""
        return set(self.languages)

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        """See `Benchmark.paths`."""
        if self.by_language:
            return {
                code: [filled(self.files, language=name, mini=world)] for code, name in self.columns.items()
            }
        return {"any language": [filled(self.files, mini=world)]}


class MiningSettings(Benchmark):
    """Two lists of sentences, of which some translate each other: BUCC.

    Source: docs/papers.md#protocol-bucc.
    """

    kind: Literal["mining"]
    files: str
    """A TSV file of ids and sentences, plain, .gz or .zst; `{name}` stands for a language pair, `{language}` for
    one of its languages."""
    gold: str
    """A TSV file of pairs of ids, source first; `{name}` stands for a language pair."""
    train_files: str = ""
    """As `files`, of the set on which thresholds are learnt; without one, each half of the sentences learns them
    for the other half."""
    train_gold: str = ""
    """As `gold`, of that set."""
    header: bool = False
    """Whether the first line of each file names its columns."""
    pairs: Annotated[list[str], Field(min_length=1)]
    """Language pairs, such as de-en."""

    @model_validator(mode="after")
    def _pairs_have_files(self) -> Self:
        if bool(self.train_files) != bool(self.train_gold):
            raise ValueError("train_files, train_gold: give both or none")
        paths = self.paths()
        if len({*map(tuple, paths.values())}) < len(self.pairs):
            raise ValueError("pairs, files: the same for two pairs; tell them apart by {name}")
        if any(len(set(own)) < len(own) for own in paths.values()):
            raise ValueError("files: the same for two sides; tell them apart by {language}")
        return self

    @property
    def codes(self) -> set[str]:
        """See `Benchmark.codes`."""
        return {code for pair in self.pairs for code in parse_pair(pair)}

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        """Source, target and gold of each pair, then the same of the set for thresholds; see `Benchmark.paths`."""
        sets = [(self.files, self.gold, "files", "gold")]
        if self.train_files:
            sets.append((self.train_files, self.train_gold, "train_files", "train_gold"))
        found: dict[str, list[str]] = {}
        for pair in self.pairs:
            for files, gold, name, name_of_gold in sets:
                sides = [filled(files, name, name=pair, language=code) for code in parse_pair(pair)]
                found.setdefault(pair, []).extend([*sides, filled(gold, name_of_gold, name=pair)])
        return found


class PoolSettings(Benchmark):
    """Questions, and sentences of many languages in one pool that answer them: LAReQA; or mentions and the entities
    that they mean: Mewsli-X.

    Source: docs/papers.md#protocol-lareqa, docs/papers.md#protocol-mewsli-x.
    """

    kind: Literal["pool"]
    form: Literal["table", "mewsli-x"] = "table"
    """`table`: TSV. `mewsli-x`: lines of JSON, of articles with their mentions and of entities."""
    questions: str
    """A TSV file whose first line names the columns lang, question_id, answer (the id of a sentence) and question; or
    Mewsli-X's wikinews_mentions file, after its scripts have filled in the text."""
    candidates: str
    """A TSV file whose first line names the columns lang, id and sentence, and in which translations share their id; or
    Mewsli-X's candidate_set_entities file, in which an entity has one language."""
    languages: Annotated[list[Language], Field(min_length=2)]
    """The languages of the pool; others of the files are left out."""
    asked: list[Language] = []
    """The languages of the questions, where they are not those of the pool."""

    @property
    def codes(self) -> set[str]:
        """See `Benchmark.codes`."""
        return {*self.languages, *self.asked}

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        """See `Benchmark.paths`."""
        return {"any language": [self.questions, self.candidates]}


def graded_pair(pair: str) -> tuple[str, str]:
    """Source and target of a pair whose sides may be one language: "de-zh", "en-en".

    Raises:
        ConfigError: as of `parse_pair`.
    """
    source, _, target = pair.partition("-")
    if source == target and canonical(source) == source:
        return source, target
    return parse_pair(pair)
