"""The folder `architectures` is the registry: a file in it is an architecture."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from synthetic_world import World, make_world

from orthoglot import catalogue
from orthoglot.decomposers import architectures, names
from orthoglot.decomposers.base import Decomposer, load_decomposer
from orthoglot.errors import ConfigError
from orthoglot.study import config
from orthoglot.training.decompose import fit_decomposer

SCALED = """
from orthoglot.decomposers.base import ClosedForm
from orthoglot.settings import Positive, Settings

class ScaledSettings(Settings):
    factor: Positive

def fit(moments, factor):
    return {"mean": factor * moments.sums.sum(axis=0) / moments.counts.sum()}

def apply(weights, vectors, languages):
    return vectors - weights["mean"], 0 * vectors + weights["mean"]

ARCHITECTURE = ClosedForm(fit, apply, {"mean": "D"}, settings=ScaledSettings)
"""


def method(**settings: object) -> config.MethodSettings:
    values = {"methods": {"mine": {"architecture": "scaled", **settings}}}
    return config.load(catalogue.shipped(), values).methods["mine"]


def test_a_closed_form_is_added_with_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ConfigError, match=r"methods\.mine\.architecture: 'scaled' is unknown; known: original, "
    ):
        method(factor=2.0)
    (tmp_path / "scaled.py").write_text(SCALED)
    monkeypatch.setattr(architectures, "__path__", [*architectures.__path__, str(tmp_path)])
    assert "scaled" in names()
    world: World = make_world(train=90, valid=0, test=0)
    for settings, message in (
        ({}, "factor: Field required"),
        ({"factor": -1.0}, "factor: .* greater than 0"),
    ):
        with pytest.raises(ConfigError, match=rf"methods\.mine\.{message}"):
            method(**settings)
    with pytest.raises(ConfigError, match="factor does nothing with architecture 'leace'"):
        method(architecture="leace", factor=2.0)
    chosen = method(factor=2.0)
    assert chosen.own_settings == {"factor": 2.0}
    decomposer, _ = fit_decomposer(
        chosen, None, "mine", world.data, seed=1, device=torch.device("cpu"), checkpoint=None
    )
    sides = torch.cat([world.data.train.source, world.data.train.target])
    mean = world.data.vectors[sides].double().mean(dim=0)
    assert decomposer.weights["mean"] == pytest.approx(2 * mean.numpy(), abs=1e-6)
    assert decomposer.details["factor"] == 2.0
    decomposer.save(tmp_path)
    opened: Decomposer = load_decomposer(tmp_path)
    assert (opened.architecture, opened.details) == ("scaled", decomposer.details)
