"""Vector to meaning and language.

Each architecture is a module of the folder `architectures`, which is loaded when its name is asked for. It is `Trained`
(gradient descent) or a `ClosedForm` (computed in one pass); both are in `orthoglot.decomposers.base`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orthoglot import registry
from orthoglot.decomposers import architectures

if TYPE_CHECKING:
    from orthoglot.decomposers.base import ClosedForm, Trained


def names() -> list[str]:
    """The names of the architectures, spelt like their modules, in alphabetical order."""
    return [name.replace("-", "_") for name in registry.names(architectures)]


def architecture(name: str) -> Trained | ClosedForm:
    """The architecture of one of the `names`."""
    return registry.load(architectures, name.replace("_", "-")).ARCHITECTURE
