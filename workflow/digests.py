"""Digests of what a job's result depends on besides its settings: code and outside files."""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orthoglot import settings
from orthoglot.atomic import replacing

SOURCE = Path(settings.__file__).parent
MEMORY = Path(".jobs/digests.json")
SHAPES = Path(".jobs/shapes.json")
# What is remembered of a module depends on how this file tells it.
OWN = Path(__file__).read_text(encoding="utf-8")


def digest(value: Any) -> str:
    """SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def files_digest(paths: Sequence[str]) -> list[str]:
    """SHA-256 of outside files, remembered by path, size and time; "missing" where there is none."""
    memory = json.loads(MEMORY.read_text()) if paths and MEMORY.exists() else {}
    found = []
    for path in paths:
        if not Path(path).is_file():
            found.append("missing")
            continue
        stat = Path(path).stat()
        identity = f"{Path(path).resolve()}:{stat.st_size}:{stat.st_mtime_ns}"
        if identity not in memory:
            with open(path, "rb") as handle:
                memory[identity] = hashlib.file_digest(handle, "sha256").hexdigest()
            with replacing(MEMORY) as partial:
                partial.write_text(json.dumps(memory))
        found.append(memory[identity])
    return found


def modules(*entries: str) -> list[str]:
    """The `entries` and all orthoglot modules they import, directly or not, at any depth of the code."""
    found: set[str] = set()
    waiting = list(entries)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += _parsed(module)[1]
    return sorted(found)


def path_of(module: str) -> Path | None:
    """The file of an orthoglot module, or None if the name is not one."""
    stem = SOURCE.parent.joinpath(*module.split("."))
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


@functools.cache
def code(verb: str, *entries: str) -> str:
    """Digest of what a job of this verb runs: the verb itself, and the shape of each module its entries import."""
    return digest([verb_code(verb), {module: _parsed(module)[0] for module in modules(*entries)}])


@functools.cache
def _parsed(module: str) -> tuple[str, list[str]]:
    """A digest of the module's syntax tree (and of templates beside it), and the orthoglot modules it names."""
    path = path_of(module)
    assert path is not None, module
    source = path.read_text(encoding="utf-8")
    templates = "".join(p.read_text(encoding="utf-8") for p in sorted(path.parent.glob(f"{path.stem}*.j2")))
    text = digest([OWN, sys.version_info[:2], source, templates])
    shapes = _shapes()
    if module not in shapes or shapes[module][0] != text:
        tree = ast.parse(source)
        shapes[module] = [text, digest([_shape(tree), templates]), _imported(tree)]
    _, shape, names = shapes[module]
    known = [name for name in names if path_of(name)]
    parents = {name.rpartition(".")[0] for name in known if name.count(".") > 1}
    return shape, sorted({*known, *parents} - {module, "orthoglot"})


@functools.cache
def _shapes() -> dict[str, list[Any]]:
    """By module: the digest of its text, that of its shape, and what it imports, as the last process left them."""
    return json.loads(SHAPES.read_text()) if SHAPES.exists() else {}


def remember_shapes() -> None:
    """Spare the next process the parsing of modules that stay as they are: about a second."""
    text = json.dumps(_shapes())
    if not SHAPES.exists() or SHAPES.read_text() != text:
        with replacing(SHAPES) as partial:
            partial.write_text(text)


def _imported(tree: ast.Module) -> list[str]:
    """What a module names in its imports that may be an orthoglot module."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return sorted(name for name in names if name.startswith("orthoglot"))


@functools.cache
def verb_code(verb: str) -> str:
    """Digest of the part of the command line that runs a verb."""
    return digest([_shape(node) for node in verb_parts(verb)])


def verb_parts(verb: str) -> list[ast.stmt]:
    """What runs a verb: its function, those that it calls in the same files, and what every verb runs."""
    found: list[ast.stmt] = []
    for module in ("orthoglot.cli", "orthoglot.cli.jobs"):
        path = path_of(module)
        assert path is not None
        there = _definitions(path.read_text(encoding="utf-8"))
        wanted: set[str] = set()
        called = {verb, "Job", "main"} & there.keys()
        while called - wanted:
            wanted |= called
            inside = [node for name in called for node in ast.walk(there[name])]
            called = {node.id for node in inside if isinstance(node, ast.Name)} & there.keys()
        found += [node for name, node in there.items() if name in wanted]
    return found


@functools.cache
def _definitions(source: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """The functions and classes of a module's text, by name."""
    found = ast.parse(source).body
    return {node.name: node for node in found if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def _shape(node: Any) -> Any:
    """A syntax tree as plain lists, the same on every Python version: empty fields and positions left out."""
    if isinstance(node, ast.AST):
        fields = [[name, _shape(value)] for name, value in ast.iter_fields(node) if value not in (None, [])]
        return [type(node).__name__, *fields]
    return [_shape(item) for item in node] if isinstance(node, list) else repr(node)
