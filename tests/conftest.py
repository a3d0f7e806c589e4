"""Fixtures shared by every room's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

pytest_plugins = ["evaluation_fixtures"]
SHARED_DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real multilingual text; tests that need it skip where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real multilingual data (../shared/data) is not beside this checkout")
    return SHARED_DATA.resolve()
