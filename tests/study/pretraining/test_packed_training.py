"""Trainings on packed sentences: the loss and every gradient of padded chunks, whatever the lengths."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gpu_parts.models import continued
from test_emma_x_training import EMMA
from test_ems_training import untrained
from test_mlm import SETTINGS as MLM
from torch import Tensor, nn
from toy_training import SETTINGS, history_of

from orthoglot.encoders import packed as packing
from orthoglot.encoders.token_lists import Ragged
from orthoglot.study.pretraining import collate as module
from orthoglot.study.pretraining import networks, trainer
from orthoglot.study.pretraining.collate import EmsCollator, TokenBatch, collate
from orthoglot.study.pretraining.emma_x_phases import (
    EmmaXBatch,
    EmmaXState,
    ParallelModel,
    TextModel,
    VirtualDraws,
)
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.masking import IGNORED, hidden_tokens
from orthoglot.study.pretraining.networks import TrainableEncoder
from orthoglot.study.pretraining.tokenised import Bitext
from orthoglot.study.pretraining.trainings import mlm
from orthoglot.study.pretraining.trainings.distillation import DistillationBatch, DistillationModel
from orthoglot.study.pretraining.trainings.ems import EmsModel
from orthoglot.training import step

CPU = torch.device("cpu")
VOCABULARY, MOST = 40, 24
# Sentences of one token, of the most, of few, and one alone.
LENGTHS = {"many": [3, 1, MOST, 7, 7, 2, 11, 1], "longest": [MOST, MOST], "one": [1, 1], "alone": [5, 9]}


def lengths(*names: str) -> Any:
    return pytest.mark.parametrize("lengths", [LENGTHS[name] for name in names], ids=names)


def sentences(lengths: list[int], first: int = 5) -> Ragged:
    draw = np.random.default_rng(len(lengths))
    return Ragged.of([draw.integers(first, VOCABULARY, size=length).tolist() for length in lengths])


def without_dropout(model: nn.Module) -> nn.Module:
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    return model.train()


def gradients(model: nn.Module, loss: Callable[[Any], dict[str, Tensor]], batch: Any) -> dict[str, Tensor]:
    """Terms and the gradient of every weight."""
    model.zero_grad()
    terms = loss(batch)
    terms["total"].backward()
    slopes = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    return {**{name: value.detach() for name, value in terms.items()}, **slopes}


def check_equal(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """Within 1e-5, or 1e-6 of the largest gradient: that of a bias of keys is 0 but for rounding."""
    assert found.keys() == expected.keys()
    most = max(float(value.norm()) for name, value in expected.items() if "." in name)
    for name, value in expected.items():
        assert float((found[name] - value).norm()) <= 1e-5 * float(value.norm()) + 1e-6 * most, name


def both(encoder: TrainableEncoder, text: Ragged, labels: np.ndarray | None = None) -> list[TokenBatch]:
    """In chunks, and packed."""
    return [collate(encoder.tokenizer, text, size, CPU, labels) for size in (MOST, None)]


@pytest.mark.parametrize("target", ["xtr", "ugt"])
@lengths("many", "longest", "one", "alone")
def test_ems(target: Any, lengths: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SETTINGS.model_copy(update={"target": target, "chunk_tokens": MOST})
    encoder = untrained(SETTINGS.network, VOCABULARY)  # type: ignore[arg-type]
    monkeypatch.setattr(encoder, "is_word", lambda: np.ones(VOCABULARY, dtype=bool))
    half = len(lengths) // 2
    sides = sentences(lengths[:half]), sentences(lengths[half:])
    bitext = Bitext(*sides, np.array([[0, 1]]), (half,), np.arange(half))
    model = without_dropout(EmsModel(settings, encoder, 2))
    values = []
    for packed in (False, True):
        monkeypatch.setattr(module, "reads_packed", lambda *_, packed=packed: packed)
        batch = EmsCollator(settings, encoder, CPU)(bitext, np.arange(half), np.random.default_rng(1))
        assert isinstance(batch.sentences.chunks[0].ids, packing.Packed) == packed
        values.append(gradients(model, model, batch))
    check_equal(values[1], values[0])
    assert {"xtr", "contrastive", "encoder.model.encoder.layer.0.attention.self.query.weight"} <= set(
        values[1]
    )


@pytest.mark.parametrize("phase", ["parallel", "text"])
@pytest.mark.parametrize("weight", [0.0, 0.5])
@lengths("many", "longest")
def test_emma_x(phase: str, weight: float, lengths: list[int]) -> None:
    """With an XLM-R, whose positions begin after the padding id, and with its first state as the vector."""
    encoder = continued("tiny", predicts=True, dropout=0.0)
    with torch.no_grad():  # a new XLM-R's vectors hardly differ from each other
        for part in encoder.network.parameters():
            part.mul_(10 if part.ndim == 2 else 1)
    settings = EMMA.model_copy(update={"mlm": EMMA.mlm.model_copy(update={"weight": weight})})
    text, labels = sentences(lengths), None
    if weight:
        ids, labels = hidden_tokens(text.ids, 0.3, 4, VOCABULARY, np.random.default_rng(2), special=5)
        text = Ragged(ids, text.offsets)
    S = len(lengths)
    draws = VirtualDraws(torch.arange(S).roll(1), torch.full((S, 3), 0.4))
    values = []
    for batch in both(encoder, text, labels):
        torch.manual_seed(3)
        state = EmmaXState(settings, encoder.network, encoder.dim)
        learns = frozenset({"encoder", "classifier"})
        parallel = ParallelModel(state, settings, learns)
        model = parallel if phase == "parallel" else TextModel(state, settings)
        parts = (S // 2, S // 2) if phase == "parallel" else (S,)
        values.append(gradients(model.train(), model, EmmaXBatch(batch, parts, draws)))
        values[-1] |= {"queue.": state.queue.vectors.clone(), "scores.": state.scores.clone()}
    check_equal(values[1], values[0])
    assert ("mlm" in values[1]) == (weight > 0)
    assert all(f"state.encoder.model.encoder.layer.{n}.output.dense.weight" in values[1] for n in (0, 1))


@lengths("many", "alone")
def test_distillation(lengths: list[int]) -> None:
    encoder = untrained(SETTINGS.network, VOCABULARY)  # type: ignore[arg-type]
    model = without_dropout(DistillationModel(encoder.network, "float32"))
    taught = torch.randn(len(lengths) // 2, encoder.dim, generator=torch.Generator().manual_seed(0))
    chunks, packed = both(encoder, sentences(lengths))
    expected = gradients(model, model, DistillationBatch(chunks, taught))
    check_equal(gradients(model, model, DistillationBatch(packed, taught)), expected)


@lengths("many", "longest", "alone")
def test_masked_language_modelling(lengths: list[int]) -> None:
    model = without_dropout(mlm.build(MLM.model_copy(update={"max_tokens": MOST}), VOCABULARY))
    text = sentences(lengths)
    padded = text.padded(np.arange(len(lengths)), mlm.PAD)
    shown, labels = hidden_tokens(padded, 0.3, mlm.MASK, VOCABULARY, np.random.default_rng(0), special=5)
    chunk = mlm.Masked(torch.from_numpy(shown), bool((shown == mlm.PAD).any()), module.hidden_of(labels, CPU))
    packed = mlm.packed_batch(shown, labels, CPU)
    hidden = packed.hidden.ids
    assert hidden[hidden != IGNORED].tolist() == chunk.hidden.ids.tolist()
    assert len(hidden) % packing.BLOCK == 0
    loss = partial(mlm.masked_loss, model)
    check_equal(gradients(model, loss, packed), gradients(model, loss, chunk))


def test_a_whole_training_on_packed_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bitext: list[Path]
) -> None:
    """Batches, steps and validation; without dropout, which draws other numbers on other shapes."""
    histories = []
    build = mlm.build
    monkeypatch.setattr(mlm, "build", lambda *given: without_dropout(build(*given)))
    for packed in (False, True):
        monkeypatch.setattr(mlm, "reads_packed", lambda *_, packed=packed: packed)
        place = tmp_path / str(packed)
        (place / "encoder").mkdir(parents=True)
        mlm.pretrain_mlm(MLM, "toy", Inputs(bitext), RunOptions("cpu", place / "state"), place / "encoder")
        histories.append(history_of(place / "encoder"))
    for ours, theirs in zip(histories[1], histories[0], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-3)


@pytest.mark.parametrize("target", ["xtr", "ugt"])
def test_steps_have_few_shapes(target: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100 pairs of 1 to 24 tokens, 2,500 a step: each combination has a graph of its own."""
    settings = SETTINGS.model_copy(update={"target": target})
    encoder = untrained(SETTINGS.network, VOCABULARY)  # type: ignore[arg-type]
    monkeypatch.setattr(encoder, "is_word", lambda: np.ones(VOCABULARY, dtype=bool))
    monkeypatch.setattr(module, "reads_packed", lambda *_: True)
    draw = np.random.default_rng(0)
    sides = [sentences(draw.integers(1, MOST + 1, 500).tolist()) for _ in range(2)]
    collator = EmsCollator(settings, encoder, CPU)
    bitext = Bitext(*sides, np.array([[0, 1]]), (500,), np.arange(500))
    shapes = set()
    for number in range(60):
        batch = collator(bitext, draw.choice(500, 100, replace=False), np.random.default_rng(number))
        shapes.add(tuple(step._shape(leaf) for leaf in step._leaves(batch)))
    assert 1 < len(shapes) <= 6


def test_only_long_trainings_compile_their_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    model = DistillationModel(untrained(SETTINGS.network, VOCABULARY).network, "float32")  # type: ignore[arg-type]
    optimizer = torch.optim.Adam(model.parameters())
    told, states = [], networks.packed_states

    def noting(*given: Any, compiles: bool) -> Tensor:
        told.append(compiles)
        return states(*given, compiles=compiles)

    monkeypatch.setattr(networks, "packed_states", noting)
    monkeypatch.setattr(trainer, "fit", lambda **_: [])
    packed = packing.pack(sentences([3, 5]), 0, CPU)
    for steps in (trainer.COMPILES_FROM - 1, trainer.COMPILES_FROM):
        recipe = SETTINGS.model_copy(update={"steps": steps})
        nothing: Any = None
        trainer.train_steps(
            recipe,
            recipe,
            RunOptions("cpu", Path()),
            "toy",
            model,
            optimizer,
            schedule="constant",
            loss=model,
            batches=nothing,
            smaller=nothing,
            validate=nothing,
        )
        model.encoder(packed)
    assert told == [False, True]


def test_the_comparison_notices_a_token_that_sees_another_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other direction of the tests above."""
    attention = packing._attention

    def leaking(*arguments: Any) -> Tensor:
        *others, mask, dropout = arguments
        leak = mask.clone()
        leak[0, 3] = True  # the first token of the first sentence sees the first one of the second
        return attention(*others, leak, dropout)

    monkeypatch.setattr(packing, "_attention", leaking)
    with pytest.raises(AssertionError, match=r"source|target|total"):
        test_distillation(LENGTHS["many"])
