"""Vector to meaning and language.

`ARCHITECTURES` maps a name to "module:attribute" of this room, so that names can be checked without loading anything.
An architecture is `Trained` (gradient descent) or a `ClosedForm` (computed in one pass).
"""

from __future__ import annotations

import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orthoglot.decomposers.base import ClosedForm, Trained

ARCHITECTURES: dict[str, str] = {
    "two_head": "linear:TWO_HEAD",
    "residual": "linear:RESIDUAL",
    "sparse_autoencoder": "sparse_autoencoder:SPARSE_AUTOENCODER",
    "centering": "centering:CENTERING",
    "pair_centering": "pair_centering:PAIR_CENTERING",
    "lir": "lir:LIR",
    "lsar": "lsar:LSAR",
    "leace": "leace:LEACE",
    "whitening": "whitening:WHITENING",
    "procrustes": "procrustes:PROCRUSTES",
    "discriminant": "discriminant:DISCRIMINANT",
    "turned_discriminant": "turned_discriminant:TURNED_DISCRIMINANT",
}


def architecture(name: str) -> Trained | ClosedForm:
    """What `ARCHITECTURES` names; a KeyError for another name."""
    found: Trained | ClosedForm = pkgutil.resolve_name(f"orthoglot.decomposers.{ARCHITECTURES[name]}")
    return found
