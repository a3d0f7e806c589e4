"""Fixtures shared by every room's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

pytest_plugins = ["evaluation_fixtures"]
SHARED_DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give parallel workers whole files, and one worker all files of the workflow, which share a finished run."""
    for item in items:
        room = item.path.parent.name
        item.add_marker(pytest.mark.xdist_group(room if room == "workflow" else str(item.path)))


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real multilingual text; tests that need it skip where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real multilingual data (../shared/data) is not beside this checkout")
    return SHARED_DATA.resolve()
