"""Digests of what a job's result depends on besides its settings: the modules that it runs, and outside files.

The code of a job is every module that the module of its verb imports, directly or through others, found from the syntax
trees without running anything. Comments, docstrings and the annotations of functions do not count. Modules that are
found by a name (a task, a loss, a kind of encoder) count only where the settings of the job have that name.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from orthoglot import receipts

SOURCE = Path(receipts.__file__).parents[1]
PACKAGE = "orthoglot"
# Modules that load others by their name, or stand for them, and the folder of these.
FOLDERS = {
    "orthoglot.study.benchmarks.kinds": "orthoglot.study.benchmarks.kinds",
    "orthoglot.decomposers": "orthoglot.decomposers.architectures",
    "orthoglot.encoders.kinds": "orthoglot.encoders.kinds",
    "orthoglot.formats.kinds": "orthoglot.formats.kinds",
    "orthoglot.study.pretraining.trainings": "orthoglot.study.pretraining.trainings",
    "orthoglot.study.tasks.registry": "orthoglot.study.tasks.suite",
}
# Modules that call `read` of every module of a folder that has one.
READERS = {"orthoglot.study.benchmarks.collected": "orthoglot.study.benchmarks.kinds"}
CACHE = Path(".cache/digests.json")
# An entry of a registry, and a template or script that a module reads.
ENTRY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
TEMPLATE = re.compile(r"[\w.-]+\.(?:j2|js)\b")


class Module(NamedTuple):
    """One module of the package."""

    code: str  # digest of its code and of its templates, without the entries of its registries
    imports: Sequence[str]  # modules
    # a digest and the modules of each entry of its registries, by the name that selects it
    entries: dict[str, tuple[str, Sequence[str]]]


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
    for cached in (_module, _folder, _this, _cache, code):
        cached.cache_clear()


def job_code(verb: str, settings: Any, selects: Iterable[str]) -> dict[str, str]:
    """The code of a job.

    Args:
        verb: of the job.
        settings: of the job; those that name entries of registries or modules select them.
        selects: what it uses of registries without its settings naming it.
    """
    names = frozenset([*_strings(settings), *selects])
    return code(verb, names, frozenset([*_kinds_in(settings), *selects]))


@functools.cache
def code(verb: str, names: frozenset[str], kinds: frozenset[str] = frozenset()) -> dict[str, str]:
    """The digest of each module that a job runs by its name, and of each entry of a registry by "module:name".

    Args:
        verb: of the job; its module is `orthoglot.study.jobs.VERB`.
        names: strings of the job's settings, which select entries of registries.
        kinds: names of modules that are found by a name.
    """
    modules: dict[str, str] = {}
    waiting = [f"{PACKAGE}.study.jobs.{verb}", f"{PACKAGE}.environment"]
    while waiting:
        name = waiting.pop()
        if name not in modules:
            module = _module(name)
            modules[name] = module.code
            waiting += module.imports
            for key in module.entries.keys() & names:
                modules[f"{name}:{key}"], targets = module.entries[key]
                waiting += targets
            if folder := FOLDERS.get(name):
                waiting += (
                    f"{folder}.{stem}" for stem in _folder(folder) if {stem, stem.replace("_", "-")} & kinds
                )
            if folder := READERS.get(name):
                waiting += (f"{folder}.{stem}" for stem, reads in _folder(folder).items() if reads)
    return dict(sorted(modules.items()))


def path_of(module: str) -> Path | None:
    """The file of a module of the package, or None."""
    stem = SOURCE.joinpath(*module.split("."))
    if module.split(".")[0] != PACKAGE:
        return None
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


@functools.cache
def _folder(folder: str) -> dict[str, bool]:
    """The modules of a folder, and whether they have a function `read`."""
    files = sorted(SOURCE.joinpath(*folder.split(".")).glob("[!_]*.py"))
    return {file.stem: "\ndef read(" in file.read_text(encoding="utf-8") for file in files}


@functools.cache
def _this() -> str:
    """What all that is cached depends on: this file, and which modules there are."""
    modules = sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py"))
    return digest([Path(__file__).read_text(encoding="utf-8"), modules])


@functools.cache
def _module(name: str) -> Module:
    path = path_of(name)
    assert path is not None, name
    text = path.read_text(encoding="utf-8")
    templates = _templates(text)
    known = _cache()["modules"]
    state = digest([_this(), name, text, templates])
    if state not in known:
        tree = ast.parse(text)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        imports, entries = sorted({*_imports(tree)} - {name}), _entries(tree, package)  # before the digest
        known[state] = [digest([shape(tree), templates]), imports, entries]
    return Module(*known[state])


def _templates(text: str) -> dict[str, str]:
    """The texts of the templates that a text names, and of those that they name."""
    named: dict[str, str] = {}
    waiting = re.findall(TEMPLATE, text)
    while waiting:
        name = waiting.pop()
        if name not in named:
            named[name] = "".join(path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob(name)))
            waiting += re.findall(TEMPLATE, named[name])
    return named


def _imports(tree: ast.AST) -> Iterator[str]:
    """The modules that a syntax tree imports, with their packages, but for those that only a type checker imports."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            for other in node.orelse:
                yield from _imports(ast.Module([other], []))
            continue
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{name}" for name in names)]
        for name in names:
            # The package itself imports nothing before it is asked for a name.
            parents = name.split(".")
            places = (".".join(parents[:end]) for end in range(2, len(parents) + 1))
            yield from (place for place in places if path_of(place))
        yield from _imports(node)


def _entries(tree: ast.AST, package: str) -> dict[str, tuple[str, list[str]]]:
    """The entries of the dictionaries that name modules as "module:function"; they are taken out of the tree."""
    entries: dict[str, tuple[str, list[str]]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        others = []
        for key, value in zip(node.keys, node.values, strict=True):
            texts = (part.value for part in ast.walk(value) if isinstance(part, ast.Constant))
            named = [
                text.partition(":")[0] for text in texts if isinstance(text, str) and ENTRY.fullmatch(text)
            ]
            full = [f"{before}{module}" for module in named for before in (f"{package}.", f"{PACKAGE}.", "")]
            if isinstance(key, ast.Constant) and (modules := [*filter(path_of, full)]):
                entries[str(key.value)] = digest(shape(value)), modules
            else:
                others.append((key, value))
        node.keys, node.values = [key for key, _ in others], [value for _, value in others]
    return entries


def shape(node: Any) -> str:
    """A syntax tree as text, the same on every Python version, without docstrings and annotations of functions."""
    if isinstance(node, list):
        shapes = [shape(part) for part in node if not _is_text(part)]
        return f"[{','.join(shapes)}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    unwanted = {"returns"} | ({"annotation"} if isinstance(node, ast.arg) else set())
    fields = ((name, value) for name, value in ast.iter_fields(node) if name not in unwanted)
    shapes = [f"{name}={shape(value)}" for name, value in fields if value not in (None, [])]
    return f"{type(node).__name__}({','.join(shapes)})"


def _is_text(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


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
