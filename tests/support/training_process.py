"""A training in processes of its own, which can be killed: run as a script, the training itself."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import torch
from cut_text import tokens_of
from kills import kill_at_saves, wait_at_save

from orthoglot.study.jobs.pretrain import make_encoder
from orthoglot.study.pretraining import kinds
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.settings import TrainingSettings


def start_training(
    settings: TrainingSettings,
    bitext: Sequence[Path],
    place: Path,
    start: Path | None = None,
    kill_at: Sequence[int] = (),
    wait_at: int | None = None,
) -> subprocess.Popen[str]:
    """Train the encoder `toy` in `place`, in two processes where the settings say so.

    Args:
        settings: of the encoder.
        bitext: prepared pairs.
        place: gets `encoder`, `state` and `tokens`.
        start: the encoder to start from.
        kill_at: save after every step, and die after the saves of these numbers, if there are any.
        wait_at: save after every step, and wait to be killed in the place of the save of this number.
    """
    return _started([_job(settings, bitext, place, start, kill_at, wait_at)])


def train_together(
    settings: TrainingSettings, bitext: Sequence[Path], place: Path, start: Path | None = None
) -> Path:
    """The encoder that the processes of `start_training` made."""
    _wait_for(start_training(settings, bitext, place, start))
    return place / "encoder"


def train_each_together(
    settings: Mapping[str, TrainingSettings], bitext: Sequence[Path], place: Path
) -> dict[str, Path]:
    """The encoders by name that two processes each made, whose libraries are imported once for all of them."""
    _wait_for(_started([_job(settings[name], bitext, place / name) for name in settings]))
    return {name: place / name / "encoder" for name in settings}


def _job(
    settings: TrainingSettings,
    bitext: Sequence[Path],
    place: Path,
    start: Path | None = None,
    kill_at: Sequence[int] = (),
    wait_at: int | None = None,
) -> Path:
    """The file that tells the processes what to train."""
    output, job = place / "encoder", place / "job.json"
    output.mkdir(parents=True, exist_ok=True)
    files = [output, place / "state", tokens_of(settings, bitext, place, start), *bitext]
    values = {
        "settings": settings.model_dump(),
        "files": list(map(str, files)),
        "encoders": {"start": str(start)} if start else {},
        "kill_at": kill_at,
        "wait_at": wait_at,
    }
    job.write_text(json.dumps(values))
    return job


def _started(jobs: Sequence[Path]) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, *map(str, jobs)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def _wait_for(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors


def _train(job: Path) -> None:
    torch.set_num_threads(1)
    values = json.loads(job.read_text())
    if values["wait_at"] is not None:
        wait_at_save(values["wait_at"])
    if values["kill_at"]:
        kill_at_saves(pytest.MonkeyPatch(), *values["kill_at"])
    output, state, tokens, *bitext = map(Path, values["files"])
    encoders = {role: Path(folder) for role, folder in values["encoders"].items()}
    settings = kinds.settings()[values["settings"]["kind"]].model_validate(values["settings"])
    inputs = Inputs(bitext, tokens=tokens, encoders=encoders)
    make_encoder(settings, "toy", inputs, RunOptions("cpu", state), output)


def _train_in_two_processes(job: Path) -> None:
    """Train in two copies of this process, with the variables that torchrun sets."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    meeting = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "test"}
    processes = []
    for rank in range(2):
        if process := os.fork():
            processes.append(process)
            continue
        os.environ |= meeting | {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
        try:
            _train(job)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    for _ in range(2):
        process, status = os.wait()
        processes.remove(process)
        if status:
            for other in processes:  # it waits for the one that failed
                os.kill(other, signal.SIGKILL)
            sys.exit(1)


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        together = json.loads(path.read_text())["settings"]["processes"] > 1
        (_train_in_two_processes if together else _train)(path)
