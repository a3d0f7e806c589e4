"""Folders of modules that are found by their names: to add a thing is to add a file."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Annotated, Any, Union

from pydantic import Field

from orthoglot.catalogue_entries import known


def names(folder: ModuleType) -> tuple[str, ...]:
    """The names of a folder's modules, with hyphens for underscores; none is loaded."""
    return _modules(tuple(folder.__path__))


@cache
def _modules(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The folders are listed once: each entry of params.yaml asks for the names."""
    return tuple(sorted(module.name.replace("_", "-") for module in iter_modules(paths)))


def load(folder: ModuleType, name: str) -> Any:
    """The module of a name.

    Raises:
        ConfigError: the folder has no such module.
    """
    known(name, names(folder), "kind")
    return import_module(f"{folder.__name__}.{name.replace('-', '_')}")


def having(folder: ModuleType, attribute: str) -> dict[str, Any]:
    """{name: value of the attribute} of the modules that have it."""
    modules = {name: load(folder, name) for name in names(folder)}
    return {
        name: getattr(module, attribute) for name, module in modules.items() if hasattr(module, attribute)
    }


def entry_of(settings: Iterable[type]) -> Any:
    """The type of an entry of the catalogue: that of some classes of settings which its `kind` names."""
    return Annotated[Union[tuple(settings)], Field(discriminator="kind")]  # noqa: UP007 - known only at run time
