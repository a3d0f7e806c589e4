"""A random XLM-R in an encoder folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkpoints import pretrained
from small_checkpoint import write_checkpoint

from orthoglot.encoders.frozen_folder import link


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of kind `pretrained`, mean pooling."""
    folder = tmp_path_factory.mktemp("encoder")
    checkpoint = write_checkpoint(folder / "toy-checkpoint", pooler=False)
    output = folder / "toy"
    output.mkdir()
    link(pretrained(checkpoint, max_tokens=22), "toy", output)
    return output
