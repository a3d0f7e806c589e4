"""Settings of corpora: who makes their files, and which they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import product
from pathlib import Path, PurePath
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from orthoglot.corpora.locales import catalogues_below, choose
from orthoglot.corpora.patterns import MINI, by_name, filled
from orthoglot.errors import ConfigError
from orthoglot.languages import has_spaces, parse_pair, spellings
from orthoglot.settings import Count, Language, Name, Settings, Share, Whole

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


class PairedSettings(Corpus):
    """A corpus whose language pairs are named one by one."""

    pairs: Annotated[list[str], Field(min_length=1)]
    """Language pairs, pivot first, e.g. en-de."""
    max_pairs: Whole | dict[str, Count] = 0
    """Sentence pairs that are used of each language pair at most, a sample; 0 for all. Or a number by language pair;
    of those not named all are used."""

    @model_validator(mode="after")
    def _pairs_are_pairs(self) -> Self:
        for pair in self.pairs:
            parse_pair(pair)
        if isinstance(self.max_pairs, dict) and (strange := sorted(set(self.max_pairs) - set(self.pairs))):
            raise ValueError(f"max_pairs names {', '.join(strange)}, which is none of the pairs")
        return self

    def most(self, pair: str) -> int:
        """How many sentence pairs of a language pair are used at most; 0 for all."""
        return self.max_pairs.get(pair, 0) if isinstance(self.max_pairs, dict) else self.max_pairs

    def limited(self, sources: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """The same sources, with `max_pairs` where there is a limit."""
        return {
            pair: {**source, "max_pairs": most} if (most := self.most(pair)) else source
            for pair, source in sources.items()
        }


class MiniSettings(Corpus):
    """A family of invented languages, generated offline."""

    verb = "generate"
    home = "invented"
    licence: ClassVar[str] = "CC0-1.0"
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
    synonyms: Share = 0.0
    """Share of the content words for which a language has a second word; a sentence takes either."""
    free: Share = 0.0
    """Share of the optional phrases (qualities, manner, companion, year) that a translation leaves out; without those
    with a gold score."""

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        """See `Corpus.pair_sources`."""
        pairs = [f"{self.pivot}-{language}" for language in self.languages]
        return _zips(f"{root}/opus", {pair: [pair] for pair in pairs})


def _zips(folder: str, archives: dict[str, list[str]]) -> dict[str, dict[str, Any]]:
    return {
        pair: {"kind": "moses_zip", "paths": [f"{folder}/{name}.zip" for name in names]}
        for pair, names in archives.items()
    }


class OpusSettings(PairedSettings):
    """One OPUS corpus in one or more language pairs; `orthoglot opus` lists what there is."""

    verb = "fetch"
    home = "opus"
    kind: Literal["opus"]
    corpus: Name
    """OPUS's name of the corpus, e.g. GlobalVoices."""
    version: Name
    """Its release, e.g. v2018q4."""
    spellings: dict[Language, list[str]] = {}
    """Of a language that OPUS spells in several ways, those that are taken, e.g. {zh: [zh_cn, zh_tw]}; `max_pairs`
    holds for all of them together. Of a language that is not named, one is taken: the first that OPUS has of its code
    in this project, its three letters and its regions."""
    unless_in: list[Name] = []
    """Corpora; a language pair that one of them has in the same preset is left out here."""
    listed: bool = True
    """Whether the catalogue that opustools ships has it: this is checked when a run is planned. Give false for a later
    release, or one of your own server, which is looked up in OPUS's answer when it is fetched."""
    licence: str
    """Of the text; the report lists it."""
    sha256: dict[str, Digest] = {}
    """Digest of the archive by language pair, or by `spellings`, e.g. en-zh_tw; an archive with another one is
    refused."""

    @model_validator(mode="after")
    def _spellings_are_of_languages(self) -> Self:
        for code, named in self.spellings.items():
            if strange := sorted(set(named) - set(spellings(code))):
                raise ValueError(
                    f"spellings.{code}: {', '.join(strange)}; known: {', '.join(spellings(code))}"
                )
            if not named or len(set(named)) < len(named):
                raise ValueError(f"spellings.{code}: name at least one, each once (given: {named})")
        return self

    @model_validator(mode="after")
    def _pins_are_of_archives(self) -> Self:
        if strange := sorted(
            set(self.sha256) - {name for pair in self.pairs for name in self.archives(pair)}
        ):
            raise ValueError(f"sha256 names {', '.join(strange)}, which is none of the pairs")
        return self

    def archives(self, pair: str) -> dict[str, tuple[Sequence[str], Sequence[str]]]:
        """The archives of a language pair, each with how OPUS may spell source and target there.

        One, called as the pair, unless `spellings` has one of the two languages.
        """
        chosen = [
            [(one, [one]) for one in self.spellings[code]]
            if code in self.spellings
            else [(code, spellings(code))]
            for code in parse_pair(pair)
        ]
        return {
            f"{source}-{target}": (first, second) for (source, first), (target, second) in product(*chosen)
        }

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        """See `Corpus.pair_sources`."""
        return self.limited(_zips(root, {pair: list(self.archives(pair)) for pair in self.pairs}))

    def with_pairs(self, pairs: Collection[str]) -> Self:
        """The same corpus in some of its language pairs."""
        kept = [pair for pair in self.pairs if pair in pairs]
        named = {
            "max_pairs": kept,
            "spellings": [code for pair in kept for code in parse_pair(pair)],
            "sha256": [name for pair in kept for name in self.archives(pair)],
        }
        fewer = {
            field: {key: value for key, value in values.items() if key in keys}
            for field, keys in named.items()
            if isinstance(values := getattr(self, field), dict)
        }
        return self.model_copy(update={"pairs": kept, **fewer})


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


class LocalSettings(PairedSettings):
    """The user's own sentence pairs."""

    kind: Literal["local"]
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
            paths = [filled(pattern, pair=pair, source=source, target=target) for pattern in self.files]
            found[pair] = {"kind": form_of(paths), "paths": paths}
        return self.limited(found)


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
        return {code: filled(self.files, language=name) for code, name in by_name(self.languages).items()}

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
        return {code: filled(self.files, language=code, mini=root) for code in self.languages}
