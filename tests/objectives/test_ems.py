"""EMS objective against the numbers of methods.md 9.6."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from orthoglot.objectives.ems import Ems, Projection, XtrHead, bag_entropy, contrastive, xtr

TOKENS = torch.tensor([[2, 3, 3, 1]])
BAG = torch.tensor([0.0, 0.25, 0.25, 0.5], dtype=torch.float64)
UNIFORM = torch.zeros(1, 4, dtype=torch.float64)
BOTH = torch.ones(1, 4, dtype=torch.bool)


def _xtr(logits: Tensor, tokens: Tensor) -> Tensor:
    return xtr(logits, tokens, tokens != 0)


def test_e1_entropy_of_the_bag() -> None:
    assert bag_entropy(TOKENS, BOTH).item() == pytest.approx(1.039721, abs=1e-6)


def test_e2_divergence_from_uniform() -> None:
    assert _xtr(UNIFORM, TOKENS).item() == pytest.approx(math.log(4) - 1.039721, abs=1e-6)


def test_e3_mean_over_rows_sum_over_vocabulary() -> None:
    twice = _xtr(UNIFORM.repeat(2, 1), TOKENS.repeat(2, 1))
    assert twice.item() == pytest.approx(0.346574, abs=1e-6)


def test_e4_gradient_is_prediction_minus_bag() -> None:
    logits = UNIFORM.clone().requires_grad_()
    _xtr(logits, TOKENS).backward()
    assert logits.grad is not None
    torch.testing.assert_close(logits.grad[0], torch.tensor([0.25, 0, 0, -0.25], dtype=torch.float64))


def test_e5_counts_not_the_released_distinct_tokens() -> None:
    # With 0.25 on each distinct token, as released, it would be -0.173287.
    assert _xtr(BAG.clamp(min=1e-300).log()[None], TOKENS).item() == pytest.approx(0, abs=1e-9)


def test_e6_order_and_padding_of_the_target_do_not_matter() -> None:
    logits = torch.randn(1, 4, dtype=torch.float64)
    expected = _xtr(logits, TOKENS)
    for tokens in ([[3, 1, 2, 3]], [[2, 3, 3, 1, 0, 0]]):
        torch.testing.assert_close(_xtr(logits, torch.tensor(tokens)), expected)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=5), min_size=1, max_size=4), st.integers(0, 99)
)
def test_xtr_is_the_dense_divergence(sentences: list[list[int]], seed: int) -> None:
    logits = torch.randn(
        len(sentences), 7, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    )
    total = 0.0
    for row, sentence in enumerate(sentences):
        p = torch.bincount(torch.tensor(sentence), minlength=7).double() / len(sentence)
        q = logits[row].softmax(0)
        total += sum(float(p[w] * (p[w] / q[w]).log()) for w in range(7) if p[w] > 0)
    width = max(map(len, sentences))
    padded = torch.tensor([sentence + [0] * (width - len(sentence)) for sentence in sentences])
    value = _xtr(logits, padded).item()
    assert value == pytest.approx(total / len(sentences), abs=1e-9)
    assert value >= -1e-12


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        (torch.eye(2), 9.079780e-5),  # E-9
        (torch.ones(2, 2), 1.386294),  # E-10
        (torch.full((152, 152), 0.3), 10.047761),
        (torch.tensor([[0.8, 0.2], [0.5, 0.4]]), 0.657869 + 0.087758),  # E-11
    ],
)
def test_contrastive_values(similarity: Tensor, expected: float) -> None:
    assert contrastive(similarity.double(), 0.1).item() == pytest.approx(expected, rel=1e-5)


def _objective(xtr_weight: float = 1.0, contrastive_weight: float = 1.0) -> Ems:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Ems(
            XtrHead(languages=3, language_width=4, width=6, vocabulary=11, dropout=0.1),
            Projection(6, 5),
            temperature=0.1,
            xtr_weight=xtr_weight,
            contrastive_weight=contrastive_weight,
        ).eval()


def _batch() -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    vectors = [torch.randn(4, 6, generator=generator) for _ in range(2)]
    tokens = [torch.randint(1, 11, (4, size), generator=generator) for size in (3, 5)]
    return [*vectors, *tokens, torch.zeros(4, dtype=torch.long), torch.tensor([1, 2, 1, 2])]


def test_e14_swapping_the_sides_changes_nothing() -> None:
    a, b, a_tokens, b_tokens, a_language, b_language = _batch()
    objective = _objective()
    there = objective(a, b, a_tokens, b_tokens, a_language, b_language)
    back = objective(b, a, b_tokens, a_tokens, b_language, a_language)
    for term in ("xtr", "contrastive", "total"):
        torch.testing.assert_close(there[term], back[term])


def test_each_side_predicts_the_other_in_the_others_language() -> None:
    a, b, a_tokens, b_tokens, a_language, b_language = _batch()
    objective = _objective()
    value = objective(a, b, a_tokens, b_tokens, a_language, b_language)["xtr"]
    expected = _xtr(objective.head(a, b_language), b_tokens) + _xtr(objective.head(b, a_language), a_tokens)
    torch.testing.assert_close(value, expected)
    # Telling the head the sentence's own language instead is another number.
    wrong = _xtr(objective.head(a, a_language), b_tokens) + _xtr(objective.head(b, b_language), a_tokens)
    assert (wrong - expected).abs().item() > 1e-3


def test_total_is_the_weighted_sum_and_a_zero_weight_drops_the_term() -> None:
    batch = _batch()
    both = _objective(0.5, 2.0)(*batch)
    torch.testing.assert_close(both["total"], 0.5 * both["xtr"] + 2.0 * both["contrastive"])
    assert set(_objective(0.0, 1.0)(*batch)) == {"contrastive", "total"}
    assert set(_objective(1.0, 0.0)(*batch)) == {"xtr", "total"}


def test_projection_scale_free_and_unit() -> None:
    projected = Projection(6, 5)(torch.randn(4, 6))
    torch.testing.assert_close(projected.norm(dim=1), torch.ones(4))
