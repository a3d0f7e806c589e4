"""Packed sentences: their layout, the states and vectors of padded ones, and what padding must not do."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoints import bert, gte, xlmr
from hypothesis import given, settings
from hypothesis import strategies as st

from orthoglot.encoders import packed as module
from orthoglot.encoders.base import pool
from orthoglot.encoders.packed import (
    BLOCK,
    FILLING,
    STEP,
    attention_works,
    pack,
    packed_states,
    packed_vectors,
    reads_packed,
)
from orthoglot.encoders.pretrained import attention_mask, open_checkpoint
from orthoglot.encoders.token_lists import Ragged

CPU = torch.device("cpu")
PAD = 1
# Of one token, of as many as the checkpoints read, alone.
MOST = 16
LENGTHS = {"many": [4, 1, MOST, 7, 1], "longest": [MOST, MOST], "alone": [5], "one token": [1]}


def text(lengths: list[int]) -> Ragged:
    draw = np.random.default_rng(0)
    return Ragged.of([draw.integers(4, 11, size=length).tolist() for length in lengths])


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(1, 3 * BLOCK), min_size=1, max_size=20))
def test_every_token_is_there_once_and_padding_fills_up_a_few_sizes(lengths: list[int]) -> None:
    sentences = Ragged.of([[7] * length for length in lengths])
    packed = pack(sentences, PAD, CPU)
    sizes = packed.cuts.diff()
    tokens = sum(lengths)
    assert packed.cuts.dtype == torch.int32
    assert len(packed.ids) % STEP == 0
    assert tokens + FILLING <= len(packed.ids) < tokens + FILLING + STEP
    assert packed.cuts[0] == 0
    assert packed.cuts[-1] == len(packed.ids)
    assert sizes[:-FILLING].tolist() == lengths
    assert sizes[-FILLING:].min() >= 1
    assert sizes.max() <= packed.longest
    assert packed.longest % BLOCK == 0
    assert packed.ids.tolist() == [7] * tokens + [PAD] * (len(packed.ids) - tokens)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
@pytest.mark.parametrize("make", [xlmr, bert])
def test_states_and_vectors_are_those_of_padded_sentences(
    make: Any, pooling: Any, lengths: list[int], tmp_path: Path
) -> None:
    model, _ = open_checkpoint(make(tmp_path / "checkpoint"), "small", pooling)
    model = model.double().eval()
    sentences = text(lengths)
    ids = torch.from_numpy(sentences.padded(np.arange(len(lengths)), PAD))
    keep = ids != PAD
    packed = pack(sentences, PAD, CPU)
    with torch.no_grad():
        expected = model(ids, attention_mask=attention_mask(model, keep)).last_hidden_state
        states = packed_states(model, packed)
        vectors = packed_vectors(states, packed, pooling, model.pooler)
    torch.testing.assert_close(states[: sum(lengths)], expected[keep])
    torch.testing.assert_close(vectors, pool(expected, keep, pooling, model.pooler))


def test_padding_changes_no_state_and_gets_no_gradient(tmp_path: Path) -> None:
    """And the other direction: a change of the last token of a sentence changes each of its states, and no other."""
    model, _ = open_checkpoint(xlmr(tmp_path / "checkpoint"), "small", "mean")
    model = model.double().eval()
    sentences = text(LENGTHS["many"])
    packed, tokens = pack(sentences, PAD, CPU), len(sentences.ids)

    def states(ids: torch.Tensor) -> torch.Tensor:
        return packed_states(model, packed._replace(ids=ids))

    before = states(packed.ids)
    other = packed.ids.clone()
    other[tokens:] = 9
    changed = (states(other) != before).any(1)
    assert changed[tokens:].all()
    assert not changed[:tokens].any()
    packed_vectors(states(other), packed, "mean", None).square().sum().backward()
    slope = model.embeddings.word_embeddings.weight.grad
    seen = set(sentences.ids.tolist())
    assert {row for row in range(len(slope)) if slope[row].any()} == seen
    other = packed.ids.clone()
    last = int(sentences.offsets[3]) - 1
    other[last] = 4 if other[last] != 4 else 5
    changed = (states(other) != before).any(1).nonzero()[:, 0]
    assert changed.tolist() == list(range(sentences.offsets[2], sentences.offsets[3]))


def test_dropout_of_attention_and_states_is_the_models(tmp_path: Path) -> None:
    model, _ = open_checkpoint(bert(tmp_path / "checkpoint"), "small", "mean")
    packed = pack(text([16, 16]), PAD, CPU)
    model.eval()
    assert torch.equal(packed_states(model, packed), packed_states(model, packed))
    model.train()
    for kind in ("dropout of states", "dropout of attention"):
        for name, part in model.named_modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.5 if ("self" in name) == (kind == "dropout of attention") else 0.0
        assert not torch.equal(packed_states(model, packed), packed_states(model, packed)), kind


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_operators_for_a_gpu_take_what_they_are_given(dtype: torch.dtype) -> None:
    """They run on no CPU. On the meta device PyTorch checks arguments and shapes, forward and backward."""
    query = torch.zeros(STEP, 2, 64, dtype=dtype, device="meta", requires_grad=True)
    cuts = torch.zeros(8, dtype=torch.int32, device="meta")
    context = module._attention(query, query, query, cuts, BLOCK, None, 0.1)
    assert (context.shape, context.dtype) == (query.shape, dtype)
    context.sum().backward()
    assert query.grad is not None
    assert query.grad.shape == query.shape


def test_other_networks_and_devices_read_padded_sentences(tmp_path: Path) -> None:
    cuda = torch.device("cuda")
    model, _ = open_checkpoint(xlmr(tmp_path / "xlmr"), "small", "mean")
    assert not reads_packed(model, CPU)
    other, _ = open_checkpoint(gte(tmp_path / "gte"), "small", "mean")
    assert not reads_packed(other, cuda)


def test_operators_that_differ_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    attention = module._attention
    assert not attention_works(2, 8, CPU)  # PyTorch has none for a CPU

    def stand_in(*arguments: Any, leaks: bool) -> torch.Tensor:
        *given, mask, dropout = arguments
        owners = torch.searchsorted(given[3], torch.arange(48, dtype=torch.int32), right=True)
        own = owners[:, None] == owners
        if leaks and mask is None:
            own[0, 47] = True
        return attention(*given, own, dropout)

    for leaks in (False, True):
        monkeypatch.setattr(module, "_attention", partial(stand_in, leaks=leaks))
        assert attention_works(2, 8, CPU) != leaks
