"""How long a preset's encoders and decomposers take on GPUs, from rates of one H100 (measurements/gpu/README.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from orthoglot.encoders.settings import EncoderEntry, FrozenSettings
from orthoglot.study.pretraining.kinds.emma_x import EmmaXSettings
from orthoglot.study.pretraining.settings import PretrainingSettings, ScratchNetwork
from orthoglot.training.settings import DecompositionSettings, MethodSettings

HOUR = 3600
# EMS in bfloat16, steps a second of 152 sentence pairs, and the layers and width that this is of.
EMS, EMS_PAIRS, EMS_LAYERS, EMS_WIDTH = 13.7, 152, 6, 1024
# Emma-X's Phase 2 on XLM-R large in bfloat16, steps a second of 256 sentences.
EMMA_X, EMMA_X_SENTENCES = 2.55, 256
# Sentences a second of XLM-R large in float32; smaller encoders take less time.
SENTENCES = 2_849
# Seconds of a step of 512 pairs with the slowest of the papers' methods, at 1,024 numbers.
STEP, STEP_PAIRS = 0.00111, 512


class Work(NamedTuple):
    """A part of a run."""

    name: str  # of an encoder, or what is made
    amount: str  # in words
    gpus: int  # how many work on it together
    hours: float | None  # on so many H100s; None where no rate is known


def work(
    encoders: Mapping[str, EncoderEntry],
    methods: Mapping[str, MethodSettings],
    decomposition: DecompositionSettings,
    *,
    seeds: int,
    sentences: int,
    pairs: int,
    fine_tunings: int = 0,
) -> Iterator[Work]:
    """What the encoders, their vectors, the decomposers and fine-tunings take, trainings at most.

    Args:
        encoders: The encoders of the preset by entry; the work of those that are trained is counted, too.
        methods: The methods that are fitted to the vectors of each.
        decomposition: How they are fitted.
        seeds: How many seeds each trained method has.
        sentences: How many sentences each encoder turns into vectors.
        pairs: How many pairs each method is trained on.
        fine_tunings: How many fine-tunings there are; no rate is known for them.
    """
    for name, settings in encoders.items():
        if isinstance(settings, PretrainingSettings):
            yield Work(f"encoders.{name}", settings.work, settings.processes, _ems(settings))
        elif isinstance(settings, EmmaXSettings):
            yield Work(f"encoders.{name}", settings.work, settings.processes, _emma_x(settings))
        elif not isinstance(settings, FrozenSettings):
            yield Work(f"encoders.{name}", "a training", 1, None)
    count = len(encoders)
    hours = count * sentences / SENTENCES / HOUR
    if sentences:
        yield Work("vectors", f"{sentences:,} sentences by {count} encoders", 1, hours)
    trained = [method for method in methods.values() if method.terms]
    if trained and pairs:
        epochs = [method.max_epochs or decomposition.max_epochs for method in trained]
        fits, most = count * seeds * len(trained), max(epochs)
        hours = count * seeds * sum(epochs) * pairs / STEP_PAIRS * STEP / HOUR
        yield Work("decomposers", f"{fits} trainings of {most:,} epochs on {pairs:,} pairs at most", 1, hours)
    if fine_tunings:
        yield Work("fine-tuning", f"{fine_tunings} trainings", 1, None)


def _ems(settings: PretrainingSettings) -> float | None:
    """Hours of a network from scratch, in proportion to its layers, the square of its width, and its batch."""
    network = settings.network
    if not isinstance(network, ScratchNetwork):
        return None
    size = network.layers * network.width**2 / (EMS_LAYERS * EMS_WIDTH**2)
    return settings.steps * settings.batch_size / EMS_PAIRS * size / EMS / HOUR


def _emma_x(settings: EmmaXSettings) -> float:
    """Hours of both phases, as if the network were XLM-R large; Phase 1 reads two sentences a pair."""
    first, second = settings.parallel, settings.text
    read = 2 * first.batch_size * first.steps + (second.batch_size + 2 * second.known_pairs) * second.steps
    return read / EMMA_X_SENTENCES / EMMA_X / HOUR
