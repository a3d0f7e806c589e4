"""The folder `kinds` is the registry: a file in it is a kind of encoder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from orthoglot import registry
from orthoglot.encoders import kinds
from orthoglot.encoders.kinds import kind, names
from orthoglot.encoders.kinds.laser import LaserSettings
from orthoglot.encoders.settings import TRAINED, EncoderEntry
from orthoglot.study.jobs.pretrain import make_encoder
from orthoglot.study.pretraining import kinds as trained_kinds
from orthoglot.study.pretraining import trainings
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.kinds.mlm import MlmSettings
from orthoglot.study.pretraining.trainings import mlm

RUN = RunOptions("cpu", Path("state"))


@pytest.mark.parametrize(("name", "settings"), trained_kinds.settings().items())
def test_a_module_is_named_as_its_kind(name: str, settings: type[EncoderEntry]) -> None:
    assert get_args(settings.model_fields["kind"].annotation) == (name,)


def test_trained_kinds_get_the_inputs_and_linked_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []
    linked = replace(kind("laser"), make=lambda *given: calls.append(given))
    monkeypatch.setattr(kinds, "kind", {"laser": linked}.__getitem__)
    monkeypatch.setattr(mlm, "TRAIN", lambda *given: calls.append(given))
    inputs, output = Inputs([Path("en-de")]), Path("out")
    trained = MlmSettings.model_construct(kind="mlm")
    frozen = LaserSettings.model_construct(kind="laser")
    make_encoder(trained, "a", inputs, RUN, output)
    make_encoder(frozen, "b", inputs, RUN, output)
    assert calls == [(trained, "a", inputs, RUN, output), (frozen, "b", output)]


def test_a_kind_is_linked_or_has_a_training_of_its_name() -> None:
    trained = {*registry.names(trained_kinds)}
    assert trained == {*registry.names(trainings)}
    assert all(callable(registry.load(trainings, name).TRAIN) for name in trained)
    linked = {name for name in names() if kind(name).make}
    assert linked == {*kinds.settings()}
    assert not linked & trained
    assert {*TRAINED} == trained
    assert {*trained_kinds.settings()} == linked | trained
