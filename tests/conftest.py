"""Fixtures shared by every room's tests."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from orthoglot import environment

# As commands do before they load PyTorch: threads that spin while they wait would slow the tests beside them tenfold.
environment.set_defaults()

import torch  # noqa: E402

pytest_plugins = ["evaluation_fixtures"]
SHARED_DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _process_of_all_tests() -> Iterator[None]:
    """Commands take all CPUs and set the level of the log, for a process that here is that of all tests."""
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(1)
    logging.getLogger("orthoglot").setLevel(logging.NOTSET)


@pytest.fixture
def without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test in which a connection is an error."""

    def refused(*_: Any) -> NoReturn:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refused)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real multilingual text; tests that need it skip where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real multilingual data (../shared/data) is not beside this checkout")
    return SHARED_DATA.resolve()


@pytest.fixture(scope="session")
def more_data(shared_data: Path) -> Path:
    """The folder of further real sets; tests that need it skip where it is absent."""
    folder = shared_data.parent / "data_more"
    if not folder.is_dir():
        pytest.skip("the further real sets (../shared/data_more) are not beside this checkout")
    return folder
