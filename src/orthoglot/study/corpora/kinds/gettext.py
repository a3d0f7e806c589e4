"""Messages of programs: gettext's catalogues that belong together, of Python packages or of a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path, PurePath, PurePosixPath
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, model_validator

from orthoglot.errors import ConfigError, DataError
from orthoglot.formats import base
from orthoglot.formats.kinds.po import Key, entries
from orthoglot.languages import has_spaces, is_locale, locales
from orthoglot.packages import installed_package
from orthoglot.settings import Count, Language, Name, Settings
from orthoglot.study.corpora.base import Corpus, Digest
from orthoglot.text.bitext import Item, LeftOut, SentencePair

CATALOGUES = (".po", ".mo")
P = TypeVar("P", bound=PurePath)


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
    """The licence of the text; the report lists it."""

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
        sources: dict[str, dict[str, Any]] = {}
        files = catalogues_below(Path(self.folder)) if self.folder else []
        for code in self.languages:
            names = self.languages[code] if isinstance(self.languages, dict) else []
            chosen: dict[str, Any] = {
                "paths": [path.as_posix() for paths in choose(files, code, names) for path in paths]
            }
            if self.packages:
                chosen = {"packages": {name: pin.model_dump() for name, pin in self.packages.items()}}
            elif not chosen["paths"]:
                raise ConfigError(f"{self.folder} has no message catalogue in {code}")
            sources[f"{self.pivot}-{code}"] = {
                "kind": "gettext",
                "locales": names,
                "min_words": self.min_words,
                **chosen,
            }
        return sources


SETTINGS = GettextSettings


class Source(base.Source):
    """Catalogues that belong together."""

    packages: dict[str, PackageSettings] = {}
    """Python packages whose message catalogues are read, in place of `paths`."""
    locales: list[str] = []
    """Names of the language's catalogues, the preferred one first; empty for all that stand for it."""
    min_words: Count = 1
    """Words of the message at least."""

    @model_validator(mode="after")
    def _something_is_read(self) -> Self:
        if not self.paths and not self.packages:
            raise ValueError("paths: name a file")
        return self

    def read(self, first: str, second: str) -> Iterator[Item]:
        """The messages of catalogues that belong together, and their translations.

        A message that the preferred locale (pt) leaves untranslated is taken from the next one (pt_PT, pt_BR) with it.

        Raises:
            ConfigError: a package is not installed in the pinned version.
            DataError: a package has other catalogues than the pinned ones, or none in the second language, or a broken
                one.
        """
        sets = choose([Path(path) for path in self.paths], second, self.locales)
        for name, pin in sorted(self.packages.items()):
            files = package_catalogues(name, pin.version, pin.sha256)
            sets += [[files[path] for path in paths] for paths in choose(files, second, self.locales)]
        if not sets:
            packages = ", ".join(self.packages) or "these files"
            raise DataError(f"{self.name}: no message catalogue in {second} in {packages}")
        for paths in sets:
            for item in _merged(paths):
                few = isinstance(item, SentencePair) and len(item.source.split()) < self.min_words
                yield LeftOut("few_words") if few else item


def _merged(paths: Sequence[Path]) -> Iterator[Item]:
    """The messages of some locales of one set of translations, each from the first that has a pair of it."""
    by_key: dict[Key, list[Item]] = {}
    for path in paths:
        for key, units in entries(path):
            items = [unit.item for unit in units]
            if key not in by_key or (_any_pair(items) and not _any_pair(by_key[key])):
                by_key[key] = items
    return chain.from_iterable(by_key.values())


def _any_pair(items: Sequence[Item]) -> bool:
    return any(isinstance(item, SentencePair) for item in items)


def package_catalogues(name: str, version: str, sha256: str) -> dict[PurePosixPath, Path]:
    """{path within the package: file} of all message catalogues of an installed Python package.

    Nothing of the package is imported.

    Args:
        name: The name as pip spells it.
        version: The only one that will do.
        sha256: The digest of a line "SHA-256, two spaces, path" for each catalogue, sorted by path.
    Raises:
        ConfigError: the package is not installed in this version.
        DataError: its catalogues have another digest.
    """
    installed = installed_package(name, version)
    files = {
        PurePosixPath(path): Path(str(path.locate()))
        for path in sorted(installed.files or [], key=str)
        if path.suffix.lower() in CATALOGUES and ".." not in path.parts and not path.is_absolute()
    }
    whole = hashlib.sha256()
    for path, file in files.items():
        try:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            raise DataError(f"package {name}: {file} cannot be read; install it again ({error})") from error
        whole.update(f"{digest}  {path}\n".encode())
    if not files or whole.hexdigest() != sha256.lower():
        raise DataError(
            f"package {name} {version}: its {len(files)} message catalogues have SHA-256 {whole.hexdigest()}, "
            f"not {sha256}"
        )
    return files


def choose(paths: Iterable[P], language: str, names: Sequence[str] = ()) -> list[list[P]]:
    """The catalogues of a language: for each set of translations, sorted, its locales, the preferred one first.

    LOCALE/LC_MESSAGES/DOMAIN.po, LOCALE/DOMAIN.po and LOCALE.po are understood. Where there is a .po, its .mo is left.

    Args:
        paths: Any files.
        language: A code of the project.
        names: The names of locales, the preferred one first; all that stand for the language (`locales`) if empty.
    """
    sets: dict[tuple[str, str], dict[str, dict[str, P]]] = {}
    for path in paths:
        if path.suffix.lower() in CATALOGUES:
            parent, locale, domain = _place(path)
            sets.setdefault((parent, domain), {}).setdefault(locale, {})[path.suffix.lower()] = path
    chosen = []
    for _, by_locale in sorted(sets.items()):
        ranked = [name for name in names if name in by_locale] if names else locales(language, by_locale)
        chosen.append([by_locale[name].get(".po") or by_locale[name][".mo"] for name in ranked])
    return [files for files in chosen if files]


def catalogues_below(folder: Path) -> list[Path]:
    """All message catalogues of a folder and its subfolders, sorted."""
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in CATALOGUES and path.is_file())


def _place(path: PurePath) -> tuple[str, str, str]:
    """Folder of the set of translations, locale, name of the catalogue in its set."""
    home = path.parent
    if home.name != "LC_MESSAGES":
        if is_locale(path.stem):
            return str(home), path.stem, ""
    else:
        home = home.parent
    return str(home.parent), home.name, path.stem
