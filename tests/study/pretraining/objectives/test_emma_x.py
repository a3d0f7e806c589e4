"""Emma-X's terms against the numbers of tests/worked-examples.md#worked-emma-x-1."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from orthoglot.study.pretraining.objectives.emma_x import (
    classifier_votes,
    encoder_votes,
    first_scores,
    info_nce,
    mixed_cosine,
    mixup_ranks,
    moved_scores,
    prior_ranks,
    rank_sums,
    ranking_info_nce,
    smoothed_nll,
    temperatures,
)

SIMS = torch.tensor([[0.9, 0.6, 0.3, 0.0]], dtype=torch.float64)
RANKS = torch.tensor([[1, 2, 3, 4]])
ONES = torch.ones(3, dtype=torch.float64)


def everything(similarity: Tensor) -> Tensor:
    return torch.ones_like(similarity, dtype=torch.bool)


def ranked(sims: Tensor, ranks: Tensor, temperature: Tensor) -> list[float]:
    return ranking_info_nce(sims, ranks, temperature, everything(sims)).tolist()


def test_x7_label_smoothing() -> None:
    uniform = torch.full((4, 1), 0.25, dtype=torch.float64).log()
    last = torch.tensor([4])
    assert smoothed_nll(uniform, last, 0.3).item() == pytest.approx(1.386294, abs=1e-6)
    skewed = torch.tensor([[1 / 6], [1 / 6], [1 / 6], [1 / 2]], dtype=torch.float64).log()
    assert smoothed_nll(skewed, last, 0.3).item() == pytest.approx(1.022731, abs=1e-6)
    assert smoothed_nll(skewed, last).item() == pytest.approx(0.693147, abs=1e-6)
    best = torch.tensor([[0.1], [0.1], [0.1], [0.7]], dtype=torch.float64).log()
    assert smoothed_nll(best, last, 0.3).item() == pytest.approx(0.940448, abs=1e-6)


def test_x8_and_x9_ranks_of_virtual_examples() -> None:
    shares = torch.tensor([0, 0.01, 0.34, 0.5, 0.67, 0.9, 1], dtype=torch.float64)
    assert mixup_ranks(shares, 4).tolist() == [1, 2, 3, 3, 4, 4, 4]
    assert set(mixup_ranks(shares[1:], 2).tolist()) == {2}
    assert mixup_ranks(torch.tensor(0.5), 8).item() == 5
    many = torch.rand(1_000_000, generator=torch.Generator().manual_seed(0))
    found = torch.bincount(mixup_ranks(many, 4), minlength=5)[1:] / len(many)
    assert found.tolist() == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3], abs=2e-3)


def test_the_released_ranks_are_intervals_of_the_prior() -> None:
    shares = torch.tensor([0.0, 0.24, 0.26, 0.74, 0.76, 1.0])
    assert prior_ranks(shares, torch.full((4,), 0.25)).tolist() == [1, 1, 2, 3, 4, 4]
    assert prior_ranks(shares, torch.tensor([0.7, 0.1, 0.1, 0.1])).tolist() == [1, 1, 1, 2, 2, 4]


def test_x10_the_encoders_vote() -> None:
    cosines = torch.tensor([0.95, 0.6, 0.3, -0.2], dtype=torch.float64)
    assert encoder_votes(cosines, first_scores(4).double()).tolist() == [1, 3, 4, 4]
    assert encoder_votes(cosines, torch.tensor([0.25, 0.5, 0.75, 1.0])).tolist()[0] == 4
    assert first_scores(4).tolist() == [1, 0.75, 0.5, 0.25]
    half = torch.tensor([[0.5]])
    assert encoder_votes(half, torch.tensor([0.75, 0.25])).tolist() == [[1]]


def test_x11_scores_move_by_the_mean_of_a_batch() -> None:
    sims = torch.tensor([[0.8, 0.6, -0.9]], dtype=torch.float64)
    ranks = torch.tensor([[2, 2, 2]])
    valid = torch.tensor([[True, True, False]])
    scores = torch.tensor([1.0, 0.5, 0.25], dtype=torch.float64)
    found = moved_scores(scores, rank_sums(sims, ranks, 3, valid), 0.9)
    assert found.tolist() == pytest.approx([1.0, 0.52, 0.25])


def test_sums_of_parts_add_up_to_those_of_the_whole() -> None:
    generator = torch.Generator().manual_seed(0)
    sims = torch.rand(6, 5, dtype=torch.float64, generator=generator)
    ranks = torch.randint(1, 5, (6, 5), generator=generator)
    valid = torch.rand(6, 5, generator=generator) < 0.7
    parts = sum(rank_sums(sims[rows], ranks[rows], 4, valid[rows]) for rows in (slice(0, 2), slice(2, 6)))
    assert torch.is_tensor(parts)
    torch.testing.assert_close(parts, rank_sums(sims, ranks, 4, valid))
    assert parts[1].sum() == valid.sum()


def test_x13_to_x16_ranking_info_nce() -> None:
    assert ranked(SIMS, RANKS, ONES) == pytest.approx([0.991843, 0.828390, 0.554355], abs=1e-6)
    three = temperatures(4, 0.05, 0.1).double()
    assert three.tolist() == pytest.approx([0.05, 0.075, 0.1])
    found = ranked(SIMS, RANKS, three)
    assert found == pytest.approx([0.00248183, 0.01847930, 0.04858735], abs=1e-8)
    assert ranked(SIMS, torch.tensor([[1, 1, 3, 4]]), ONES) == pytest.approx(
        [0.437488, 0.0, 0.554355], abs=1e-6
    )
    assert ranked(SIMS, torch.tensor([[1, 2, 2, 2]]), ONES[:1]) == pytest.approx([0.991843], abs=1e-6)
    assert temperatures(2, 0.05, 0.1).tolist() == pytest.approx([0.05])
    assert temperatures(8, 0.05, 0.1)[1].item() == pytest.approx(0.058333, abs=1e-6)


def test_x15_a_mean_in_the_numerator_adds_a_constant_and_leaves_the_gradient() -> None:
    """The authors' code has the mean over the candidates of a rank where the paper has their sum."""
    ranks = torch.tensor([[1, 1, 3, 4]])
    sims = SIMS.clone().requires_grad_()
    released = sims.logsumexp(1) - (sims[:, :2].logsumexp(1) - math.log(2))
    assert released.item() == pytest.approx(1.130635, abs=1e-6)
    ours = ranking_info_nce(sims, ranks, ONES, everything(sims))[0]
    assert released.item() - ours.item() == pytest.approx(math.log(2))
    (theirs,) = torch.autograd.grad(released.sum(), sims)
    torch.testing.assert_close(torch.autograd.grad(ours, sims)[0], theirs)


def test_each_term_is_the_formula_and_what_is_not_valid_is_not_there() -> None:
    generator = torch.Generator().manual_seed(1)
    sims = 2 * torch.rand(5, 8, dtype=torch.float64, generator=generator) - 1
    ranks = torch.randint(1, 5, (5, 8), generator=generator)
    valid = torch.rand(5, 8, generator=generator) < 0.8
    by_rank = [0.05, 0.075, 0.1]
    expected = []
    for rank, t in enumerate(by_rank, start=1):
        total = 0.0
        for i in range(5):
            some = [(sims[i, k].item(), int(ranks[i, k])) for k in range(8) if valid[i, k]]
            above = sum(math.exp(s / t) for s, r in some if r == rank)
            below = sum(math.exp(s / t) for s, r in some if r >= rank)
            total -= math.log(above / below) if above else 0.0
        expected.append(total / 5)
    sims.requires_grad_()
    found = ranking_info_nce(sims, ranks, torch.tensor(by_rank, dtype=torch.float64), valid)
    assert found.tolist() == pytest.approx(expected)
    found.sum().backward()
    assert sims.grad is not None
    assert sims.grad.isfinite().all()
    assert (sims.grad[~valid] == 0).all()


def test_anchors_without_any_candidate_of_a_rank_have_a_finite_gradient() -> None:
    sims = SIMS.float().clone().requires_grad_()
    ranking_info_nce(
        sims, torch.full((1, 4), 3), temperatures(4, 0.05, 0.1), everything(SIMS)
    ).sum().backward()
    assert sims.grad is not None
    assert sims.grad.isfinite().all()


def test_info_nce_is_a_softmax_over_what_is_valid() -> None:
    generator = torch.Generator().manual_seed(2)
    sims = torch.rand(3, 6, dtype=torch.float64, generator=generator)
    positives = torch.tensor([4, 0, 2])
    valid = everything(sims)
    expected = functional.cross_entropy(sims / 0.05, positives).item()
    assert info_nce(sims, positives, 0.05, valid).item() == pytest.approx(expected)
    valid[:, 5] = False
    fewer = functional.cross_entropy(sims[:, :5] / 0.05, positives).item()
    assert info_nce(sims, positives, 0.05, valid).item() == pytest.approx(fewer)


def test_the_classifiers_vote_is_its_best_rank() -> None:
    log_posterior = torch.tensor([[0.1, 0.6], [0.7, 0.3], [0.2, 0.1]]).log()
    assert classifier_votes(log_posterior).tolist() == [2, 1]


def test_x19_cosine_of_a_mixture_with_the_anchor() -> None:
    x, y = torch.tensor([1.0, 0.0]).double(), torch.tensor([0.6, 0.8]).double()
    assert (x - y).square().sum().item() == pytest.approx(0.8)
    for t in (0.0, 0.3, 1.0):
        mixed = (1 - t) * x + t * y
        found = mixed_cosine(x @ y, torch.tensor(t, dtype=torch.float64))
        assert found.item() == pytest.approx(functional.cosine_similarity(x, mixed, dim=0).item())
