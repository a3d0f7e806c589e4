"""Settings of corpora and benchmarks, and of how their sentences are cleaned and split."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path, PurePath
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from orthoglot.corpora.locales import catalogues_below, choose
from orthoglot.errors import ConfigError
from orthoglot.languages import canonical, has_spaces, iso3, parse_pair
from orthoglot.settings import Count, Language, Name, Settings, Share, Whole

MINI = "{mini}"  # the invented world's folder, in the names of files
Digest = Annotated[str, Field(pattern=r"^[0-9A-Fa-f]{64}$")]
# How files of translation memories are read; others are TSV or Moses files.
MEMORIES = {".po": "po", ".mo": "po", ".tmx": "tmx", ".xliff": "xliff", ".xlf": "xliff"}
OF_MANY_PAIRS = {"tmx", "xliff"}
PACKED = {".gz", ".zst"}


class Corpus(Settings):
    """What every corpus says about itself: who makes its files, and which they are.

    Attributes:
        verb: the command that makes them, in the folder data/PRESET/`home`/CORPUS; empty for files of the user, and for
            those of the invented world.
        home: see `verb`.
    """

    verb: ClassVar[str] = ""
    home: ClassVar[str] = ""
    kind: str

    @property
    def invented(self) -> bool:
        """Whether its files are the invented world's."""
        return False

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        """`kind` and `paths` of a `prepare.Source` by language pair; `root` is the folder that `verb` made."""
        return {}

    def texts(self, root: str) -> dict[str, str]:
        """Files of text without translations by language; `root` is the invented world's folder."""
        return {}


class MiniSettings(Corpus):
    """A family of invented languages, generated offline."""

    verb = "generate"
    home = "invented"
    kind: Literal["mini"]
    seed: int = 1
    """Seed of the generator."""
    pivot: Language
    """Code of the language that all others have sentence pairs with: qaa ... qtz, which ISO 639 keeps for
    private use."""
    languages: dict[Language, Count]
    """Sentence pairs with the pivot by language; for the pivot itself, sentences of text without
    translations."""
    retrieval_pairs: Count
    """Sentences of the retrieval test set in every language."""
    graded_items: Count
    """Pairs of sentences with a gold score, for each language."""

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        """See `Corpus.pair_sources`."""
        return _zips(f"{root}/opus", [f"{self.pivot}-{language}" for language in self.languages])


def _filled(pattern: str, /, field: str = "files", **names: str) -> str:
    try:
        return pattern.format(**names)
    except (KeyError, IndexError, ValueError) as error:
        known = ", ".join(f"{{{name}}}" for name in names)
        raise ConfigError(f"{field}: {pattern!r} may name {known}, not {error}") from error


def _zips(folder: str, pairs: list[str]) -> dict[str, dict[str, Any]]:
    return {pair: {"kind": "moses_zip", "paths": [f"{folder}/{pair}.zip"]} for pair in pairs}


class OpusSettings(Corpus):
    """One OPUS corpus in one or more language pairs; `orthoglot opus` lists what there is."""

    verb = "fetch"
    home = "opus"
    kind: Literal["opus"]
    corpus: Name
    """OPUS's name of the corpus, e.g. GlobalVoices."""
    version: Name
    """Its release, e.g. v2018q4."""
    pairs: Annotated[list[str], Field(min_length=1)]
    """Language pairs, pivot first, e.g. en-de."""
    licence: str
    """Of the text; the report lists it."""
    sha256: dict[str, Digest] = {}
    """Digest of the archive by language pair; an archive with another one is refused."""

    @model_validator(mode="after")
    def _pairs_are_pairs_and_pins_are_of_them(self) -> Self:
        for pair in self.pairs:
            parse_pair(pair)
        if strange := sorted(set(self.sha256) - set(self.pairs)):
            raise ValueError(f"sha256 names {', '.join(strange)}, which is none of the pairs")
        return self

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        """See `Corpus.pair_sources`."""
        return _zips(root, self.pairs)


def form_of(paths: list[str]) -> str:
    """The `kind` of a `Source` that reads a user's files: by the suffix of a translation memory, or else `files`.

    Raises:
        ConfigError: a translation memory is not the only file, or a message catalogue is compressed.
    """
    forms = set()
    for path in map(PurePath, paths):
        packed = path.suffix in PACKED
        form = MEMORIES.get((path.with_suffix("") if packed else path).suffix, "files")
        if packed and form == "po":
            raise ConfigError(f"{path}: unpack it; message catalogues are read uncompressed")
        forms.add(form)
    if len(paths) > 1 and forms != {"files"}:
        raise ConfigError(f"{', '.join(paths)}: a translation memory holds both languages; name one file")
    return forms.pop()


class LocalSettings(Corpus):
    """The user's own sentence pairs."""

    kind: Literal["local"]
    pairs: Annotated[list[str], Field(min_length=1)]
    """Language pairs, pivot first, e.g. en-de."""
    files: Annotated[list[str], Field(min_length=1, max_length=2)]
    """One TSV file, or two Moses files, source first, or one translation memory (.tmx, .xliff, .xlf); plain, .gz or
    .zst; or one message catalogue (.po, .mo). `{pair}`, `{source}` and `{target}` stand for a pair and its two
    languages."""
    licence: str
    """Of the text; the report lists it."""

    @model_validator(mode="after")
    def _each_pair_has_files_of_its_own(self) -> Self:
        # Translation memories state the languages of each text.
        sources = [one for one in self.pair_sources("").values() if one["kind"] not in OF_MANY_PAIRS]
        if len({tuple(source["paths"]) for source in sources}) < len(sources):
            raise ValueError(
                f"files: the same for two of {len(self.pairs)} pairs; tell them apart by {{pair}}"
            )
        return self

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        """See `Corpus.pair_sources`."""
        found: dict[str, dict[str, Any]] = {}
        for pair in self.pairs:
            source, target = parse_pair(pair)
            paths = [_filled(pattern, pair=pair, source=source, target=target) for pattern in self.files]
            found[pair] = {"kind": form_of(paths), "paths": paths}
        return found


class MultiParallelSettings(Corpus):
    """One text in many languages: a file for each, in which line n is the translation of line n of the others.

    An empty line is a sentence that the language lacks; it is left out of that language's pair alone.
    """

    kind: Literal["multi-parallel"]
    files: str
    """A file with a sentence per line, plain, .gz or .zst; `{language}` stands for the language's name."""
    languages: (
        Annotated[list[Language], Field(min_length=2)] | Annotated[dict[Language, str], Field(min_length=2)]
    )
    """The languages, the pivot among them, or each with its name in `files`, e.g. {en: eng, cs: ces}."""
    pivot: Language = "en"
    """The language that all others have a pair with."""
    licence: str
    """Of the text; the report lists it."""

    @model_validator(mode="after")
    def _each_language_has_a_file_of_its_own(self) -> Self:
        if self.pivot not in self.languages:
            raise ValueError(f"languages: name the pivot {self.pivot}, too")
        if len(set(self._paths.values())) < len(self.languages):
            raise ValueError("files: the same for two languages; tell them apart by {language}")
        return self

    @property
    def _paths(self) -> dict[str, str]:
        """{language: its file}."""
        named = (
            self.languages if isinstance(self.languages, dict) else {code: code for code in self.languages}
        )
        return {code: _filled(self.files, language=name) for code, name in named.items()}

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        """See `Corpus.pair_sources`."""
        pivot = self._paths[self.pivot]
        return {
            f"{self.pivot}-{code}": {"kind": "files", "paths": [pivot, path]}
            for code, path in self._paths.items()
            if code != self.pivot
        }


class PackageSettings(Settings):
    """A Python package whose message catalogues are read; nothing of it is imported."""

    version: str
    """The only version that will do."""
    sha256: Digest
    """Digest of its message catalogues; the message about another one states it."""


class GettextSettings(Corpus):
    """Messages of programs and their translations, from gettext's catalogues (.po, .mo)."""

    kind: Literal["gettext"]
    packages: dict[Name, PackageSettings] = {}
    """Installed Python packages by name."""
    folder: str = ""
    """In place of packages: a folder with LOCALE/LC_MESSAGES/DOMAIN.po, LOCALE/DOMAIN.po or LOCALE.po, at any depth."""
    languages: (
        Annotated[list[Language], Field(min_length=1)]
        | Annotated[dict[Language, Annotated[list[str], Field(min_length=1)]], Field(min_length=1)]
    )
    """The languages of the translations, or each with the names of its locales, the preferred one first, e.g.
    {pt: [pt_BR]}. Without names: all that stand for it (zh: zh_Hans, zh, zh_CN), but not those in another script. A
    message that the first locale leaves untranslated is taken from the next one."""
    pivot: Language = "en"
    """The language of the messages in the programs."""
    min_words: Count = 1
    """Words of a message at least; shorter ones are dropped."""
    licence: str
    """Of the text; the report lists it."""

    @model_validator(mode="after")
    def _messages_are_somewhere(self) -> Self:
        if bool(self.packages) == bool(self.folder):
            raise ValueError("name packages or a folder")
        if self.pivot in self.languages:
            raise ValueError(
                f"languages: {self.pivot} is the language of the messages; name their translations"
            )
        if len(set(self.languages)) < len(self.languages):
            raise ValueError(f"languages: {self.languages} names something twice")
        if self.min_words > 1 and not has_spaces(self.pivot):
            raise ValueError(f"min_words: {self.pivot} is written without spaces between words")
        return self

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        """See `Corpus.pair_sources`.

        Raises:
            ConfigError: the folder has no catalogue of a language.
        """
        found: dict[str, dict[str, Any]] = {}
        files = catalogues_below(Path(self.folder)) if self.folder else []
        for code in self.languages:
            names = self.languages[code] if isinstance(self.languages, dict) else []
            chosen: dict[str, Any] = {
                "paths": [path.as_posix() for paths in choose(files, code, names) for path in paths]
            }
            if self.packages:
                chosen = {"packages": {name: one.model_dump() for name, one in self.packages.items()}}
            elif not chosen["paths"]:
                raise ConfigError(f"{self.folder} has no message catalogue in {code}")
            found[f"{self.pivot}-{code}"] = {
                "kind": "gettext",
                "locales": names,
                "min_words": self.min_words,
                **chosen,
            }
        return found


class TextCorpusSettings(Corpus):
    """The user's own text without translations."""

    kind: Literal["text"]
    languages: Annotated[list[Language], Field(min_length=1)]
    """The languages that there are files of."""
    files: str
    """A file with a sentence per line, plain, .gz or .zst; `{language}` stands for the language, `{mini}` for
    the folder of the invented languages."""
    licence: str
    """Of the text; the report lists it."""

    @model_validator(mode="after")
    def _each_language_has_a_file_of_its_own(self) -> Self:
        if len(set(self.texts("").values())) < len(self.languages):
            raise ValueError("files: the same for two languages; tell them apart by {language}")
        return self

    @property
    def invented(self) -> bool:
        """Whether its files are the invented world's."""
        return MINI in self.files

    def texts(self, root: str) -> dict[str, str]:
        """See `Corpus.texts`."""
        return {code: _filled(self.files, language=code, mini=root) for code in self.languages}


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
            _filled(getattr(self, field), field, foreign=spelled(code), pivot=pivot, **names)
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
            column if isinstance(column, int) else _filled(column, "columns", source=source, target=target)
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
        names = self.pairs if isinstance(self.pairs, dict) else dict(zip(self.pairs, self.pairs, strict=True))
        return {pair: [_filled(self.files, name=name, mini=world)] for pair, name in names.items()}


class NwaySettings(Benchmark):
    """One text in many languages: retrieval between any two of them, geometry of their vectors.

    Source: docs/papers.md#protocol-n-way, docs/papers.md#protocol-geometry.
    """

    retrieval = True
    kind: Literal["nway"]
    files: str
    """One TSV file, plain, .gz or .zst, with a column for each language, named in the first line; `{mini}`
    stands for the folder of the invented languages."""
    languages: (
        Annotated[list[Language], Field(min_length=2)] | Annotated[dict[Language, str], Field(min_length=2)]
    )
    """The languages to compare, whose columns have their codes as names, or each with the name of its
    column."""

    @model_validator(mode="after")
    def _each_language_has_a_column_of_its_own(self) -> Self:
        self.paths()  # refuses names that stand for nothing
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
        """See `Benchmark.codes`."""
        return set(self.languages)

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        """See `Benchmark.paths`."""
        return {"any language": [_filled(self.files, mini=world)]}


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
