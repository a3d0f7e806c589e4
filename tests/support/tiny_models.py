"""Fixtures: models on a tiny encoder, which several folders of tests use."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_checkpoint import make_pairs, write_checkpoint, write_tsv

from orthoglot import catalogue
from orthoglot.apply.early_checks import texts_by_pair
from orthoglot.apply.encoder_copy import Checkpoint, copy_encoder
from orthoglot.apply.fit import fit
from orthoglot.text.splitting import SplitSettings
from orthoglot.training.settings import DecompositionSettings


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder whose translations lie next to each other."""
    root = tmp_path_factory.mktemp("encoder")
    checkpoint = write_checkpoint(root / "tiny-xlmr", offset=0.001)
    (root / "encoder").mkdir()
    copy_encoder(Checkpoint(str(checkpoint), pooling="mean", max_tokens=20), ["en", "gn"], root / "encoder")
    return root / "encoder"


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """PLDA and centering on a tiny encoder, and that encoder alone."""
    root = tmp_path_factory.mktemp("models")
    checkpoint = write_checkpoint(root / "tiny-xlmr", offset=0.1)
    text = write_tsv(root / "en-gn.tsv", make_pairs(500))
    for method in ("plda", "centering"):
        fit(
            Checkpoint(str(checkpoint), pooling="mean", max_tokens=20),
            texts_by_pair([str(text)], ["en-gn"]),
            method,
            catalogue.method(method),
            DecompositionSettings(learning_rate=1e-3, batch_size=64, max_epochs=1, patience=1),
            SplitSettings(seed=1, valid=0.1, test=0.1, max_train=0, max_valid=0, max_test=0),
            seed=1,
            device="cpu",
            checkpoint=root / "work",
            output=root / method,
        )
    folders = {name: root / name for name in ("plda", "centering")}
    return folders | {"encoder": root / "plda/encoder"}
