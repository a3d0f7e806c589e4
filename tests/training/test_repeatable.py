"""Deterministic algorithms for trainings on CUDA alone, and the state before them afterwards."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from orthoglot.encoders.base import resolve_device
from orthoglot.training.repeatable import repeatable

ON_CUDA: Any = SimpleNamespace(
    parameters=lambda: iter([SimpleNamespace(is_cuda=True, device=torch.device("cpu"))])
)


def state() -> tuple[bool, bool, bool]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.utils.deterministic.fill_uninitialized_memory,  # type: ignore[attr-defined]
    )


def test_a_model_on_cuda_is_trained_with_them_and_an_error_restores_the_state() -> None:
    before = state()
    assert not before[0]
    seen = []

    def fail() -> None:
        with repeatable(ON_CUDA):
            seen.append(state())
            raise ValueError("in between")

    with pytest.raises(ValueError, match="in between"):
        fail()
    assert seen == [(True, False, False)]
    assert state() == before


@pytest.mark.parametrize("warns", [False, True])
def test_who_forbids_all_others_or_asks_for_warnings_keeps_that(warns: bool) -> None:
    torch.use_deterministic_algorithms(True, warn_only=warns)
    try:
        with repeatable(ON_CUDA):
            assert state() == (True, warns, False)
        assert state()[:2] == (True, warns)
    finally:
        torch.use_deterministic_algorithms(False)


def test_where_cublas_was_used_before_without_its_workspace_a_training_goes_on_with_warnings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeError("... you must set an environment variable: CUBLAS_WORKSPACE_CONFIG=:4096:8 ...")

    before = state()
    with monkeypatch.context() as patched:
        patched.setattr(torch, "mm", refuse)
        with repeatable(ON_CUDA):
            assert state() == (True, True, False)
    assert state() == before


def test_nothing_changes_on_a_cpu() -> None:
    before = state()
    with repeatable(nn.Linear(2, 2)):
        assert state() == before


def test_cublas_gets_a_workspace_of_fixed_size_unless_one_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    resolve_device("cpu")
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    resolve_device("cpu")
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"
