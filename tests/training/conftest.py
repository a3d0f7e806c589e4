"""The synthetic world that methods are trained in."""

from __future__ import annotations

import pytest
from synthetic_world import World, make_world


@pytest.fixture(scope="session")
def world() -> World:
    return make_world()
