"""Random streams derived by name from one seed, so that adding a draw never shifts the others."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def derive(seed: int, *names: object) -> int:
    """A 63-bit seed that depends on `seed` and on every name, and on nothing else."""
    text = "/".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def stream(seed: int, *names: object) -> torch.Generator:
    """A CPU generator of its own for the purpose that `names` tell, e.g. ("partners", epoch)."""
    import torch

    return torch.Generator().manual_seed(derive(seed, *names))
