"""Random streams derived by name from one seed, so that adding a draw never shifts the others."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor

STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def derive(seed: int, *names: object) -> int:
    """A 63-bit seed that depends on `seed` and on every name, and on nothing else."""
    text = "/".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def stream(seed: int, *names: object) -> torch.Generator:
    """A separate CPU generator for the purpose named by `names`, e.g. ("partners", epoch)."""
    import torch

    return torch.Generator().manual_seed(derive(seed, *names))


class Draws:
    """Random numbers made on any device, the same on every one: PyTorch's generators differ between devices.

    SplitMix64 (Steele, Lea and Flood 2014): number i mixes the bits of seed + i * STEP modulo 2^64.
    """

    def __init__(self, seed: int, *names: object) -> None:
        self._seed = derive(seed, *names)
        self._drawn = 0

    def bits(self, n: int, device: torch.device | str = "cpu") -> Tensor:
        """The next n numbers (n,) int64, all 64 bits random; no two of one stream are equal."""
        import torch

        counter = torch.arange(self._drawn + 1, self._drawn + n + 1, device=device)
        self._drawn += n
        x = counter * _signed(STEP) + self._seed
        x = (x ^ _shifted(x, 30)) * _signed(FIRST)
        x = (x ^ _shifted(x, 27)) * _signed(SECOND)
        return x ^ _shifted(x, 31)

    def uniform(self, n: int, device: torch.device | str = "cpu") -> Tensor:
        """The next n numbers (n,) float64, uniform in [0, 1)."""
        return _shifted(self.bits(n, device), 11).double() * 2.0**-53

    def permutation(self, n: int, device: torch.device | str = "cpu") -> Tensor:
        """0 .. n - 1 in random order (n,)."""
        return self.bits(n, device).argsort()


def _signed(value: int) -> int:
    """A 64-bit pattern as PyTorch's int64 reads it; its products wrap around as unsigned ones do."""
    return value - (1 << 64) if value >> 63 else value


def _shifted(x: Tensor, by: int) -> Tensor:
    """Shift to the right with zeros coming in."""
    return (x >> by) & ((1 << (64 - by)) - 1)
