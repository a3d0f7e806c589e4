"""Training in several processes, for real: two of them over gloo on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from cut_text import tokens_of
from safetensors.torch import load_file
from test_ems_training import SETTINGS, word_for_word, write_folder

from orthoglot.encoders.kinds import Inputs, RunOptions
from orthoglot.errors import ConfigError, DataError
from orthoglot.pretraining.ems import pretrain_ems
from orthoglot.training import distributed as ranks

SCRIPT = """
import sys
from pathlib import Path
import torch
from orthoglot.encoders.kinds.ems import EmsSettings
from orthoglot.training import loop
from orthoglot.encoders.kinds import Inputs, RunOptions
from orthoglot.pretraining.ems import pretrain_ems
torch.set_num_threads(1)
settings = EmsSettings.model_validate_json(Path(sys.argv[1]).read_text())
if len(sys.argv) > 6:
    loop.SECONDS_BETWEEN_SAVES, loop.SAVE_SHARE = 0.0, 0
    loop.WINDOW = 10**9
    done, step = [], loop._Saves.now
    def now(self):
        step(self)
        done.append(1)
        if len(done) == int(sys.argv[6]):
            raise SystemExit(9)
    loop._Saves.now = now
bitext, output, state, tokens = map(Path, sys.argv[2:6])
pretrain_ems(settings, "toy", Inputs([bitext], tokens=tokens), RunOptions("cpu", state), output)
"""
# No dropout: processes draw their own. Each has half of the pairs of a step.
NETWORK = SETTINGS.network.model_copy(update={"dropout": 0.0, "attention_dropout": 0.0})
TWO = SETTINGS.model_copy(
    update={"network": NETWORK, "processes": 2, "batch_size": 16, "steps": 12, "validate_every": 6}
)
ONE = TWO.model_copy(update={"processes": 1, "batch_size": 32})


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bitext") / "en-de"
    return write_folder(folder, {"train": word_for_word(400, 0), "valid": word_for_word(60, 1)})


def together(bitext: Path, place: Path, negatives: str, *stop: str) -> subprocess.CompletedProcess[str]:
    output = place / "encoder"
    output.mkdir(parents=True, exist_ok=True)
    (place / "run.py").write_text(SCRIPT)
    (place / "settings.json").write_text(TWO.model_copy(update={"negatives": negatives}).model_dump_json())
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    tokens = tokens_of(TWO, [bitext], place)
    files = [place / "run.py", place / "settings.json", bitext, output, place / "state", tokens]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*command, *map(str, files), *stop], env=environment, capture_output=True, text=True, timeout=300
    )


def alone(bitext: Path, place: Path) -> Path:
    output = place / "encoder"
    output.mkdir(parents=True)
    inputs = Inputs([bitext], tokens=tokens_of(ONE, [bitext], place))
    pretrain_ems(ONE, "toy", inputs, RunOptions("cpu", place / "state"), output)
    return output


def history(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def gathered(bitext: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The encoder that two processes trained without a stop, each with the negatives of both."""
    place = tmp_path_factory.mktemp("gathered")
    result = together(bitext, place, "gathered")
    assert result.returncode == 0, result.stderr
    return place / "encoder"


def test_gathered_negatives_give_the_training_of_one_process(
    bitext: Path, gathered: Path, tmp_path: Path
) -> None:
    one = alone(bitext, tmp_path / "one")
    a, b = (load_file(folder / "model.safetensors") for folder in (one, gathered))
    for name, weights in a.items():
        torch.testing.assert_close(b[name], weights, atol=2e-4, rtol=1e-3)
    for row, other in zip(history(one), history(gathered), strict=True):
        assert other["valid.total"] == pytest.approx(row["valid.total"], rel=1e-3)


def test_local_negatives_are_another_training(bitext: Path, gathered: Path, tmp_path: Path) -> None:
    """As the paper did: fewer negatives, so a lower contrastive loss in training."""
    assert together(bitext, tmp_path, "local").returncode == 0
    first, other = (history(folder)[0] for folder in (tmp_path / "encoder", gathered))
    assert first["train.contrastive"] < other["train.contrastive"] - 0.5


def test_processes_that_were_stopped_go_on_where_they_were(
    bitext: Path, gathered: Path, tmp_path: Path
) -> None:
    assert together(bitext, tmp_path, "gathered", "4").returncode != 0
    assert (tmp_path / "state/training.pt").exists()
    assert not (tmp_path / "encoder/model.safetensors").exists()
    resumed = together(bitext, tmp_path, "gathered")
    assert resumed.returncode == 0, resumed.stderr
    a, b = (load_file(folder / "model.safetensors") for folder in (gathered, tmp_path / "encoder"))
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_another_number_of_processes_than_the_settings_say_is_refused(
    bitext: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunOptions("cpu", tmp_path / "state")
    with pytest.raises(ConfigError, match="processes is 2, but 1 run: start them with torchrun"):
        pretrain_ems(TWO, "toy", Inputs([bitext], tokens=tmp_path), run, tmp_path)


def test_a_process_that_fails_fails_the_whole(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    message = "training in 2 processes failed with exit code 1"
    with (tmp_path / "lock").open("w") as lock, pytest.raises(DataError, match=message):
        ranks.launch(2, ["train-together", "no-such-job.json", "nowhere"], lock)
    assert "No such file or directory: 'no-such-job.json'" in capfd.readouterr().err
