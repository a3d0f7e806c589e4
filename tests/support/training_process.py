"""A training in processes of its own, which can be killed: run as a script, the training itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from cut_text import tokens_of
from kills import kill_at_saves

from orthoglot.encoders import kinds
from orthoglot.encoders.training_settings import TrainingSettings
from orthoglot.study.jobs.pretrain import make_encoder
from orthoglot.study.pretraining.inputs import Inputs, RunOptions

TORCHRUN = "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"


def start_training(
    settings: TrainingSettings,
    bitext: Sequence[Path],
    place: Path,
    start: Path | None = None,
    kill_at: Sequence[int] | None = None,
) -> subprocess.Popen[str]:
    """Train the encoder `toy` in `place`, in two processes where the settings say so.

    Args:
        settings: of the encoder.
        bitext: prepared pairs.
        place: gets `encoder`, `state` and `tokens`.
        start: the encoder to start from.
        kill_at: save after every step, and die after the saves of these numbers; None for neither.
    """
    output, job = place / "encoder", place / "job.json"
    output.mkdir(parents=True, exist_ok=True)
    files = [output, place / "state", tokens_of(settings, bitext, place, start), *bitext]
    values = {"settings": settings.model_dump(), "files": list(map(str, files)), "kill_at": kill_at}
    job.write_text(json.dumps(values | {"encoders": {"start": str(start)} if start else {}}))
    command = [sys.executable, *(TORCHRUN if settings.processes > 1 else ()), __file__, str(job)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def train_together(
    settings: TrainingSettings, bitext: Sequence[Path], place: Path, start: Path | None = None
) -> Path:
    """The encoder that the processes of `start_training` made."""
    _, errors = (process := start_training(settings, bitext, place, start)).communicate(timeout=300)
    assert process.returncode == 0, errors
    return place / "encoder"


def _train(job: Path) -> None:
    torch.set_num_threads(1)
    values = json.loads(job.read_text())
    if values["kill_at"] is not None:
        kill_at_saves(pytest.MonkeyPatch(), *values["kill_at"])
    output, state, tokens, *bitext = map(Path, values["files"])
    encoders = {role: Path(folder) for role, folder in values["encoders"].items()}
    settings = kinds.kind(values["settings"]["kind"]).settings.model_validate(values["settings"])
    inputs = Inputs(bitext, tokens=tokens, encoders=encoders)
    make_encoder(settings, "toy", inputs, RunOptions("cpu", state), output)


if __name__ == "__main__":
    _train(Path(sys.argv[1]))
