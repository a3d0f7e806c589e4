"""The toy language pair, and the encoder that is trained on it once."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_training import train_ems, word_for_word, write_folder


@pytest.fixture(scope="session")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("bitext") / "en-de"
    return [write_folder(folder, {"train": word_for_word(400, 0), "valid": word_for_word(60, 1)})]


@pytest.fixture(scope="session")
def trained_ems(bitext: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_ems(bitext, tmp_path_factory.mktemp("trained"))
