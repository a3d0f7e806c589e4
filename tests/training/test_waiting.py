"""What trainings do on CUDA, tried without it: no step looks at a number, none needs what cannot be repeated.

To look at a number on a device makes the host wait. Tensors of the meta device have none, so that such a step fails.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import torch
from gpu_parts.models import continued
from test_emma_x_training import EMMA
from test_ems_training import untrained
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from toy_training import SETTINGS

from orthoglot.catalogue import shipped
from orthoglot.decomposers.modules import Maps
from orthoglot.encoders.pretrained import attention_mask
from orthoglot.encoders.token_lists import Ragged
from orthoglot.objectives import is_trained
from orthoglot.objectives.base import Objective
from orthoglot.random_streams import Draws, stream
from orthoglot.study.config import load
from orthoglot.study.pretraining import collate
from orthoglot.study.pretraining.collate import (
    Chunk,
    EmsBatch,
    EmsCollator,
    Hidden,
    TokenBatch,
    encode_and_predict,
    hidden_of,
)
from orthoglot.study.pretraining.emma_x_phases import (
    EmmaXBatch,
    EmmaXState,
    ParallelModel,
    TextModel,
    VirtualDraws,
)
from orthoglot.study.pretraining.networks import TrainableEncoder
from orthoglot.study.pretraining.tokenised import Bitext
from orthoglot.study.pretraining.trainings.ems import EmsModel
from orthoglot.study.pretraining.trainings.mlm import Masked, build, masked_loss, packed_batch
from orthoglot.training import decompose, loop
from orthoglot.training.batching import Batch, PairRows, make_batches
from orthoglot.training.training_state import Progress

CPU, META = torch.device("cpu"), torch.device("meta")
DIM, LANGUAGES, PAIRS = 8, 3, 12
METHODS = {name: one for name, one in load(shipped()).methods.items() if is_trained(one.architecture)}


@pytest.fixture(autouse=True)
def _no_autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch has none for the meta device."""
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())


def there(value: Any) -> Any:
    """The same on the meta device, at any depth."""
    if isinstance(value, Tensor):
        return value.to(META)
    if isinstance(value, tuple):
        changed = [there(one) for one in value]
        return type(value)(*changed) if hasattr(value, "_fields") else tuple(changed)
    return value


class Repeatable(TorchDispatchMode):
    """Refuses operations of which PyTorch has no deterministic algorithm for CUDA, where a training would end."""

    NONE = frozenset(
        ("histc", "bincount", "put", "put_", "median", "kthvalue", "nll_loss2d_forward", "_embedding_bag")
    )

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = function.overloadpacket.__name__
        sums = name in ("cumsum", "cumsum_", "logcumsumexp") and args[0].is_floating_point()
        assert not sums, name
        assert name not in self.NONE, name
        return function(*args, **(kwargs or {}))


def step(losses: list[Any], batch: Any, model: nn.Module) -> None:
    """Losses, gradients and the terms that are kept for later."""
    terms = loop.Terms(model, {"a step": Progress()})
    with Repeatable():
        for loss in losses:
            values = loss(batch)
            terms.add("update", values, last=True)
            values["total"].backward()
    assert len(terms.waiting) == len(losses)
    with pytest.raises(NotImplementedError):
        terms.read()  # which is what waits


@pytest.mark.parametrize("name", sorted(METHODS))
def test_steps_of_decomposers(name: str) -> None:
    method = METHODS[name]
    every = torch.arange(PAIRS)
    rows = PairRows(every, every + PAIRS, torch.zeros_like(every), 1 + every % (LANGUAGES - 1))
    draws = {"order": Draws(1, "o"), "partners": Draws(1, "p")}
    (batch,) = make_batches(rows, method.partners, batch_size=PAIRS, drop_last=True, **draws)
    maps = Maps(method.architecture, DIM, stream(1), **method.own_settings).to(META)
    objective = Objective(method.terms, dim=DIM, n_languages=LANGUAGES, generator=stream(2)).to(META)
    losses = [
        *(
            [lambda pairs: {"total": objective.adversaries()[0].discriminate(pairs)}]
            * len(objective.adversaries())
        ),
        objective,
    ]
    moved = Batch(*(there(getattr(batch, field.name)) for field in fields(Batch)))
    vectors = torch.zeros(2 * PAIRS, DIM, device=META)
    pairs = decompose.pairs_of(maps, LANGUAGES, *decompose.inputs(vectors, moved, vectors.device))
    model = nn.ModuleList([maps, objective])
    for loss in losses[:-1]:
        step([loss], pairs, model)
    step([losses[-1]], pairs, model)


def encoder_and_sentences() -> tuple[TrainableEncoder, Bitext]:
    draw = np.random.default_rng(0)
    encoder = untrained(SETTINGS.network, 40)  # type: ignore[arg-type]
    sides = [Ragged.of([draw.integers(3, 40, size=n).tolist() for n in (3, 9, 5, 7)]) for _ in range(2)]
    return encoder, Bitext(*sides, np.array([[0, 1]]), (4,), np.arange(4))


@pytest.fixture(params=[False, True], ids=["padded", "packed"])
def packed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether sentences are packed, as they are on a GPU."""
    is_packed: bool = request.param
    monkeypatch.setattr(collate, "reads_packed", lambda *_: is_packed)
    return is_packed


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_steps_of_ems(margin: float, precision: str, packed: bool) -> None:
    settings = SETTINGS.model_copy(update={"margin": margin, "precision": precision})
    encoder, pairs = encoder_and_sentences()
    batch = EmsCollator(settings, encoder, CPU)(pairs, np.arange(4), np.random.default_rng(1))
    assert any(chunk.padded for chunk in batch.sentences.chunks) != packed
    model = EmsModel(settings, encoder, 2).to(META)
    assert batch.bags is not None
    bags = type(batch.bags)(batch.bags.offsets, *map(there, batch.bags[1:]))
    step([model], EmsBatch(there(batch.sentences), there(batch.languages), bags), model)


@pytest.mark.parametrize("virtual", ["paper", "released"])
@pytest.mark.usefixtures("packed")
def test_steps_of_emma_x(virtual: str) -> None:
    encoder, pairs = encoder_and_sentences()
    emma = EMMA.model_copy(update={"parallel": EMMA.parallel.model_copy(update={"virtual": virtual})})
    tokens = there(
        EmsCollator(SETTINGS, encoder, CPU)(pairs, np.arange(4), np.random.default_rng(1)).sentences
    )
    state = EmmaXState(emma, encoder.network, encoder.dim).to(META)
    width = 2 if virtual == "paper" else 8 + emma.queue
    draws = VirtualDraws(torch.zeros(8, dtype=torch.int64, device=META), torch.zeros(8, width, device=META))
    learns = frozenset(["encoder", "classifier"])
    parallel = ParallelModel(state, emma, learns).to(META).train()
    step([parallel], EmmaXBatch(tokens, (4, 4), draws), parallel)
    text = TextModel(state, emma).to(META).train()
    step([text], EmmaXBatch(tokens, (8,)), text)


def test_steps_of_masked_language_modelling() -> None:
    from test_mlm import SETTINGS as MLM

    model = build(MLM, 40).to(META)
    labels = np.array([[-100, 9, -100, -100], [-100, 8, 7, -100]])
    hidden = there(hidden_of(labels, CPU))
    batch = Masked(torch.zeros(2, 4, dtype=torch.int64, device=META), True, hidden)
    step([lambda given: masked_loss(model, given)], batch, model)
    shown = np.array([[5, 4, 6, 1], [7, 4, 4, 8]])
    step([lambda given: masked_loss(model, given)], there(packed_batch(shown, labels, CPU)), model)


def test_a_mask_of_padding_is_taken_as_it_is_and_changes_nothing() -> None:
    """Given (B, T), transformers asks the device whether any token is masked; the states are the same bits."""
    encoder, _ = encoder_and_sentences()
    model = encoder.network.model.eval()
    ids = torch.randint(3, 40, (3, 7), generator=stream(4))
    keep = torch.arange(7) < torch.tensor([[7], [4], [2]])
    whole = attention_mask(model, keep)
    assert whole.shape == (3, 1, 7, 7)
    with torch.no_grad():
        ours, theirs = (model(ids, attention_mask=mask).last_hidden_state for mask in (whole, keep.long()))
    assert torch.equal(ours, theirs)
    model.to(META)
    with pytest.raises(RuntimeError, match="meta"):
        model(ids.to(META), attention_mask=keep.long().to(META))
    model(ids.to(META), attention_mask=attention_mask(model, keep.to(META)))


def test_hidden_tokens_are_found_before_they_are_on_the_device() -> None:
    labels = np.array([[-100, 5, -100], [7, -100, 6]])
    found = hidden_of(labels, CPU)
    assert isinstance(found, Hidden)
    assert found.places.tolist() == [1, 3, 5]
    assert found.ids.tolist() == [5, 7, 6]
    filled = hidden_of(labels, CPU, 4)
    assert filled.places.tolist() == [1, 3, 5, 0]
    assert filled.ids.tolist() == [5, 7, 6, -100]
    assert TokenBatch((Chunk(torch.zeros(2, 3), False),), torch.arange(2), (found,)).hidden[0] is found


def test_hidden_tokens_are_predicted_without_a_look_at_the_device() -> None:
    encoder = continued("tiny", predicts=True)
    encoder.network.to(META)
    ids = torch.zeros(2, 3, dtype=torch.int64, device=META)
    hidden = there(hidden_of(np.array([[-100, 5, -100], [7, -100, 6]]), CPU))
    batch = TokenBatch((Chunk(ids, True),), torch.arange(2, device=META), (hidden,))
    vectors, loss = encode_and_predict(encoder.network, batch, 0.1)
    (vectors.sum() + loss).backward()
