"""An encoder that has not seen a language in training takes its text all the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from orthoglot.study import config
from orthoglot.study.pretraining import trainer
from orthoglot.study.pretraining.inputs import Inputs, RunOptions


@pytest.mark.parametrize(("withheld", "languages"), [([], ["de", "en"]), (["gn"], ["de", "en", "gn"])])
def test_the_card_names_the_languages_that_were_withheld(
    withheld: list[str], languages: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config.load(Path(__file__).parents[3] / "params.yaml").encoders["ems-mini"]
    settings = settings.model_copy(update={"withheld": withheld})
    said: list[Sequence[str]] = []

    def save(name: str, languages: Sequence[str], output: Path, facts: Mapping[str, Any]) -> None:
        said.append(languages)

    monkeypatch.setattr(trainer, "describe_bitext", lambda folder: {})
    made = trainer.Training(
        settings,  # type: ignore[arg-type]
        "one",
        Inputs([tmp_path / "en-de"]),
        RunOptions("cpu", tmp_path),
        SimpleNamespace(save=save),  # type: ignore[arg-type]
        {},  # type: ignore[arg-type]
        torch.device("cpu"),
    )
    made.save([], tmp_path)
    assert said == [languages]
