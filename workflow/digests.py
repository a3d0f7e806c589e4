"""Digests of what a job's result depends on besides its settings: the code that it runs, and outside files.

The code of a job is every definition (function, class, constant) that its verb uses, directly or through others, found
from the syntax trees without running anything. Comments, docstrings, annotations and the texts of errors and log lines
do not count. A module that is used as a value counts as a whole. A registry (a dictionary whose values each name a
"module:function") counts only with the entries that the job's settings name.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from orthoglot import receipts, settings

SOURCE = Path(settings.__file__).parents[1]
PACKAGE = "orthoglot"
MAIN = "orthoglot.cli:main"  # runs every verb
CACHE = Path(".cache/digests.json")
TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
TEMPLATE = re.compile(r"[\w.-]+\.(?:j2|js)\b")
ALL = "*"  # every definition of a module
LOGGING = {"debug", "info", "warning", "error", "exception", "warn"}
WORDS = {"description", "help", "title"}  # arguments for readers, of these calls
DESCRIBED = {"Field", "Option", "Argument"}


class Part(NamedTuple):
    """One definition.

    Attributes:
        code: digest of its code; empty for a definition that only passes on what it uses.
        uses: other definitions, as "module:name".
        entries: names of the entries of a registry, each the part "module:name[entry]".
    """

    code: str
    uses: Collection[str] = ()
    entries: Collection[str] = ()


def digest(value: Any) -> str:
    """The first 16 hex digits of the SHA-256 of a JSON value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def files_digest(paths: Sequence[str]) -> list[str]:
    """SHA-256 of outside files, cached by their state (`receipts.state`); "missing" where there is none."""
    known = _cache()["files"]
    found = []
    for path in map(Path, paths):
        state = receipts.state(path) if path.is_file() else None
        digest = known.get(state) or receipts.file_digest(path)
        if state and state == receipts.state(path):
            known[state] = digest
        found.append(digest)
    return found


@functools.cache
def _cache() -> dict[str, Any]:
    """What earlier runs have found: digests of outside files, and the parts of the source as it is now."""
    known: dict[str, Any] = {"files": {}, **receipts.load_cache(CACHE)}
    texts = [path for path in SOURCE.rglob("*.*") if path.suffix in {".py", ".j2", ".js"}]
    source = digest(
        [[str(path), path.read_text(encoding="utf-8")] for path in [Path(__file__), *sorted(texts)]]
    )
    return known if known.get("source") == source else {**known, "source": source, "parts": {}}


def save_cache() -> None:
    """Spare the next process what this one has found."""
    receipts.save_cache(CACHE, _cache())


def forget() -> None:
    """Read every module again when it is next needed."""
    for cached in (_module, _cache, _texts, code):
        cached.cache_clear()


@functools.cache
def code(entry: str, names: frozenset[str]) -> str:
    """Digest of the code behind "module:function".

    Args:
        entry: where the work starts.
        names: strings of the job's settings, which select entries of registries.
    """
    return digest(reached(entry, names))


def reached(entry: str, names: Collection[str]) -> dict[str, str]:
    """The digest of each definition that the work uses, by "module:name"."""
    found: dict[str, str] = {}
    waiting = [entry, MAIN]
    while waiting:
        place = waiting.pop()
        if place not in found:
            found[place], uses, entries = _part(place)
            waiting += [*uses, *(f"{place}[{name}]" for name in entries if name in names)]
    return {place: found[place] for place in sorted(found) if found[place]}


def sources(entry: str, names: frozenset[str]) -> dict[str, Any]:
    """The modules of the code behind "module:function", and a digest of their texts as this process read them."""
    modules = sorted({place.partition(":")[0] for place in reached(entry, names)})
    return {"modules": modules, "digest": _texts(tuple(modules))}


@functools.cache
def _texts(modules: tuple[str, ...]) -> str:
    return receipts.sources_digest(modules)


def path_of(module: str) -> Path | None:
    """The file of a module of the package, or None."""
    stem = SOURCE.joinpath(*module.split("."))
    if module.split(".")[0] != PACKAGE:
        return None
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


class _Module:
    """The definitions and imports of one module, by name."""

    def __init__(self, name: str) -> None:
        path = path_of(name)
        assert path is not None, name
        self.name = name
        self.package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        body = ast.parse(path.read_text(encoding="utf-8")).body
        self.imports = dict(_imports([one for node in body if not _inner(node) for one in ast.walk(node)]))
        self.definitions: dict[str, list[ast.stmt]] = {}
        for node in body:
            for defined in _defined(node):
                self.definitions.setdefault(defined, []).append(node)

    def essence(self, name: str) -> list[ast.stmt]:
        """The statements that define a name, without what changes no result."""
        visited = (_Essential().visit(node) for node in self.definitions[name])
        return [node for node in visited if node is not None]


_module = functools.cache(_Module)


def _part(place: str) -> Part:
    """The definition "module:name"; "module:name@" is one that only an annotation names."""
    known = _cache()["parts"]
    if place not in known:
        module, _, name = place.partition(":")
        known.update(_read_parts(_module(module), name) if path_of(module) else {place: Part("")})
    part: Part = known[place]  # a list where it is from the file
    return part


def _read_parts(module: _Module, wanted: str) -> dict[str, Part]:
    """A definition, and the entries of a registry."""
    place = f"{module.name}:{wanted}"
    wanted, annotated = wanted.removesuffix("@"), wanted.endswith("@")
    if wanted not in module.definitions:
        return {place: Part("", _passed_on(module, wanted, annotated))}
    nodes = module.essence(wanted)
    if annotated:
        if any(isinstance(node, ast.ClassDef) for node in nodes):
            return {place: Part("", [f"{module.name}:{wanted}"])}
        values = [node.value for node in nodes if isinstance(node, ast.Assign | ast.AnnAssign)]
        return {place: Part("", _uses(module, values, annotations=True))}
    if entries := _entries(module, nodes):
        return {place: Part("", [], [*entries])} | {f"{place}[{name}]": entries[name] for name in entries}
    return {place: Part(_code(nodes), _uses(module, nodes))}


def _passed_on(module: _Module, name: str, annotated: bool) -> list[str]:
    """What a name stands for that the module does not define."""
    if name == ALL:
        return [f"{module.name}:{one}" for one in module.definitions]
    if target := module.imports.get(name):
        return [target + "@" * annotated if ":" in target else f"{target}:{ALL}"]
    if path_of(f"{module.name}.{name}"):
        return [f"{module.name}.{name}:{ALL}"]
    return [] if name.startswith("__") else [f"{module.name}:{ALL}"]


def _entries(module: _Module, nodes: list[ast.stmt]) -> dict[str, Part]:
    """The entries of a registry; empty if the definition is none."""
    value = getattr(nodes[0], "value", None) if nodes else None
    if len(nodes) != 1 or not isinstance(value, ast.Dict) or not value.values:
        return {}
    entries = {}
    for key, entry in zip(value.keys, value.values, strict=True):
        texts = [one.value for one in ast.walk(entry) if isinstance(one, ast.Constant)]
        targets = [text for text in texts if isinstance(text, str) and TARGET.fullmatch(text)]
        if not targets or not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            return {}
        uses = [*_uses(module, [entry]), *(_located(module, target) for target in targets)]
        entries[key.value] = Part(_code([entry]), uses)
    return entries


def _located(module: _Module, target: str) -> str:
    """The "module:name" of a registry's entry, which may leave out the registry's own package."""
    name, _, attribute = target.partition(":")
    for prefix in ("", f"{module.package}.", f"{PACKAGE}."):
        if path_of(f"{prefix}{name}"):
            return f"{prefix}{name}:{attribute}"
    raise ValueError(f"{module.name}: {target} names no module of {PACKAGE}")


def _code(nodes: Sequence[ast.AST]) -> str:
    """Digest of syntax trees and of the templates that they name."""
    shape = "".join(map(_shape, nodes))
    templates: dict[str, str] = {}
    waiting = re.findall(TEMPLATE, shape)
    while waiting:
        name = waiting.pop()
        if name not in templates:
            templates[name] = "".join(path.read_text("utf-8") for path in sorted(SOURCE.rglob(name)))
            waiting += re.findall(TEMPLATE, templates[name])
    return digest([shape, templates])


def _shape(node: Any) -> str:
    """A syntax tree as text, the same on every Python version: positions, annotations, empty fields left out."""
    if isinstance(node, ast.AST):
        fields = node.__dict__
        parts = [
            f"{name}={_shape(fields[name])}"
            for name in node._fields
            if name != "annotation" and fields.get(name) not in (None, [])
        ]
        return f"{type(node).__name__}({','.join(parts)})"
    return f"[{','.join(map(_shape, node))}]" if isinstance(node, list) else repr(node)


def _uses(module: _Module, nodes: Sequence[ast.AST | None], annotations: bool = False) -> list[str]:
    present = [node for node in nodes if node is not None]
    visitor = _Uses(module, present, annotations)
    for node in present:
        visitor.visit(node)
    return sorted(visitor.found)


def _imports(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    """What import statements bind: a module, or "module:name"."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                target = inner if path_of(inner) else f"{node.module}:{alias.name}"
                yield alias.asname or alias.name, target


def _inner(node: ast.stmt) -> bool:
    """Whether the imports in a statement of a module are not its own."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return isinstance(node, kinds) or (isinstance(node, ast.If) and _typing_only(node))


def _typing_only(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _defined(node: ast.stmt) -> set[str]:
    """The names that a statement of a module defines or changes."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    stored = [one for one in ast.walk(node) if isinstance(getattr(one, "ctx", None), ast.Store)]
    # What `name.attribute = ...` and `name[key] = ...` change is the name.
    targets = [one.value if isinstance(one, ast.Attribute | ast.Subscript) else one for one in stored]
    return {one.id for one in targets if isinstance(one, ast.Name)}


class _Uses(ast.NodeVisitor):
    """Collects the definitions that a piece of code names."""

    def __init__(self, module: _Module, nodes: Sequence[ast.AST], annotation: bool) -> None:
        self.module = module
        self.bound = module.imports | dict(_imports([one for node in nodes for one in ast.walk(node)]))
        self.annotation = annotation
        self.found: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        target = self.bound.get(node.id)
        if target is None and node.id in self.module.definitions:
            target = f"{self.module.name}:{node.id}"
        if target is not None and target.split(".")[0].split(":")[0] == PACKAGE:
            self._add(target if ":" in target else f"{target}:{ALL}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        owner = self._module_of(node.value)
        if owner is None:
            self.generic_visit(node)
        else:
            self._add(f"{owner}:{node.attr}")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        # Classes that a field may hold; the annotation itself is not part of the code.
        if node.value is not None:
            self.visit(node.value)
        self.annotation, before = True, self.annotation
        self.visit(node.annotation)
        self.annotation = before

    def _add(self, target: str) -> None:
        self.found.add(target + "@" * self.annotation)

    def _module_of(self, node: ast.expr) -> str | None:
        """The module of the package that an expression names."""
        if isinstance(node, ast.Name):
            target = self.bound.get(node.id)
        elif isinstance(node, ast.Attribute):
            owner = self._module_of(node.value)
            target = owner and f"{owner}.{node.attr}"
        else:
            return None
        return target if target and ":" not in target and path_of(target) else None


class _Essential(ast.NodeTransformer):
    """Removes what changes no result: docstrings, messages, type hints of functions."""

    def __init__(self) -> None:
        self.depth = 0

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if _typing_only(node):
            if not node.orelse:
                return None
            node.body = []
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        value = node.value
        if isinstance(value, ast.Constant):
            return None
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            owner = value.func.value
            if isinstance(owner, ast.Name) and owner.id in ("logger", "logging", "warnings"):
                return None if value.func.attr in LOGGING else self.generic_visit(node)
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call):
            node.exc = node.exc.func
        return self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        node.msg = None
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in DESCRIBED:
            node.keywords = [one for one in node.keywords if one.arg not in WORDS]
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.depth, before = 0, self.depth
        self.generic_visit(node)
        self.depth = before
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if not self.depth:
            return self.generic_visit(node)
        if node.value is None:
            return None
        return self.generic_visit(ast.Assign([node.target], node.value))
