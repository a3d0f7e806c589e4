"""Which message catalogue belongs to which language, by its path alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import TypeVar

from orthoglot.languages import is_locale, locales

CATALOGUES = (".po", ".mo")
P = TypeVar("P", bound=PurePath)


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
