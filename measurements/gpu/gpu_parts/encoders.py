"""Part 3: EMS at the paper's size, with a new network and from XLM-R base; Emma-X's second phase on XLM-R large."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import ems as ems_benchmark
import numpy as np
import torch

from gpu_parts import ROOT, models
from gpu_parts.measuring import StepClock, matrix_rate, not_repeatable, peak_memory
from gpu_parts.result import Part
from orthoglot.study import config
from orthoglot.study.pretraining import trainer
from orthoglot.study.pretraining.collate import EmsCollator
from orthoglot.study.pretraining.emma_x_collate import EmmaXCollator
from orthoglot.study.pretraining.emma_x_phases import EmmaXState, TextModel
from orthoglot.study.pretraining.networks import TrainableEncoder
from orthoglot.study.pretraining.settings import ScratchNetwork
from orthoglot.study.pretraining.tokenised import Text
from orthoglot.study.pretraining.trainings import emma_x
from orthoglot.study.pretraining.trainings.ems import EmsModel
from orthoglot.training import loop

# EMS: 62 languages, 152 pairs of a step; the step after which it had nearly converged.
LANGUAGES, PAPER_STEPS = 62, 122_196


@mock.patch.object(loop, "SECONDS_BETWEEN_SAVES", math.inf)
@mock.patch.object(trainer, "COMPILES_FROM", 0)
def measure(part: Part) -> None:
    """Each training by its own loop, for some steps, without writing checkpoints."""
    dtypes = {"float32": torch.float32, "bfloat16": torch.bfloat16}
    rates = {name: matrix_rate(part.device, dtype, part.size(8192, 64)) for name, dtype in dtypes.items()}
    part.row("The device", **{f"{name} products, TFLOP/s": rate / 1e12 for name, rate in rates.items()})
    part.notes.append(
        "MFU: the products that tokens need, with the two around a sentence (padding earns nothing), three times the "
        "forward pass, over the measured rate of one square product of the same precision. Steps include collation, "
        "optimiser and the loop; "
        f"validation is left out. Hours are of {PAPER_STEPS:,} steps of 152 pairs on this one device."
    )
    used, hours = [], []
    for precision in dtypes:
        with part.tried(f"EMS, {precision}"):
            mfu, took = ems(part, "ems-paper", precision, rates[precision])
            if precision == "bfloat16":
                used, hours = [100 * mfu], [took * PAPER_STEPS / 3600]
    part.goal("EMS in bfloat16, MFU", 45, used[0] if used else None, unit="%")
    part.goal("EMS, 122,196 steps in bfloat16", 4, hours[0] if hours else None, unit="GPU-hours", most=True)
    with part.tried("EMS from XLM-R base"):
        ems(part, "ems-xlmr-base", "bfloat16", rates["bfloat16"])
    for precision in ("bfloat16",) if part.tiny else dtypes:
        with part.tried(f"Emma-X, Phase 2, {precision}"):
            phase_2(part, precision)
    with part.tried("EMS, deterministic algorithms off", optional=True), not_repeatable():
        ems(part, "ems-paper", "bfloat16", rates["bfloat16"], way="without deterministic algorithms")
    if part.on_gpu:
        not_compiled = mock.patch.object(trainer, "COMPILES_FROM", math.inf)
        with part.tried("EMS, layers not compiled", optional=True), not_compiled:
            ems(part, "ems-paper", "bfloat16", rates["bfloat16"], way="layers not compiled")


def ems(part: Part, name: str, precision: str, rate: float, way: str = "ours") -> tuple[float, float]:
    """Steps of an EMS entry of the catalogue; MFU and seconds of a step."""
    # The first steps of each number of tokens are not captured.
    steps, warmup = part.size((200, 4), (100, 1))
    own: Any = config.load(ROOT / "params.yaml").encoders[name]
    own = own.model_copy(
        update={
            "processes": 1,
            "precision": precision,
            "steps": steps,
            "validate_every": steps,
            "warmup_steps": 1,
        }
    )
    if part.tiny:
        small = {"layers": 1, "width": 32, "heads": 2, "feed_forward": 64}
        own = own.model_copy(update={"batch_size": 8})
        if isinstance(own.network, ScratchNetwork):
            own = own.model_copy(update={"network": own.network.model_copy(update=small)})
    torch.manual_seed(1)
    encoder, flops_of = _encoder(part, own)
    prepared_pairs = own.batch_size * (steps + 1)
    with tempfile.TemporaryDirectory() as scratch, peak_memory(part.device) as memory:
        training = models.training(
            own, encoder, part.device, Path(scratch), pairs=prepared_pairs, languages=part.size(LANGUAGES, 4)
        )
        model = EmsModel(own, encoder, part.size(LANGUAGES, 4)).to(part.device)
        collator, clock = EmsCollator(own, encoder, part.device), StepClock(part.device)
        tokens: list[int] = []
        flops: list[float] = []

        def make_batch(split: Any, rows: np.ndarray, number: int) -> Any:
            if split == "train":
                clock.tick()
                found = np.concatenate([side.lengths[rows] for side in training.corpus["train"].sides])
                tokens.append(int(found.sum()))
                flops.append(flops_of(found + 2))
            return collator(training.corpus[split], rows, np.random.default_rng(number))

        trainer.train_on_pairs(training, own, model, make_batch, captured=collator.captured)
        took = clock.seconds(warmup)
    mean = float(np.mean(flops[warmup:]))
    part.row(
        "Training on pairs",
        encoder=name,
        precision=precision,
        way=way,
        pairs=own.batch_size,
        **{
            "steps/s": 1 / took,
            "tokens/s": float(np.mean(tokens[warmup:])) / took,
            "MFU, %": 100 * mean / took / rate,
        },
        **{"GiB": memory.get("GiB"), "hours of 122,196 steps": took * PAPER_STEPS / 3600},
    )
    return mean / took / rate, took


def _encoder(part: Part, settings: Any) -> tuple[TrainableEncoder, Callable[[np.ndarray], float]]:
    """The network, and the FLOP of a step over sentences of some lengths."""
    if isinstance(settings.network, ScratchNetwork):
        encoder = models.new(settings.network, part.size(60_000 + len(models.SPECIAL), 300))
        shape = settings
    else:
        kind: models.Shape = part.size("xlmr-base", "tiny")  # type: ignore[assignment]
        encoder = models.continued(kind)
        _, layers, width, heads, inner = models.SHAPES[kind]
        sizes = {"layers": layers, "width": width, "heads": heads, "feed_forward": inner, "max_tokens": 512}
        shape = settings.model_copy(update={"network": ScratchNetwork(start="scratch", **sizes)})
    return encoder, partial(ems_benchmark.model_flops, shape, encoder.vocabulary)


def phase_2(part: Part, precision: str) -> None:
    """Steps of Emma-X's second phase: 256 sentences and masked language modelling on XLM-R large."""
    steps, warmup = part.size((20, 5), (3, 1))
    own: Any = config.load(ROOT / "params.yaml").encoders["emma-x-paper"]
    phase = own.text.model_copy(
        update={
            "steps": steps,
            "validate_every": steps,
            "warmup_steps": 1,
            "batch_size": part.size(own.text.batch_size, 8),
        }
    )
    mlm = own.mlm.model_copy(update={"weight": 1.0})
    own = own.model_copy(update={"processes": 1, "precision": precision, "text": phase, "mlm": mlm})
    torch.manual_seed(1)
    kind: models.Shape = part.size("xlmr-large", "tiny")  # type: ignore[assignment]
    encoder = models.continued(kind, predicts=True)
    with tempfile.TemporaryDirectory() as scratch, peak_memory(part.device) as memory:
        training = models.training(
            own, encoder, part.device, Path(scratch), pairs=part.size(1000, 60), languages=4
        )
        state = EmmaXState(own, encoder.network, encoder.dim).to(part.device)
        collator = EmmaXCollator(own, training.inputs.bitext, encoder, training.corpus, part.device)
        count = part.size(phase.batch_size, 8) * (steps + 1)
        draw = np.random.default_rng(3)
        text = Text(models.ragged(count, encoder.vocabulary, 118, draw), (count // 2, count - count // 2))
        clock = StepClock(part.device)

        def batches(given: Any, *, epoch: int, first: int) -> Any:
            for batch in collator.text(given, text, epoch, first):
                clock.tick()
                yield batch

        model = TextModel(state, own).to(part.device)
        emma_x._train(training, own, "text", model, batches, collator, [])
        took = clock.seconds(warmup)
    part.row(
        "Emma-X, Phase 2",
        encoder="emma-x-paper",
        precision=precision,
        sentences=phase.batch_size,
        **{"fits": True, "steps/s": 1 / took, "GiB": memory.get("GiB")},
    )
