"""Digests of what a job's result depends on besides its settings: the code that it runs, and outside files.

The code of a job is every definition (function, class or constant) that the module of its verb uses, directly or
through others, and what runs when their modules are imported. A module that is used as a value counts with all its
definitions. Modules that are found by a name (a task, a loss, a kind of encoder) count only where the settings of the
job have that name. `orthoglot.study.jobs.definitions` says what a definition uses.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from orthoglot import receipts
from orthoglot.study.jobs import definitions
from orthoglot.study.jobs.definitions import PACKAGE, TEMPLATE, Definition

SOURCE = Path(receipts.__file__).parents[1]
# Modules that load others by their name, or stand for them, and the folder of these.
FOLDERS = {
    "orthoglot.study.benchmarks.kinds": "orthoglot.study.benchmarks.kinds",
    "orthoglot.decomposers": "orthoglot.decomposers.architectures",
    "orthoglot.encoders.kinds": "orthoglot.encoders.kinds",
    "orthoglot.formats.kinds": "orthoglot.formats.kinds",
    "orthoglot.study.corpora.kinds": "orthoglot.study.corpora.kinds",
    "orthoglot.study.pretraining.kinds": "orthoglot.study.pretraining.kinds",
    "orthoglot.study.pretraining.trainings": "orthoglot.study.pretraining.trainings",
    "orthoglot.study.tasks.registry": "orthoglot.study.tasks.kinds",
}
# Functions that call a function in every module that has it: the folder of the modules, and the name in them.
CALLERS = {
    "orthoglot.study.benchmarks.collected:stream_all": ("orthoglot.study.benchmarks.kinds", "read"),
}
# What changes no result: it finds keys, shows progress, and waits for other processes.
NOT_COUNTED = (PACKAGE, "file_lock", "progress", "study.jobs.definitions", "study.jobs.digests")
CACHE = Path(".cache/digests.json")


class Reached(NamedTuple):
    """What a job runs."""

    code: dict[str, str]  # a digest for each module, and for each entry of a registry ("module:name")
    definitions: list[str]  # "module:definition"
    # what its settings could select: entries of registries, and modules that are found by a name
    names: frozenset[str]
    kinds: frozenset[str]


def digest(value: Any) -> str:
    """The first 16 hex digits of the SHA-256 of a JSON value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def files_digest(paths: Sequence[str]) -> list[str]:
    """SHA-256 of outside files, cached by their state (`receipts.state`); "missing" where there is none."""
    known = _cache()["files"]
    digests = []
    for path in map(Path, paths):
        state = receipts.state(path) if path.is_file() else None
        digest = known.get(state) or receipts.file_digest(path)
        if state and state == receipts.state(path):
            known[state] = digest
        digests.append(digest)
    return digests


@functools.cache
def _cache() -> dict[str, Any]:
    """What earlier runs have computed: digests of outside files by state, modules by their text."""
    return {"files": {}, "modules": {}, **receipts.load_cache(CACHE)}


def save_cache() -> None:
    """Spare the next process what this one has computed."""
    receipts.save_cache(CACHE, _cache())


def forget() -> None:
    """Read every module again when it is next needed."""
    for cached in (_module, _place, _folder, _this, _cache, _template, _reached):
        cached.cache_clear()


def job_code(verb: str, settings: Any, selects: Iterable[str]) -> dict[str, str]:
    """The code of a job, see `reached`."""
    return reached(verb, settings, selects).code


def reached(verb: str, settings: Any, selects: Iterable[str] = ()) -> Reached:
    """What a job runs.

    Args:
        verb: The job's verb; its module is `orthoglot.study.jobs.VERB`.
        settings: The job's settings; those that name entries of registries or modules select them.
        selects: What it uses of registries without its settings naming it.
    """
    selects = [*selects]
    names, kinds = frozenset([*_strings(settings), *selects]), frozenset([*_kinds_in(settings), *selects])
    # Few of them select anything, so many jobs reach the same.
    chosen: tuple[frozenset[str], frozenset[str]] = frozenset(), frozenset()
    while True:
        result = _reached(verb, *chosen)
        if (wider := (names & result.names, kinds & result.kinds)) == chosen:
            return result
        chosen = wider


@functools.cache
def _reached(verb: str, names: frozenset[str], kinds: frozenset[str]) -> Reached:
    places: dict[str, set[str]] = {}  # definitions by module
    entries: dict[str, str] = {}
    all_names, all_kinds = set[str](), set[str]()
    waiting = [
        f"{PACKAGE}.{place}" for place in (f"study.jobs.{verb}:run", "study.jobs.job:Job", "environment:*")
    ]
    while waiting:
        module, name = _place(waiting.pop())
        if module.removeprefix(f"{PACKAGE}.") in NOT_COUNTED or name in places.get(module, ()):
            continue
        if module not in places:
            waiting += (f"{module}:", f"{module.rpartition('.')[0]}:")
        places.setdefault(module, set()).add(name)
        parts = _module(module)
        part = parts.get(name, parts["*"])  # of a name that cannot be seen all
        waiting += part.uses
        all_names |= part.entries.keys()
        for key in part.entries.keys() & names:
            entries[f"{module}:{key}"], targets = part.entries[key]
            waiting += targets
        if name and (folder := FOLDERS.get(module)):
            for stem in _folder(folder):
                spellings = {stem, stem.replace("_", "-")}
                all_kinds |= spellings
                if spellings & kinds:
                    waiting.append(f"{folder}.{stem}")
        if caller := CALLERS.get(f"{module}:{name}"):
            folder, function = caller
            modules = (f"{folder}.{stem}" for stem in _folder(folder))
            waiting += (f"{module}:{function}" for module in modules if function in _module(module))
    code = {}
    for module, here in places.items():
        used = {name: part for name, part in _module(module).items() if name in here and part.code}
        if used:
            code[module] = digest(
                {name: [part.code, *map(_template, part.templates)] for name, part in used.items()}
            )
    return Reached(
        dict(sorted({**code, **entries}.items())),
        [f"{module}:{name}" for module, here in places.items() for name in here],
        frozenset(all_names),
        frozenset(all_kinds),
    )


@functools.cache
def _place(use: str) -> tuple[str, str]:
    """Module and definition of what a definition uses; "*" for a whole module, the package for what is in neither."""
    dotted, colon, name = use.partition(":")
    if name:
        return dotted, name
    words = [word for word in dotted.split(".") if not word.startswith("__")]  # a module's __file__, __name__
    for end in range(len(words), 1, -1):
        if path_of(".".join(words[:end])):
            return ".".join(words[:end]), "" if colon else words[end] if end < len(words) else "*"
    return PACKAGE, ""


def path_of(module: str) -> Path | None:
    """The file of a module of the package, or None."""
    stem = SOURCE.joinpath(*module.split("."))
    if module.split(".")[0] != PACKAGE:
        return None
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


@functools.cache
def _folder(folder: str) -> list[str]:
    """The names of the modules of a folder."""
    return sorted(file.stem for file in SOURCE.joinpath(*folder.split(".")).glob("[!_]*.py"))


@functools.cache
def _this() -> str:
    """What all that is cached depends on: how it is computed, and which modules there are."""
    modules = sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py"))
    return digest(
        [Path(file).read_text(encoding="utf-8") for file in (__file__, definitions.__file__)] + modules
    )


@functools.cache
def _module(name: str) -> dict[str, Definition]:
    """The definitions of a module, with digests of their code."""
    path = path_of(name)
    assert path is not None, name
    text = path.read_text(encoding="utf-8")
    known = _cache()["modules"]
    state = digest([_this(), name, text])
    if state not in known:
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        parts = definitions.definitions(ast.parse(text), name, package, path_of)
        known[state] = {
            name: [
                digest(part.code) if part.code else "",
                part.uses,
                {key: [digest(code), modules] for key, (code, modules) in part.entries.items()},
                part.templates,
            ]
            for name, part in parts.items()
        }
    return {name: Definition(*part) for name, part in known[state].items()}


@functools.cache
def _template(name: str) -> str:
    """A digest of a template or script, and of all that it names, directly or through others."""
    texts: dict[str, list[str]] = {}
    waiting = [name]
    while waiting:
        if (name := waiting.pop()) not in texts:
            texts[name] = [path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob(name))]
            waiting += TEMPLATE.findall("".join(texts[name]))
    return digest(texts)


def _kinds_in(settings: Any) -> Iterator[str]:
    """The names of modules in the settings: formats, kinds of benchmarks and encoders, architectures, tasks."""
    for name, value in settings.items() if isinstance(settings, dict) else ():
        yield from _strings(value) if name in ("kind", "architecture", "tasks") else _kinds_in(value)
    for value in settings if isinstance(settings, list | tuple) else ():
        yield from _kinds_in(value)


def _strings(settings: Any) -> Iterator[str]:
    """Every string in the settings: values, and keys but those of nested settings."""
    if isinstance(settings, dict):
        yield from (name for name, value in settings.items() if not isinstance(value, dict))
    if isinstance(settings, dict | list | tuple):
        for value in settings.values() if isinstance(settings, dict) else settings:
            yield from _strings(value)
    elif isinstance(settings, str):
        yield settings
