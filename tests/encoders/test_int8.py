"""Precision int8: CTranslate2 computes the network that transformers has."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from checkpoints import bert, pretrained, sonar, xlmr
from safetensors.torch import load_file, save_file

from orthoglot.encoders.folder import load_encoder
from orthoglot.encoders.frozen_folder import link
from orthoglot.encoders.int8 import Int8Network
from orthoglot.encoders.settings import Pooling
from orthoglot.errors import ConfigError

SENTENCES = ["the cat sat", "a mat", "on the mat the cat sat on a mat", "cat"]
installed = pytest.mark.skipif(
    importlib.util.find_spec("ctranslate2") is None, reason="CTranslate2 is not installed"
)


def _linked(checkpoint: Path, pooling: Pooling = "mean") -> Path:
    folder = checkpoint.with_name(f"linked-{pooling}")
    folder.mkdir()
    link(pretrained(checkpoint, pooling=pooling), "tiny", folder)
    return folder


def _apart(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def _has_products_of_8_bits() -> bool:
    described = Path("/proc/cpuinfo")
    return described.exists() and "vnni" in described.read_text()


@installed
@pytest.mark.parametrize("architecture", [xlmr, bert])
@pytest.mark.parametrize("pooling", ["cls", "pooler", "mean"])
def test_weights_are_where_the_engine_expects_them(
    architecture: Callable[[Path], Path], tmp_path: Path, pooling: Pooling, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ctranslate2.specs.model_spec import LayerSpec

    checkpoint = architecture(tmp_path / "checkpoint")
    weights = load_file(checkpoint / "model.safetensors")
    # The attention of fresh weights is nearly even, whatever queries and keys are.
    sharp = {name: 40 * weight for name, weight in weights.items() if ".self." in name}
    save_file({**weights, **sharp}, checkpoint / "model.safetensors", {"format": "pt"})
    folder = _linked(checkpoint, pooling)
    wanted = load_encoder(folder, "cpu").encode(SENTENCES, "", 64)
    before = (checkpoint / "model.safetensors").read_bytes()
    rounded = load_encoder(folder, "cpu", "int8").encode(SENTENCES, "", 64)
    assert (checkpoint / "model.safetensors").read_bytes() == before
    # Without rounding the engine gives the vectors of transformers.
    monkeypatch.setattr(LayerSpec, "optimize", lambda self, quantization: None)
    monkeypatch.setattr("ctranslate2.Encoder", _in_float32(sys.modules["ctranslate2"].Encoder))
    exact = load_encoder(folder, "cpu", "int8").encode(SENTENCES, "", 64)
    assert _apart(exact, wanted) < 1e-5
    # Sums of 8-bit products overflow on a processor without instructions for them, so there only the former line holds.
    assert 1e-5 < _apart(rounded, wanted) < (0.05 if _has_products_of_8_bits() else np.inf)
    assert rounded.dtype == np.float32


def _in_float32(encoder: Callable[..., object]) -> Callable[..., object]:
    return lambda folder, **options: encoder(folder, **options | {"compute_type": "float32"})


@installed
def test_padding_does_not_count(tmp_path: Path) -> None:
    encoder = load_encoder(_linked(xlmr(tmp_path / "checkpoint")), "cpu", "int8")
    together = encoder.encode(SENTENCES, "", 64)
    alone = np.concatenate([encoder.encode([sentence], "", 64) for sentence in SENTENCES])
    assert _apart(together, alone) < 0.01
    assert _apart(together, np.roll(alone, 1, axis=0)) > 0.1


@installed
def test_other_families_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="precision int8 is for networks of the families bert, "):
        load_encoder(_linked(sonar(tmp_path / "checkpoint")), "cpu", "int8")


def test_without_the_engine_a_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(ConfigError, match=r"needs CTranslate2: pip install 'orthoglot\[int8\]'"):
        load_encoder(_linked(xlmr(tmp_path / "checkpoint")), "cpu", "int8")


def test_a_gpu_is_refused() -> None:
    config = SimpleNamespace(model_type="bert", hidden_act="gelu")
    with pytest.raises(ConfigError, match="precision int8 is for the CPU"):
        Int8Network(SimpleNamespace(config=config, device=torch.device("cuda")), "tiny")
