"""What a module defines and what each definition uses, from its syntax tree, without running anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

PACKAGE = "orthoglot"
# An entry of a registry, and a template or script that a definition reads.
ENTRY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
TEMPLATE = re.compile(r"[\w.-]+\.(?:j2|js)\b")


class Definition(NamedTuple):
    """A function, class, constant or import of a module; or what runs when the module is imported."""

    code: str  # `shape` or its digest, without the entries of registries
    # "module:definition"; or as an import says it "package.module.name", with ":" behind it for what runs on import
    uses: Sequence[str]
    entries: dict[str, tuple[str, Sequence[str]]]  # code and modules of each entry of a registry, by its name
    templates: Sequence[str]  # names of templates and scripts that it reads


def definitions(
    tree: ast.Module, module: str, package: str, is_module: Callable[[str], Any]
) -> dict[str, Definition]:
    """The definitions of a module by their names.

    The definition "" is what runs when the module is imported; "*" uses all that other modules may import from it.

    Args:
        tree: The module's syntax tree, whose entries of registries are taken out.
        module: Its name.
        package: The package that the names in its registries are relative to.
        is_module: Whether there is a module of a name.
    """
    statements = [*_that_run(tree.body)]
    entries = {id(statement): _entries(statement, package, is_module) for statement in statements}
    imported = _imported(part for part in statements if not isinstance(part, ast.FunctionDef | ast.ClassDef))
    parts: dict[str, list[ast.stmt]] = {"": []}
    for statement in statements:
        for name in _defined(statement, imported):
            parts.setdefault(name, []).append(statement)
    # Another module may import from this one what this one imports.
    result = {
        name: Definition("", ours, {}, [])
        for name, targets in imported.items()
        if (ours := sorted(filter(_is_ours, targets)))
    }
    defined = {part: {f"{module}:{part}"} for part in parts}
    for name, nodes in parts.items():
        inside = _imported(nodes)
        used = {
            target
            for dotted in chain.from_iterable(map(_names, nodes))
            for names in (defined, imported, inside)
            for target in _targets(dotted, names)
        }
        runs = {f"{target}:" for targets in (inside if name else imported).values() for target in targets}
        code = "".join(map(shape, nodes))
        result[name] = Definition(
            code,
            sorted({*filter(_is_ours, used | runs)} - {f"{module}:{name}"}),
            {key: entry for node in nodes for key, entry in entries[id(node)].items()},
            TEMPLATE.findall(code),
        )
    lists = chain.from_iterable(map(ast.walk, parts.get("__all__", ())))
    listed = {word.value for word in lists if isinstance(word, ast.Constant)}
    everything = [f"{module}:{name}" for name in result if name in parts or name in listed]
    return {**result, "*": Definition("", everything, {}, [])}


def _that_run(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module that run: neither its docstring nor what only a type checker imports."""
    for statement in body:
        if isinstance(statement, ast.If) and getattr(statement.test, "id", "") == "TYPE_CHECKING":
            yield from _that_run(statement.orelse)
        elif not _changes_nothing(statement):
            yield statement


def _defined(statement: ast.stmt, imported: dict[str, set[str]]) -> list[str]:
    """The names that a statement of a module defines; "" if it has an effect of its own when it runs."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return []
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        # A decorator from elsewhere registers nothing here.
        roots = (next(_names(decorator), "").partition(".")[0] for decorator in statement.decorator_list)
        outside = not any(
            target.startswith(PACKAGE) for root in roots for target in imported.get(root, {PACKAGE})
        )
        return [statement.name] if outside else ["", statement.name]
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return [""]
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    places = [place for target in targets for place in getattr(target, "elts", [target])]
    names = [place.id for place in places if isinstance(place, ast.Name)]
    return names if len(names) == len(places) else [""]


def _imported(statements: Iterable[ast.AST]) -> dict[str, set[str]]:
    """All that the imports within some statements stand for, by the name that they have there."""
    imported: dict[str, set[str]] = {}
    for node in chain.from_iterable(map(ast.walk, statements)):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            full = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
            root = full.partition(".")[0]
            if isinstance(node, ast.Import) and not alias.asname:
                imported.setdefault(root, set()).add(root)
            name = full if isinstance(node, ast.Import) else alias.name
            imported.setdefault(alias.asname or name, set()).add(full)
    return imported


def _names(node: Any) -> Iterator[str]:
    """The names, with attributes ("registry.load"), that the code of a syntax tree has, as `shape` reads it."""
    attributes, base = [], node
    while isinstance(base, ast.Attribute):
        attributes.append(base.attr)
        base = base.value
    if isinstance(base, ast.Name):
        yield ".".join([base.id, *reversed(attributes)])
        return
    for _, value in _fields(base):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST) and not _changes_nothing(part):
                yield from _names(part)


def _targets(dotted: str, names: dict[str, set[str]]) -> Iterator[str]:
    """What a name with attributes may stand for: nothing for a variable, and for what Python itself has."""
    root, _, rest = dotted.partition(".")
    for target in names.get(root, ()):
        yield f"{target}.{rest}" if rest and ":" not in target else target


def _is_ours(target: str) -> bool:
    return target.startswith(f"{PACKAGE}.")


def _entries(
    statement: ast.stmt, package: str, is_module: Callable[[str], Any]
) -> dict[str, tuple[str, list[str]]]:
    """The entries of dictionaries that name modules as "module:function"; they are taken out of the tree."""
    entries: dict[str, tuple[str, list[str]]] = {}
    for node in ast.walk(statement):
        if not isinstance(node, ast.Dict):
            continue
        rest = []
        for key, value in zip(node.keys, node.values, strict=True):
            texts = (part.value for part in ast.walk(value) if isinstance(part, ast.Constant))
            named = [
                text.partition(":")[0] for text in texts if isinstance(text, str) and ENTRY.fullmatch(text)
            ]
            full = [f"{before}{module}" for module in named for before in (f"{package}.", f"{PACKAGE}.", "")]
            if isinstance(key, ast.Constant) and (modules := [*filter(is_module, full)]):
                entries[str(key.value)] = shape(value), modules
            else:
                rest.append((key, value))
        node.keys, node.values = [key for key, _ in rest], [value for _, value in rest]
    return entries


def shape(node: Any) -> str:
    """A syntax tree as text, the same on every Python version, without what changes no result.

    That is docstrings, annotations of functions, and what is only logged.
    """
    if isinstance(node, list):
        shapes = [shape(part) for part in node if not _changes_nothing(part)]
        return f"[{','.join(shapes)}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    shapes = [f"{name}={shape(value)}" for name, value in _fields(node) if value not in (None, [])]
    return f"{type(node).__name__}({','.join(shapes)})"


def _fields(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """The fields of a node but for annotations of functions."""
    unwanted = {"returns"} | ({"annotation"} if isinstance(node, ast.arg) else set())
    return ((name, value) for name, value in ast.iter_fields(node) if name not in unwanted)


def _changes_nothing(node: Any) -> bool:
    """Whether a statement is a docstring, or only logs."""
    if not isinstance(node, ast.Expr):
        return False
    logged = isinstance(node.value, ast.Call) and next(_names(node.value.func), "").startswith("logger.")
    return logged or isinstance(node.value, ast.Constant)
