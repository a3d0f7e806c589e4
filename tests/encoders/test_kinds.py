"""The folder `kinds` is the registry: a file in it is a kind of encoder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from orthoglot.encoders import kinds
from orthoglot.encoders.kinds import Inputs, RunOptions, kind, make_encoder, names

RUN = RunOptions("cpu", Path("state"))


@pytest.mark.parametrize("name", names())
def test_a_module_is_named_as_its_kind(name: str) -> None:
    assert get_args(kind(name).settings.model_fields["kind"].annotation) == (name,)


def test_trained_kinds_get_the_inputs_and_linked_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []
    noting = {name: replace(kind(name), make=lambda *given: calls.append(given)) for name in ("mlm", "laser")}
    monkeypatch.setattr(kinds, "kind", noting.__getitem__)
    inputs, output = Inputs([Path("en-de")]), Path("out")
    trained, linked = (one.settings.model_construct(kind=name) for name, one in noting.items())
    make_encoder(trained, "a", inputs, RUN, output)
    make_encoder(linked, "b", inputs, RUN, output)
    assert calls == [(trained, "a", inputs, RUN, output), (linked, "b", output)]
