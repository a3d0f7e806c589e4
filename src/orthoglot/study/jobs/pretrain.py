"""Train an encoder (EMS, Emma-X, distillation, masked language modelling), or get a frozen checkpoint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from orthoglot import registry
from orthoglot.encoders import kinds
from orthoglot.encoders.settings import EncoderEntry, FrozenSettings
from orthoglot.study.jobs.job import Job, speed_of
from orthoglot.study.pretraining import kinds as trained_kinds
from orthoglot.study.pretraining import trainings
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.training.distributed import launch


def run(job: Job) -> None:
    """Do the job, in several processes where the encoder's settings ask for them."""
    if (count := job.settings["encoder"].get("processes", 1)) == 1:
        job.run(lambda output: train(job, output))
        return

    def start_processes(output: Path) -> None:
        file = job.checkpoint / "job.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(job.text, encoding="utf-8")
        launch(count, ["study", "train-together", str(file), str(output)], job.lock)

    job.run(start_processes)


def train(job: Job, output: Path) -> None:
    """Make the encoder, alone or as one of the processes that `run` has started.

    Args:
        job: A job of this verb.
        output: An empty folder.
    """
    described = job.settings["encoder"]
    settings = trained_kinds.settings()[described["kind"]].model_validate(described)
    encoders = {role: folders[0] for role in ("start", "teacher") if (folders := job.folders(role))}
    tokens = next(iter(job.folders("tokens")), None)
    inputs = Inputs(job.folders("bitext"), job.folders("corpora"), tokens, encoders)
    options = RunOptions(job.device, job.checkpoint, speed=speed_of(job.output, job.key))
    if job.curves:
        options = replace(options, curves=Path(job.curves["folder"]), tools=tuple(job.curves["tools"]))
    make_encoder(settings, job.settings["name"], inputs, options, output)


def make_encoder(settings: EncoderEntry, name: str, inputs: Inputs, run: RunOptions, output: Path) -> None:
    """Train an encoder, or link one that was trained elsewhere, and write its folder.

    Args:
        settings: The encoder's, of any kind.
        name: The encoder's name, kept in encoder.json.
        inputs: What a training reads.
        run: Where a training runs.
        output: An existing empty folder.
    """
    if isinstance(settings, FrozenSettings):
        make = kinds.kind(settings.kind).make
        assert make is not None
        make(settings, name, output)
    else:
        registry.load(trainings, settings.kind).TRAIN(settings, name, inputs, run, output)
