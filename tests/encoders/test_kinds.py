"""The registry of encoder kinds: every line works, and a new line is all that a new kind needs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, Literal, get_args

import pytest

from orthoglot.encoders import kinds
from orthoglot.encoders.kinds import KINDS, Inputs, Kind, RunOptions, load_encoder, make_encoder
from orthoglot.encoders.settings import FrozenSettings

RUN = RunOptions("cpu", Path("state"))


@pytest.mark.parametrize("name", KINDS)
def test_every_line_names_things_that_are_there(name: str) -> None:
    kind = KINDS[name]
    assert get_args(kind.settings.model_fields["kind"].annotation) == (name,)
    assert callable(resolve_name(kind.make))
    assert callable(resolve_name(kind.tokenizer))
    assert not kind.load or callable(resolve_name(kind.load).load)


class ConstantSettings(FrozenSettings):
    kind: Literal["constant"]


def test_a_new_kind_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("constant_encoder")

    def link(settings: ConstantSettings, name: str, output: Path) -> None:
        card = {"kind": settings.kind, "name": name}
        (output / "encoder.json").write_text(json.dumps(card))

    class Constant:
        @classmethod
        def load(cls, folder: Path, device: str, precision: str) -> tuple[str, str, str]:
            return folder.name, device, precision

    module.link, module.Constant = link, Constant
    monkeypatch.setitem(sys.modules, "constant_encoder", module)
    line = Kind(ConstantSettings, "constant_encoder:link", "constant_encoder:Constant")
    monkeypatch.setitem(kinds.KINDS, "constant", line)
    settings = ConstantSettings(kind="constant", checkpoint="x", max_tokens=3, licence="none")
    make_encoder(settings, "one", Inputs([]), RUN, tmp_path)
    assert load_encoder(tmp_path, "cpu") == (tmp_path.name, "cpu", "float32")  # type: ignore[comparison-overlap]


def test_trained_kinds_get_the_inputs_and_linked_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(kinds, "resolve_name", lambda _: lambda *arguments: calls.append(arguments))
    inputs, output = Inputs([Path("en-de")]), Path("out")
    trained: Any = KINDS["mlm"].settings.model_construct(kind="mlm")
    linked: Any = KINDS["laser"].settings.model_construct(kind="laser")
    make_encoder(trained, "a", inputs, RUN, output)
    make_encoder(linked, "b", inputs, RUN, output)
    assert calls == [(trained, "a", inputs, RUN, output), (linked, "b", output)]
