"""Train the encoder of gpu.yaml for some minutes on a GPU that has no network, and measure it.

snakemake --cores 2 tokens --configfile measurements/small-ems/gpu.yaml      # anywhere: the text and its token ids
python measurements/small-ems/quarter_hour.py pack FILE                      # there: all that a GPU needs, in one file
python measurements/small-ems/quarter_hour.py train FILE --output FOLDER     # on the GPU, with this source tree
python measurements/small-ems/quarter_hour.py train FILE --output FOLDER --minutes 2 --width 256

`train` leaves FOLDER/result.json. It may be killed at any moment: the same command goes on where it was. Steps that
were saved keep their time; what was not saved, and the opening, take theirs again. The number of steps follows from a
trial of PILOT steps, so that the learning rate has fallen to 0 when the time is over; if it is over before, the weights
of that moment are measured, and the loss curve ends at the last save.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import math
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gpu"))

import numpy as np
import torch
from gpu_parts import ROOT, result
from gpu_parts.encoders import ems_benchmark
from gpu_parts.measuring import StepClock, matrix_rate

from orthoglot import atomic
from orthoglot.embeddings.embed import bitext_texts, embed
from orthoglot.embeddings.settings import EmbeddingSettings
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.base import resolve_device
from orthoglot.encoders.folder import identity
from orthoglot.encoders.packed import Packed
from orthoglot.random_streams import derive
from orthoglot.statistics.records import P_AT_1, read_records
from orthoglot.study.benchmarks.collected import benchmark_texts
from orthoglot.study.pretraining import trainer
from orthoglot.study.pretraining.collate import EmsBatch, EmsCollator
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.kinds.ems import EmsSettings
from orthoglot.study.pretraining.tokenised import SIDES, SPLITS, languages_of
from orthoglot.study.pretraining.trainings.ems import EmsModel
from orthoglot.study.tasks.evaluate import RECORDS, evaluate
from orthoglot.study.tasks.settings import EvaluationSettings
from orthoglot.text.bitext import write_pairs
from orthoglot.text.held_out import read_held_out
from orthoglot.text.prepared import read_split, shards
from orthoglot.text.splitting import Split
from orthoglot.training import checkpoint as checkpoints
from orthoglot.training import loop
from orthoglot.training.closed_form_fit import compute_stored
from orthoglot.training.settings import MethodSettings
from orthoglot.training.stored_pairs import stored
from orthoglot.training.training_state import History

CHOICES = "measurements/small-ems/gpu.yaml"
METHOD = "plda"
# Steps of the trial, and how many of them come before the clock starts: the first of each size are not captured.
PILOT, WARMUP = 300, 150
# Share of the minutes that is planned for steps: captures, validations and checkpoints take the rest.
PLANNED = 0.9
# Numbers of a head, as in the paper's network.
HEAD = 64
SETTINGS = "settings.json"
STAGE = "stage.json"


class OutOfTimeError(Exception):
    """The minutes of a training are over."""


class Packing(NamedTuple):
    """What is packed of a finished preparation."""

    name: str  # of the encoder
    encoder: EmsSettings
    embedding: EmbeddingSettings
    evaluation: EvaluationSettings
    method: MethodSettings
    bitext: Sequence[Path]  # prepared pairs
    benchmarks: Sequence[Path]  # collected test sets
    tokens: Path  # what `tokenise` made of the pairs


def prepared_by_the_workflow() -> Packing:
    """What snakemake has prepared here."""
    # Imported here, as the machine with the GPU may lack what these need.
    from orthoglot.catalogue import mapping
    from orthoglot.study import config
    from plan import Plan

    params = config.load(ROOT / "params.yaml", mapping(ROOT / CHOICES))
    plan, preset = Plan(params), params.presets[params.preset]
    jobs = {
        verb: [folder for folder in sorted(plan.default) if plan.jobs[folder].verb == verb]
        for verb in ("prepare", "benchmark", "tokenise")
    }
    if missing := [folder for folder in chain(*jobs.values()) if not plan.done(folder)]:
        sys.exit(f"{missing[0]} is not prepared: run snakemake --cores 2 tokens --configfile {CHOICES}")
    (tokens,) = jobs["tokenise"]
    (name,) = preset.encoders
    encoder = params.encoders[name]
    assert isinstance(encoder, EmsSettings)
    return Packing(
        name,
        encoder,
        preset.embedding,
        preset.evaluation,
        params.methods[METHOD],
        [Path(folder) for folder in jobs["prepare"]],
        [Path(folder) for folder in jobs["benchmark"]],
        Path(tokens),
    )


def pack(packing: Packing, file: Path) -> None:
    """Write one .tar.xz with the token ids, the tokenizer, the test sets and the settings.

    Ids take two bytes where 65,536 tokens suffice. The file has the training sentences that plda is fitted to, and the
    held-out pairs that no training saw, which can be told only here.
    """
    with tempfile.TemporaryDirectory() as scratch, atomic.replacing(file) as unfinished:
        place = Path(scratch)
        settings = {
            name: getattr(packing, name).model_dump(mode="json")
            for name in ("encoder", "embedding", "evaluation", "method")
        }
        (place / SETTINGS).write_text(json.dumps({"name": packing.name, **settings}))
        shutil.copytree(packing.tokens, place / "tokens", ignore=shutil.ignore_patterns("receipt"))
        for path in _ids(place / "tokens"):
            ids = np.fromfile(path, np.int32)
            if ids.max() < 1 << 16:
                ids.astype(np.uint16).tofile(path.with_suffix(".uint16"))
                path.unlink()
        unseen = read_held_out(packing.bitext)
        for folder in packing.bitext:
            (copy := place / "bitext" / folder.name).mkdir(parents=True)
            shutil.copy(folder / "counts.json", copy)
            write_pairs(copy / "test-00000.tsv.zst", unseen[folder.name].pairs)
            first = read_split(folder, "train")[: packing.embedding.train_pairs]
            write_pairs(copy / "train-00000.tsv.zst", first)
            for path in shards(folder, "valid"):
                shutil.copy(path, copy)
        for folder in packing.benchmarks:
            ignored = shutil.ignore_patterns("receipt")
            shutil.copytree(folder, place / "benchmarks" / folder.name, ignore=ignored)
        with tarfile.open(unfinished, "w:xz") as archive:
            archive.add(place, "")


def unpack(file: Path, place: Path) -> None:
    """What `pack` has packed, its ids as trainings read them."""
    with tarfile.open(file) as archive:
        archive.extractall(place, filter="data")
    for path in _ids(place / "tokens", "uint16"):
        np.fromfile(path, np.uint16).astype(np.int32).tofile(path.with_suffix(".ids"))
        path.unlink()


def _ids(tokens: Path, ending: str = "ids") -> list[Path]:
    return [
        path for split in SPLITS for side in SIDES if (path := tokens / split / f"{side}.{ending}").is_file()
    ]


def of_width(settings: EmsSettings, width: int) -> EmsSettings:
    """The same training with another width of its network."""
    sizes = {"width": width, "heads": width // HEAD, "feed_forward": 4 * width}
    changed = settings.model_dump()
    changed["network"] |= sizes
    return EmsSettings.model_validate(changed)


def of_steps(settings: EmsSettings, steps: int) -> EmsSettings:
    """The same training with another number of steps; warm-up and validations keep their share of them."""
    share = steps / settings.steps
    return settings.model_copy(
        update={
            "steps": steps,
            "warmup_steps": round(settings.warmup_steps * share),
            "validate_every": math.ceil(settings.validate_every * share),
        }
    )


@dataclass
class Read:
    """What the steps of a process have read."""

    steps: int = 0
    real: int = 0  # tokens of sentences
    computed: int = 0  # tokens that the network computed, padding among them
    flop: float = 0.0  # `model_flops` of the real ones


class Trained(NamedTuple):
    """How a training went."""

    history: History
    done: int  # steps in all
    read: Read  # in this process
    clock: StepClock  # of these steps
    seconds: float  # of this process, with validations and checkpoints
    ended: str  # "steps" or "clock"


@mock.patch.object(trainer, "COMPILES_FROM", 0)
def train(
    settings: EmsSettings, name: str, inputs: Inputs, run: RunOptions, output: Path, limit: float
) -> Trained:
    """Train as `pretrain_ems`, for `limit` seconds at most, and write the encoder's folder."""
    state = run.checkpoint / loop.FILE
    before = checkpoints.load(state)["progress"] if state.exists() else {"done": 0, "seconds": 0.0}
    started, read = time.monotonic(), Read()
    with trainer.prepared(settings, name, inputs, run) as training:
        corpus, device, encoder = training.corpus, training.device, training.encoder
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive(settings.seed, "weights", "heads"))
            model = EmsModel(settings, encoder, len(languages_of(inputs.bitext))).to(device)
        collator, clock = EmsCollator(settings, encoder, device), StepClock(device)

        def make_batch(split: Split, rows: np.ndarray, number: int) -> EmsBatch:
            draw = ("mask", number, 0) if split == "train" else ("validation", number)
            batch = collator(corpus[split], rows, np.random.default_rng(derive(settings.seed, *draw)))
            if split == "train":
                if time.monotonic() - started > limit - before["seconds"]:
                    raise OutOfTimeError
                clock.tick()
                lengths = np.concatenate([side.lengths[rows] for side in corpus[split].sides])
                read.steps += 1
                read.real += int(lengths.sum())
                read.computed += sum(
                    len(chunk.ids.ids) if isinstance(chunk.ids, Packed) else chunk.ids.numel()
                    for chunk in batch.sentences.chunks
                )
                read.flop += ems_benchmark.model_flops(settings, encoder.vocabulary, lengths)
            return batch

        ended = "steps"
        try:
            history = trainer.train_on_pairs(
                training, settings, model, make_batch, captured=collator.captured
            )
        except OutOfTimeError:
            ended = "clock"
            history = checkpoints.load(state)["progress"]["history"] if state.exists() else []
        seconds = time.monotonic() - started
        training.save(history, output)
    return Trained(history, before["done"] + read.steps, read, clock, seconds, ended)


def rates(read: Read, seconds: float, products: float) -> dict[str, float]:
    """What steps that took so many seconds come to.

    MFU = `ems_benchmark.model_flops` of the real tokens / seconds / products, the FLOP per second of a product of two
    square bfloat16 matrices.
    """
    return {
        "steps": read.steps,
        "seconds": seconds,
        "steps per second": read.steps / seconds,
        "real tokens per second": read.real / seconds,
        "computed tokens per second": read.computed / seconds,
        "computed / real tokens": read.computed / read.real,
        "MFU, %": 100 * read.flop / seconds / products,
    }


class Measurement:
    """All stages of `train`, each a folder of `place` with a file of what it found; result.json has these together.

    Args:
        file: What `pack` wrote.
        place: Gets the stages; one that is there is not repeated.
        device: As `resolve_device` reads it.
        minutes: Of the training.
        width: Of its network; None for that of the settings.
    """

    def __init__(self, file: Path, place: Path, device: str, minutes: float, width: int | None) -> None:
        self.place, self.device, self.minutes = place, device, minutes
        place.mkdir(parents=True, exist_ok=True)
        packed = self.stage("packed", lambda output: unpack(file, output))
        self.inputs = Inputs(sorted((packed / "bitext").iterdir()), tokens=packed / "tokens")
        self.benchmarks = sorted((packed / "benchmarks").iterdir())
        described = json.loads((packed / SETTINGS).read_text())
        self.name: str = described["name"]
        self.embedding = EmbeddingSettings.model_validate(described["embedding"])
        self.evaluation = EvaluationSettings.model_validate(described["evaluation"])
        self.method = MethodSettings.model_validate(described["method"])
        settings = EmsSettings.model_validate(described["encoder"])
        self.settings = settings if width is None else of_width(settings, width)
        self.chosen = {
            "minutes": minutes,
            "width": self.settings.network.width,
            "device": device,
            "file": hashlib.sha256(file.read_bytes()).hexdigest(),
        }

    def measure(self) -> None:
        """All stages that are missing."""
        self.stage("trial", self.try_out)
        if (before := self.facts("trial")["chosen"]) != self.chosen:
            sys.exit(f"{self.place} is of {before}, not of {self.chosen}; name another folder")
        encoder = self.stage("training", self.train) / "encoder"
        embeddings = self.stage("vectors", partial(self.embed, encoder)) / "store"
        fitted = self.stage(METHOD, partial(self.fit, encoder, embeddings)) / "seed1"
        self.stage("scores-original", partial(self.score, encoder, embeddings, "original", []))
        self.stage(f"scores-{METHOD}", partial(self.score, encoder, embeddings, METHOD, [fitted]))

    def stage(self, name: str, work: Callable[[Path], Mapping[str, Any] | None]) -> Path:
        """The folder of a stage, which `work` fills where it is not there; it may return facts."""
        folder = self.place / name
        if not folder.exists():
            started = time.monotonic()
            with atomic.building(folder) as output:
                facts = work(output) or {}
                facts = {"stage seconds": time.monotonic() - started, **facts}
                (output / STAGE).write_text(json.dumps(facts))
            say(f"{name}: {facts['stage seconds']:.0f} s")
            self.save()
        return folder

    def facts(self, name: str) -> dict[str, Any]:
        """What a stage that is done has found."""
        return json.loads((self.place / name / STAGE).read_text())

    def save(self) -> None:
        """Write what all stages have found so far."""
        content = {
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "code": result.code(),
            "environment": result.environment(resolve_device(self.device)),
            "stages": {
                path.parent.name: self.facts(path.parent.name) for path in self.place.glob(f"*/{STAGE}")
            },
        }
        result.write(self.place, "result", content)

    def try_out(self, output: Path) -> dict[str, Any]:
        """The rate of some steps, and how many the minutes are enough for."""
        device = resolve_device(self.device)
        products = matrix_rate(device, torch.bfloat16, 8192 if device.type == "cuda" else 512)
        settings = of_steps(self.settings, PILOT).model_copy(update={"validate_every": PILOT})
        with (
            tempfile.TemporaryDirectory() as scratch,
            mock.patch.object(loop, "SECONDS_BETWEEN_SAVES", math.inf),
        ):
            (encoder := Path(scratch) / "encoder").mkdir()
            run = RunOptions(self.device, Path(scratch) / "state")
            trained = train(settings, self.name, self.inputs, run, encoder, math.inf)
        step = trained.clock.seconds(WARMUP)
        steps = max(
            self.settings.steps // self.settings.validate_every, int(60 * self.minutes * PLANNED / step)
        )
        return {
            **rates(trained.read, step * PILOT, products),
            "products, TFLOP/s": products / 1e12,
            "planned steps": steps,
            "chosen": self.chosen,
        }

    def train(self, output: Path) -> dict[str, Any]:
        """The training itself."""
        settings = of_steps(self.settings, self.facts("trial")["planned steps"])
        (output / "encoder").mkdir()
        run = RunOptions(self.device, self.place / "state")
        trained = train(settings, self.name, self.inputs, run, output / "encoder", 60 * self.minutes)
        facts = {
            "steps done": trained.done,
            "ended by": trained.ended,
            "settings": settings.model_dump(mode="json"),
            "loss curve": trained.history,
        }
        if trained.read.steps:  # none where the time was over before a kill
            products = 1e12 * self.facts("trial")["products, TFLOP/s"]
            facts |= rates(trained.read, trained.seconds, products)
        return facts

    def embed(self, encoder: Path, output: Path) -> None:
        """A vector for each sentence of the test sets and of the first training pairs."""
        (output / "store").mkdir()
        bitext = bitext_texts(self.inputs.bitext, self.embedding.train_pairs)
        texts = chain(bitext, benchmark_texts(self.benchmarks))
        state = self.place / "embedding"
        embed(encoder, texts, self.embedding, device=self.device, checkpoint=state, output=output / "store")

    def fit(self, encoder: Path, embeddings: Path, output: Path) -> None:
        """The decomposer."""
        (output / "seed1").mkdir()
        store = EmbeddingStore.open(embeddings, identity(encoder))
        pairs = stored(store, self.inputs.bitext, self.embedding.train_pairs)
        compute_stored(self.method, METHOD, store, pairs, seed=1, output=output / "seed1", code="")

    def score(
        self, encoder: Path, embeddings: Path, method: str, decomposers: Sequence[Path], output: Path
    ) -> dict[str, Any]:
        """The records of all tasks; P@1 of each as a mean over its pairs of languages."""
        evaluate(
            self.evaluation,
            embeddings,
            self.inputs.bitext,
            self.benchmarks,
            decomposers,
            encoder=self.name,
            identity=identity(encoder),
            method=method,
            output=output,
            device=str(resolve_device(self.device)),
        )
        records = [record for record in read_records(output / RECORDS) if record.subset == "all"]
        return {
            f"{record.task}, {record.view}": [record.value, record.low, record.high]
            for record in records
            if record.metric == P_AT_1 and record.seed is None
        }


def say(line: str) -> None:
    """One line on standard output."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Pack or train."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    packing = verbs.add_parser("pack")
    packing.add_argument("file", type=Path, help="what to write, e.g. ems-40-gpu.tar.xz")
    training = verbs.add_parser("train")
    training.add_argument("file", type=Path, help="what `pack` wrote")
    training.add_argument("--output", type=Path, required=True, help="folder of the result and of all stages")
    training.add_argument("--minutes", type=float, default=8, help="of the training; the default is 8")
    training.add_argument("--width", type=int, help="of the network, a multiple of 64; the default is 512")
    training.add_argument("--device", default="cuda", help="cpu tries the command")
    chosen = parser.parse_args()
    if chosen.verb == "train" and chosen.width is not None and (chosen.width < HEAD or chosen.width % HEAD):
        parser.error(f"--width {chosen.width}: give a multiple of {HEAD}")
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if chosen.verb == "pack":
        pack(prepared_by_the_workflow(), chosen.file)
        say(f"{chosen.file}: {chosen.file.stat().st_size / 1e6:.1f} MB")
        return
    Measurement(chosen.file, chosen.output, chosen.device, chosen.minutes, chosen.width).measure()


if __name__ == "__main__":
    main()
