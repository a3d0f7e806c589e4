"""What every benchmark says about itself, and sentence pairs, which several kinds have."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import canonical, iso3, parse_pair
from orthoglot.settings import Language, Name, Settings
from orthoglot.study.corpora.patterns import MINI, OPUS, filled, is_address
from orthoglot.text.bitext import read_rows

if TYPE_CHECKING:
    from orthoglot.study.corpora.kinds.opus import OpusSettings

Takes = Callable[..., bool]
Paths = Mapping[str, Sequence[Path]]  # as `Benchmark.paths` has them

# The file of a collected folder that names the public test set that it is taken from.
SOURCE = "source.txt"


class Taught(Settings):
    """Sets that an encoder is fine-tuned on before it is tested on a benchmark."""

    train: Name
    """An entry of benchmarks, whose training part it learns on; of kind `sts`, `qe` or `pool` all of it."""
    valid: Name | None = None
    """An entry of the same kind, which decides how long it learns; null for a set with a validation part."""


class Benchmark(Settings):
    """What every benchmark says about itself."""

    retrieval: ClassVar[bool] = False  # the variants of an ablation are compared on it
    kind: str
    licence: str
    """Licence of the text; the report lists it."""
    obtain: str = ""
    """How to get its files, where they have no address; the message about a missing one says it."""
    source: Annotated[str, Field(pattern=r"^[a-z0-9-]*$")] = ""
    """The public test set of its items, e.g. sts-2017; tables of published numbers compare items of one source."""

    taught: list[Taught] = []
    """What an encoder is fine-tuned on for it, one after another (docs/papers.md#fine-tuning); labelled texts have a
    training part of their own, which comes last. Frozen vectors do not read it."""

    @property
    @abstractmethod
    def codes(self) -> set[str]:
        """The languages of its sentences."""

    @abstractmethod
    def within(self, takes: Takes) -> Self | None:
        """Its part in the languages of a preset, itself if that is all of it; None where nothing is left.

        Args:
            takes: whether text in all of some languages is wanted.
        """

    @abstractmethod
    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        """The files of each language or language pair; `world` is the invented world's folder."""

    @property
    def release(self) -> OpusSettings | None:
        """The corpus of OPUS that its sentences are drawn from; its archives are in `{opus}` of `paths`."""
        return None

    @property
    def invented(self) -> bool:
        """Whether some of its files are the invented world's."""
        return any(MINI in path for paths in self.paths().values() for path in paths)

    @property
    def outside(self) -> list[str]:
        """The user's files that it is made from."""
        return sorted(path for path in self._named if not is_address(path))

    @property
    def addresses(self) -> list[str]:
        """The addresses of files that it is made from."""
        return sorted(filter(is_address, self._named))

    def _narrowed(self, **changes: Any) -> Self | None:
        """The settings with fewer languages or pairs; None if a field lost all that it had."""
        if all(getattr(self, name) == value for name, value in changes.items()):
            return self
        lost = [name for name, value in changes.items() if getattr(self, name) and not value]
        return None if lost else self.model_copy(update=changes)

    @property
    def _named(self) -> set[str]:
        all_paths = {path for paths in self.paths().values() for path in paths}
        return {path for path in all_paths if MINI not in path and OPUS not in path}


def taken(named: Iterable[str], takes: Callable[[str], bool]) -> Any:
    """What is taken of a list of languages or pairs, or of a mapping from them to their names."""
    chosen = [name for name in named if takes(name)]
    return {name: named[name] for name in chosen} if isinstance(named, Mapping) else chosen


class WithPivot(Benchmark):
    """A benchmark of foreign languages, each with the same pivot."""

    languages: Annotated[list[Language], Field(min_length=1)]
    """The foreign languages."""
    pivot: Language
    """The language of the other side."""

    @property
    def codes(self) -> set[str]:
        return {self.pivot, *self.languages}

    def within(self, takes: Takes) -> Self | None:
        return self._narrowed(languages=taken(self.languages, lambda code: takes(self.pivot, code)))


class ByLanguage(WithPivot):
    """A benchmark with a file per language, foreign side first, pivot second."""

    spelling: Literal["canonical", "iso639-3"] = "canonical"
    """How the names of the files spell a language: as here, or with three letters."""

    def files_of(self, pattern: str, field: str, spelling: str, **names: str) -> list[str]:
        """The file of each language, by the pattern of a field."""
        spelled = iso3 if spelling == "iso639-3" else canonical
        pivot = spelled(self.pivot)
        files = [
            filled(pattern, field, foreign=spelled(code), pivot=pivot, **names) for code in self.languages
        ]
        if len(set(files)) < len(set(self.languages)):
            raise ValueError(f"{field}: the same for two languages; tell them apart by {{foreign}}")
        return files


class TextsByLanguage(ByLanguage):
    """A benchmark whose sentence pairs are in files."""

    files: Annotated[str, Field(min_length=1)] | Annotated[list[str], Field(min_length=2, max_length=2)]
    """A TSV file, or two files in which line n translates line n; plain, .gz or .zst, here or at an address
    (https://). `{foreign}` and `{pivot}` stand for the languages, spelled as `spelling` says, and `{mini}` for the
    folder of the invented languages."""

    def texts(self, world: str) -> dict[str, list[str]]:
        """The file of each language, or the two."""
        patterns = [self.files] if isinstance(self.files, str) else self.files
        sides = [self.files_of(pattern, "files", self.spelling, mini=world) for pattern in patterns]
        return {code: [*paths] for code, *paths in zip(self.languages, *sides, strict=True)}


@dataclass(frozen=True)
class PairSet:
    """One language pair of a benchmark; row n of one side belongs to row n of the other."""

    name: str  # of the benchmark
    source: str  # code of the first language; of a retrieval set the foreign one
    target: str  # code of the second language; of a retrieval set the pivot, row by row its translation
    source_sentences: Sequence[str]  # of the first language
    target_sentences: Sequence[str]  # of the second language
    originals: Sequence[str] = ()  # of a code-switched set, the foreign sentences before words were swapped
    gold: Sequence[float] = ()  # of a graded set, the gold score of each row
    items: Sequence[str] = ()  # of a graded set, the text that identifies the item of each row

    @property
    def pair(self) -> str:
        """The language pair, "source-target"."""
        return f"{self.source}-{self.target}"

    def sides(self) -> tuple[tuple[str, Sequence[str]], ...]:
        """(language, sentences) whose vectors the benchmark needs."""
        return (self.source, self.source_sentences), (self.target, self.target_sentences)


def graded_pair(pair: str) -> tuple[str, str]:
    """Source and target of a pair whose sides may be one language: "de-zh", "en-en".

    Raises:
        ConfigError: as of `parse_pair`.
    """
    source, _, target = pair.partition("-")
    if source == target and canonical(source) == source:
        return source, target
    return parse_pair(pair)


def read_tables(
    folder: Path, form: str, columns: int
) -> Iterator[tuple[Path, tuple[str, str], list[list[str]]]]:
    """Path, languages and columns of each file PAIR.FORM.tsv.gz of a folder, or PAIR.tsv.gz without a form.

    Raises:
        DataError: a file has not so many columns.
    """
    ending = f".{form}.tsv.gz" if form else ".tsv.gz"
    for path in sorted(folder.glob(f"*-*{ending}")):
        if "." not in (pair := path.name.removesuffix(ending)):
            rows = read_rows(path, columns)
            yield path, graded_pair(pair), [list(column) for column in zip(*rows, strict=True)]


@contextmanager
def well_formed(place: str, form: str) -> Iterator[None]:
    """Refuse a file or line of other people that lacks something, or has it in another form."""
    try:
        yield
    except (ConfigError, DataError):
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DataError(f"{place} is no {form} ({error!r})") from error
