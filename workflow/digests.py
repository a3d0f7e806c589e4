"""Digests of what a job's result depends on besides its settings: code and outside files."""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orthoglot import settings
from orthoglot.atomic import replacing

SOURCE = Path(settings.__file__).parent
MEMORY = Path(".jobs/digests.json")


def digest(value: Any) -> str:
    """SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def files_digest(paths: Sequence[str]) -> list[str]:
    """SHA-256 of outside files, remembered by path, size and time; "missing" where there is none."""
    memory = json.loads(MEMORY.read_text()) if MEMORY.exists() else {}
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


def shape_digest(module: str) -> str:
    """Digest of one module's syntax tree and of the templates beside it; comments and layout do not count."""
    return _parsed(module)[0]


@functools.cache
def _parsed(module: str) -> tuple[str, list[str]]:
    """A digest of the module's syntax tree (and of templates beside it), and the orthoglot modules it names."""
    path = path_of(module)
    assert path is not None, module
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    templates = "".join(p.read_text(encoding="utf-8") for p in sorted(path.parent.glob(f"{path.stem}*.j2")))
    known = [name for name in names if name.startswith("orthoglot") and path_of(name)]
    parents = {name.rpartition(".")[0] for name in known if name.count(".") > 1}
    return digest([_shape(tree), templates]), sorted({*known, *parents} - {module, "orthoglot"})


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
        tree = ast.parse(path.read_text(encoding="utf-8"))
        there = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        wanted: set[str] = set()
        called = {verb, "Job", "main"} & there.keys()
        while called - wanted:
            wanted |= called
            inside = [node for name in called for node in ast.walk(there[name])]
            called = {node.id for node in inside if isinstance(node, ast.Name)} & there.keys()
        found += [node for name, node in there.items() if name in wanted]
    return found


def _shape(node: Any) -> Any:
    """A syntax tree as plain lists, the same on every Python version: empty fields and positions left out."""
    if isinstance(node, ast.AST):
        fields = [[name, _shape(value)] for name, value in ast.iter_fields(node) if value not in (None, [])]
        return [type(node).__name__, *fields]
    return [_shape(item) for item in node] if isinstance(node, list) else repr(node)
