"""Vector to meaning and language.

Each architecture is a module of the folder `architectures`, which is loaded when its name is asked for. It is `Trained`
(gradient descent) or a `ClosedForm` (computed in one pass); both are in `orthoglot.decomposers.base`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from orthoglot.decomposers import architectures

if TYPE_CHECKING:
    from orthoglot.decomposers.base import ClosedForm, Trained


def names() -> list[str]:
    """Of the architectures, in order of the alphabet."""
    return sorted(module.name for module in iter_modules(architectures.__path__))


def architecture(name: str) -> Trained | ClosedForm:
    """The architecture of one of the `names`."""
    form: Trained | ClosedForm = import_module(f"{architectures.__name__}.{name}").ARCHITECTURE
    return form
