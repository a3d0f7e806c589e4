"""Bags of tokens and their divergence, against tests/worked-examples.md#worked-ems-1 and the dense definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from orthoglot.study.pretraining.objectives import token_bags as module
from orthoglot.study.pretraining.objectives.token_bags import Bags, bags_of, divergence

SENTENCE = [2, 3, 3, 1]
BAG = torch.tensor([0.0, 0.25, 0.25, 0.5], dtype=torch.float64)
UNIFORM = torch.zeros(1, 4, dtype=torch.float64)
SENTENCES = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=5), min_size=1, max_size=6)


def bag(*sentences: list[int], reading: module.Reading = "counts", hidden: list[int] | None = None) -> Bags:
    tokens = np.array([token for sentence in sentences for token in sentence])
    lengths = np.array([len(sentence) for sentence in sentences])
    return bags_of(tokens, lengths, reading, None if hidden is None else np.array(hidden))


def dense(bags: Bags, vocabulary: int) -> Tensor:
    p = torch.zeros(len(bags.entropy), vocabulary, dtype=torch.float64)
    p[bags.rows, bags.tokens] = bags.weights
    return p


def of_logits(logits: Tensor, bags: Bags) -> Tensor:
    """The divergence with given logits: the output embedding is the identity."""
    return divergence(logits, torch.eye(logits.shape[1], dtype=logits.dtype), bags)


def test_e1_the_bag_and_its_entropy() -> None:
    made = bag(SENTENCE)
    assert torch.equal(dense(made, 4)[0], BAG)
    assert made.entropy.item() == pytest.approx(1.039721, abs=1e-6)
    assert made.mass.item() == 1


def test_e5_the_released_reading_gives_each_distinct_token_the_same() -> None:
    released = bag(SENTENCE, reading="distinct")
    assert dense(released, 4).tolist() == [[0, 0.25, 0.25, 0.25]]
    assert released.mass.item() == 0.75
    logits = UNIFORM.clone().requires_grad_()
    value = of_logits(logits, released)
    assert value.item() == pytest.approx(0, abs=1e-9)
    value.backward()
    assert logits.grad is not None
    assert logits.grad[0].tolist() == pytest.approx([0.1875, -0.0625, -0.0625, -0.0625])
    certain = BAG.clamp(min=1e-300).log()[None]
    assert of_logits(certain, released).item() == pytest.approx(-0.173287, abs=1e-6)
    assert of_logits(certain, bag(SENTENCE)).item() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("hidden", "expected"), [(2, [0, 0.25, 0.5, 0.25, 0, 0]), (3, [0, 0.25, 0, 0.75, 0, 0])]
)
def test_e8_a_hidden_token_shares_the_mass_and_adds(hidden: int, expected: list[float]) -> None:
    made = bag([3, 1], [4, 4], hidden=[hidden, -1])
    assert dense(made, 6).tolist() == [expected, [0, 0, 0, 0, 1, 0]]
    assert made.mass.tolist() == [1, 1]
    p = [value for value in expected if value]
    assert made.entropy.tolist() == pytest.approx([-sum(x * math.log(x) for x in p), 0])


@settings(deadline=None, max_examples=60)
@given(SENTENCES, st.integers(0, 99), st.sampled_from(["counts", "distinct"]), st.integers(1, 3))
def test_value_and_gradients_are_those_of_the_dense_definition_whatever_the_chunks(
    sentences: list[list[int]], seed: int, reading: module.Reading, rows_at_once: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    hidden = [(seed + row) % 7 or -1 for row in range(len(sentences))]
    made = bag(*sentences, reading=reading, hidden=hidden)
    states, output = (
        torch.randn(n, 5, dtype=torch.float64, generator=generator).requires_grad_()
        for n in (len(sentences), 7)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LOGITS_AT_ONCE", 7 * rows_at_once)
        value = divergence(states, output, made)
        value.mul(3.0).backward()
    ours = states.grad, output.grad
    states.grad = output.grad = None
    p = dense(made, 7)
    expected = functional.kl_div((states @ output.T).log_softmax(1), p, reduction="sum")
    expected.mul(3.0).backward()
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(ours, (states.grad, output.grad))
    if reading == "counts":
        assert value.item() >= -1e-12


def test_gradients_by_finite_differences() -> None:
    made = bag(SENTENCE, [5, 5, 1], hidden=[4, -1])
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(n, 3, dtype=torch.float64, generator=generator).requires_grad_() for n in (2, 6)]
    assert torch.autograd.gradcheck(lambda states, output: divergence(states, output, made), inputs)


def test_low_precision_changes_the_products_and_not_the_softmax() -> None:
    generator = torch.Generator().manual_seed(0)
    states, output = (torch.randn(n, 64, generator=generator).requires_grad_() for n in (3, 500))
    made = bag(SENTENCE, [7, 8], [9])
    exact = divergence(states, output, made)
    rough = divergence(states, output, made, torch.bfloat16)
    assert rough.dtype == torch.float32
    assert 0 < abs(rough.item() - exact.item()) < 2e-2 * exact.item()
    logits = states.bfloat16() @ output.bfloat16().T
    expected = functional.kl_div(logits.float().log_softmax(1), dense(made, 500).float(), reduction="sum")
    torch.testing.assert_close(rough, expected)
    rough.backward()
    assert output.grad is not None
    assert output.grad.dtype == torch.float32


@pytest.mark.parametrize("wanted", [True, False])
def test_nothing_is_made_for_a_gradient_that_nobody_wants(
    wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[torch.Size] = []
    real = torch.zeros_like

    def zeros_like(tensor: Tensor, **options: object) -> Tensor:
        made.append(tensor.shape)
        return real(tensor)

    monkeypatch.setattr(torch, "zeros_like", zeros_like)
    output = torch.nn.Parameter(torch.eye(4, dtype=torch.float64))
    with torch.set_grad_enabled(wanted):
        value = divergence(UNIFORM, output, bag(SENTENCE))
    assert value.requires_grad == wanted
    assert made == ([output.shape] if wanted else [])


@settings(deadline=None, max_examples=60)
@given(SENTENCES, st.integers(0, 99), st.sampled_from(["counts", "distinct"]))
def test_all_at_once_is_the_same_as_in_chunks(
    sentences: list[list[int]], seed: int, reading: module.Reading
) -> None:
    """What a GPU does where its products are rounded, here in float32."""
    generator = torch.Generator().manual_seed(seed)
    hidden = [(seed + row) % 7 or -1 for row in range(len(sentences))]
    made = bag(*sentences, reading=reading, hidden=hidden)
    states, output = (torch.randn(n, 5, generator=generator).requires_grad_() for n in (len(sentences), 7))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LOGITS_AT_ONCE", 14)
        value = divergence(states, output, made)
        value.backward()
    with torch.no_grad():
        found = module._at_once(states, output, made, torch.float32)
    assert {tensor.dtype for tensor in found} == {torch.float32}
    for ours, theirs in zip(found, (value, states.grad, output.grad), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=2e-6)


@settings(deadline=None, max_examples=60)
@given(SENTENCES, st.integers(1, 9))
def test_filled_up_bags_are_the_same_to_all_readers(sentences: list[list[int]], multiple: int) -> None:
    generator = torch.Generator().manual_seed(0)
    states, output = (torch.randn(n, 5, generator=generator) for n in (len(sentences), 7))
    made = bag(*sentences)
    filled = made.filled(multiple)
    assert len(filled.rows) == len(filled.tokens) == len(filled.weights) == filled.offsets[-1]
    assert 0 <= len(filled.rows) - len(made.rows) < multiple
    assert len(filled.rows) % multiple == 0
    torch.testing.assert_close(divergence(states, output, filled), divergence(states, output, made))
    ours, theirs = (module._at_once(states, output, one, torch.float32) for one in (filled, made))
    torch.testing.assert_close(ours, theirs)


def test_all_at_once_rounds_products_and_slope_as_chunks_do() -> None:
    generator = torch.Generator().manual_seed(0)
    states, output = (torch.randn(n, 64, generator=generator).requires_grad_() for n in (3, 500))
    made = bag(SENTENCE, [7, 8], [9])
    value = divergence(states, output, made, torch.bfloat16)
    value.backward()
    with torch.no_grad():
        found = module._at_once(states, output, made, torch.bfloat16)
    torch.testing.assert_close(found[0], value.detach())
    for ours, theirs in zip(found[1:], (states.grad, output.grad), strict=True):
        assert theirs is not None
        assert float((ours - theirs).norm()) < 2e-2 * float(theirs.norm())
