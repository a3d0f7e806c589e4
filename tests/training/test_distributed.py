"""Training in several processes, for real: two of them over gloo on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from toy_training import SETTINGS, history_of, train_ems, write_toy_bitext
from training_process import start_training, train_each_together, train_together

from orthoglot.errors import ConfigError, DataError
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.trainings.ems import pretrain_ems
from orthoglot.training import distributed as ranks

# No dropout: processes draw their own. Each has half of the pairs of a step.
NETWORK = SETTINGS.network.model_copy(update={"dropout": 0.0, "attention_dropout": 0.0})
TWO = SETTINGS.model_copy(
    update={"network": NETWORK, "processes": 2, "batch_size": 16, "steps": 12, "validate_every": 6}
)
GATHERED = TWO.model_copy(update={"negatives": "gathered"})
ONE = TWO.model_copy(update={"processes": 1, "batch_size": 32})


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_toy_bitext(tmp_path_factory.mktemp("bitext") / "en-de")


@pytest.fixture(scope="module")
def encoders(bitext: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By their negatives, the encoders that two processes trained without a stop."""
    settings = {"local": TWO, "gathered": GATHERED}
    return train_each_together(settings, bitext, tmp_path_factory.mktemp("encoders"))


@pytest.fixture
def gathered(encoders: dict[str, Path]) -> Path:
    """The encoder of processes that have each the negatives of both."""
    return encoders["gathered"]


def test_gathered_negatives_give_the_training_of_one_process(
    bitext: list[Path], gathered: Path, tmp_path: Path
) -> None:
    one = train_ems(bitext, tmp_path / "one", ONE)
    a, b = (load_file(folder / "model.safetensors") for folder in (one, gathered))
    for name, weights in a.items():
        torch.testing.assert_close(b[name], weights, atol=2e-4, rtol=1e-3)
    for row, other in zip(history_of(one), history_of(gathered), strict=True):
        assert other["valid.total"] == pytest.approx(row["valid.total"], rel=1e-3)


def test_local_negatives_are_another_training(encoders: dict[str, Path]) -> None:
    """As the paper did: fewer negatives, so a lower contrastive loss in training."""
    first, other = (history_of(encoders[name])[0] for name in ("local", "gathered"))
    assert first["train.contrastive"] < other["train.contrastive"] - 0.5


def test_processes_that_were_stopped_go_on_where_they_were(
    bitext: list[Path], gathered: Path, tmp_path: Path
) -> None:
    stopped = start_training(GATHERED, bitext, tmp_path, kill_at=[4])
    stopped.communicate(timeout=300)
    assert stopped.returncode != 0
    assert (tmp_path / "state/training.pt").exists()
    assert not (tmp_path / "encoder/model.safetensors").exists()
    resumed = train_together(GATHERED, bitext, tmp_path)
    a, b = (load_file(folder / "model.safetensors") for folder in (gathered, resumed))
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_another_number_of_processes_than_the_settings_say_is_refused(
    bitext: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunOptions("cpu", tmp_path / "state")
    with pytest.raises(ConfigError, match="processes is 2, but 1 run: start them with torchrun"):
        pretrain_ems(TWO, "toy", Inputs(bitext, tokens=tmp_path), run, tmp_path)


def test_a_process_that_fails_fails_the_whole(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    message = "training in 2 processes failed with exit code 1"
    with (tmp_path / "lock").open("w") as lock, pytest.raises(DataError, match=message):
        ranks.launch(2, ["study", "train-together", "no-such-job.json", "nowhere"], lock)
    assert "no-such-job.json: No such file or directory" in capfd.readouterr().err
