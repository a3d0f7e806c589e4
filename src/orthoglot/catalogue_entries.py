"""Entries of the catalogues: what an entry takes over from another one, and how it changes that."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from orthoglot.errors import ConfigError

# Mappings that are one value: they are replaced as a whole.
WHOLE = {
    "elsewhere",
    "label_names",
    "languages",
    "max_pairs",
    "packages",
    "pair_parts",
    "pairs",
    "recipes",
    "segmenters",
    "sha256",
    "spelling",
    "spellings",
    "terms",
}
# What an entry says about itself and does not hand on.
OWN = "host"


def merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The values with some of them changed, at any depth.

    Mappings are merged key by key, but a new one replaces the old one if it is empty, if its `kind` or `start` differs
    (another kind has other settings), or if its key is in `WHOLE`. Other values, lists included, replace the old ones.
    """
    return {**values} | {
        name: merged(values[name], new) if name not in WHOLE and _are_alike(values.get(name), new) else new
        for name, new in changes.items()
    }


def _are_alike(old: Any, new: Any) -> bool:
    if not (new and isinstance(new, dict) and isinstance(old, dict)):
        return False
    return all(key not in new or new[key] == old.get(key, new[key]) for key in ("kind", "start"))


def resolved(section: str, entries: Any, fields: Mapping[str, Collection[str]]) -> Any:
    """Every entry of a catalogue in full, without `extends`, `add` and `remove`.

    An entry takes over all settings of the entry that it `extends`, except `host`; if the two are of
    different kinds, those that both kinds have. A method takes over the settings of its `host` in the same way;
    `remove` lists terms of a method to leave out, `add` terms to add with weight 1, or weights by term.

    Args:
        section: The name of the catalogue.
        entries: As written; what is not a mapping stays as it is, for the schema to refuse.
        fields: The names of the settings by kind of entry.
    Raises:
        ConfigError: an entry extends an unknown one or itself, or removes a term that it does not have.
    """
    if not isinstance(entries, dict):
        return entries
    complete: dict[str, Any] = {}

    def resolve(name: str, chain: Sequence[str]) -> Any:
        if name in complete or not isinstance(entries[name], dict):
            return complete.setdefault(name, entries[name])
        entry = {**entries[name]}
        place = f"{section}.{name}"
        extends = entry.pop("extends", None)
        origin = extends or (entry.get("host") if section == "methods" else None)
        if origin:
            known(origin, entries, f"{place}.{'extends' if extends else 'host'}")
            if origin in chain:
                raise ConfigError(f"{place}: extends itself: {' <- '.join([*chain, origin])}")
            entry = _extended(resolve(origin, [*chain, origin]), entry, fields)
        if section == "methods" and ("add" in entry or "remove" in entry):
            entry = _with_terms(entry, place)
        return complete.setdefault(name, entry)

    return {name: resolve(name, [name]) for name in entries}


def _extended(origin: Any, entry: dict[str, Any], fields: Mapping[str, Collection[str]]) -> dict[str, Any]:
    if not isinstance(origin, dict):
        return entry
    taken = {name: value for name, value in origin.items() if name != OWN}
    if (kind := entry.get("kind")) and kind != origin.get("kind"):
        taken = {name: value for name, value in taken.items() if name in fields.get(kind, ())}
    return merged(taken, entry)


def _with_terms(entry: dict[str, Any], where: str) -> dict[str, Any]:
    """The method with the terms that `add` and `remove` make."""
    entry = {**entry}
    add, remove = entry.pop("add", None) or {}, entry.pop("remove", None) or []
    if not isinstance(add, dict | list) or not isinstance(remove, list):
        raise ConfigError(f"{where}: add lists terms or gives weights by term, remove lists terms")
    terms = dict(entry.get("terms") or {})
    for term in remove:
        known(term, terms, f"{where}.remove")
        del terms[term]
    return entry | {"terms": terms | (add if isinstance(add, dict) else dict.fromkeys(add, 1.0))}


def known(name: Any, names: Collection[Any], where: str) -> None:
    """Refuse a name that is not among the known ones, by a ConfigError with the nearest one."""
    if not isinstance(name, str) or name not in names:
        listed = sorted(map(str, names))
        raise ConfigError(
            f"{where}: unknown name {name!r}{closest(str(name), listed)}; known: {', '.join(listed)}"
        )


def closest(name: str, names: Iterable[str]) -> str:
    """The end of an error message with the nearest known name, if one is near."""
    near = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.5)
    return f"; nearest known: {near[0]}" if near else ""
