"""The toy language pair, and the encoder that is trained on it once."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_training import train_ems, write_toy_bitext


@pytest.fixture(scope="session")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_toy_bitext(tmp_path_factory.mktemp("bitext") / "en-de")


@pytest.fixture(scope="session")
def trained_ems(bitext: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_ems(bitext, tmp_path_factory.mktemp("trained"))
