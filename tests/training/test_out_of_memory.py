"""A training whose batch does not fit: the message names the setting, and a size with which a real step was taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from cut_text import tokens_of
from test_emma_x_training import EMMA
from toy_training import SETTINGS, train_ems, word_for_word, write_folder

from orthoglot import catalogue
from orthoglot.errors import DataError
from orthoglot.random_streams import stream
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.kinds.mlm import MlmSettings
from orthoglot.study.pretraining.trainings.emma_x import pretrain_emma_x
from orthoglot.study.pretraining.trainings.ems import EmsModel
from orthoglot.study.pretraining.trainings.mlm import pretrain_mlm
from orthoglot.training import decompose, loop, stack
from orthoglot.training.batching import PairRows
from orthoglot.training.decompose import Data
from orthoglot.training.settings import DecompositionSettings


def exhausted(*_: Any) -> Any:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB.")


@pytest.fixture
def _no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "Stopwatch", exhausted)


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bitext") / "en-de"
    return write_folder(folder, {"train": word_for_word(100, 0), "valid": word_for_word(30, 1)})


@pytest.mark.usefixtures("_no_room")
def test_a_decomposer() -> None:
    every = torch.arange(40)
    rows = PairRows(every, every + 40, torch.zeros_like(every), torch.ones_like(every))
    data = Data(torch.randn(80, 4, generator=stream(1)), ["de", "en"], rows, rows)
    recipe = DecompositionSettings(batch_size=32)
    with pytest.raises(
        DataError, match=r"^meat, seed 3: batch_size: 32 does not fit .*; batch_size: 16 fits$"
    ):
        decompose.train(
            catalogue.method("meat"),
            recipe,
            "meat",
            data,
            seed=3,
            device=torch.device("cpu"),
            checkpoint=None,
        )


def test_a_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    every = torch.arange(40)
    rows = PairRows(every, every + 40, torch.zeros_like(every), torch.ones_like(every))
    data = Data(torch.randn(80, 4, generator=stream(1)), ["de", "en"], rows, rows)
    monkeypatch.setattr(stack._Joint, "train", exhausted)
    recipe = DecompositionSettings(batch_size=32)
    names = "meat", "oracle"
    entries = [stack.Entry(catalogue.method(name), recipe, name, seed) for name in names for seed in (1, 2)]
    with pytest.raises(
        DataError,
        match=r"^meat, oracle, seeds 1, 2: 4 trainings at once, of which fewer need less memory: "
        r"batch_size: 32 does not fit .*; batch_size: 16 fits$",
    ):
        stack.train_stack(entries, data, device=torch.device("cpu"), checkpoint=None)


@pytest.mark.usefixtures("_no_room")
def test_ems(bitext: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, taken = [], EmsModel.forward

    def forward(model: EmsModel, batch: Any) -> Any:
        steps.append(len(batch.languages) // 2)
        return taken(model, batch) if steps[-1] < 16 else exhausted()

    monkeypatch.setattr(EmsModel, "forward", forward)
    with pytest.raises(DataError, match=r"^toy: batch_size: 32 does not fit .*; batch_size: 8 fits$"):
        train_ems([bitext], tmp_path, SETTINGS)
    assert steps == [16, 8]


@pytest.mark.usefixtures("_no_room")
def test_mlm(bitext: Path, tmp_path: Path) -> None:
    sizes = {"layers": 1, "width": 16, "heads": 2, "feed_forward": 32, "max_tokens": 24, "vocabulary": 60}
    recipe = {"batch_size": 16, "warmup_steps": 0, "steps": 2, "validate_every": 1}
    settings = MlmSettings.model_validate({"kind": "mlm", **sizes, **recipe})
    output = tmp_path / "encoder"
    output.mkdir()
    with pytest.raises(DataError, match=r"^x: batch_size: 16 does not fit .*; batch_size: 8 fits$"):
        pretrain_mlm(settings, "x", Inputs([bitext]), RunOptions("cpu", tmp_path / "state"), output)


@pytest.mark.usefixtures("_no_room")
@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "x, parallel-encoder-classifier: parallel.batch_size: 16 does not fit"),
        ({"parallel": {"steps": 0}}, "x, text: text.batch_size: 16 does not fit"),
        (
            {"parallel": {"steps": 0}, "text": {"text": "none", "batch_size": 0, "known_pairs": 16}},
            "x, text: text.known_pairs: 16 does not fit",
        ),
    ],
)
def test_emma_x(bitext: Path, tmp_path: Path, changed: dict[str, Any], expected: str) -> None:
    phases = {phase: getattr(EMMA, phase).model_copy(update=values) for phase, values in changed.items()}
    settings = EMMA.model_copy(update=phases)
    inputs = Inputs([bitext], tokens=tokens_of(settings, [bitext], tmp_path))
    output = tmp_path / "encoder"
    output.mkdir()
    with pytest.raises(DataError) as error:
        pretrain_emma_x(settings, "x", inputs, RunOptions("cpu", tmp_path / "state"), output)
    assert str(error.value).startswith(expected)
    assert str(error.value).endswith(": 8 fits")
