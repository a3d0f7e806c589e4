"""Vectors beside the maps, or in host memory: the same rows, and where they are kept."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from orthoglot.random_streams import stream
from orthoglot.training import gathering

CUDA = torch.device("cuda", 0)


def test_rows_are_those_of_the_matrix_also_on_another_device() -> None:
    vectors = torch.randn(50, 4, generator=stream(1))
    rows = torch.randint(50, (20,), generator=stream(2))
    assert torch.equal(gathering.gathered(vectors, rows, torch.device("cpu")), vectors[rows])
    # The meta device stands for one that the vectors are not on: shapes and types only.
    there = gathering.gathered(vectors, rows, torch.device("meta"))
    assert (there.device.type, there.shape, there.dtype) == ("meta", (20, 4), torch.float32)


@pytest.mark.parametrize(("free", "kept", "expected"), [(1000, 0, True), (999, 0, False), (400, 600, True)])
def test_vectors_stay_on_a_device_with_memory_for_them(
    monkeypatch: pytest.MonkeyPatch, free: int, kept: int, expected: bool
) -> None:
    """800 bytes fit into four fifths of 1,000, of which PyTorch itself may keep a part."""
    cuda = SimpleNamespace(
        mem_get_info=lambda _: (free, 10_000),
        memory_reserved=lambda _: kept + 5,
        memory_allocated=lambda _: 5,
    )
    monkeypatch.setattr(torch, "cuda", cuda)
    assert gathering.fits(torch.zeros(50, 4), CUDA) is expected


def test_a_cpu_has_memory_for_what_is_there() -> None:
    assert gathering.fits(torch.zeros(3, 3), torch.device("cpu"))
