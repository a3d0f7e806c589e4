"""The Gaussian mixture over differences of vectors, against values and its own formula written out."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from orthoglot.study.pretraining.objectives.mixture import FullyConnected, Mixture


def mixture(prior: list[float], mean: list[list[float]], sigma: list[list[float]]) -> Mixture:
    """A mixture with these parameters, float64."""
    made = Mixture(len(prior), len(mean[0])).double()
    with torch.no_grad():
        made.logits.copy_(torch.tensor(prior, dtype=torch.float64).log())
        made.mean.copy_(torch.tensor(mean, dtype=torch.float64))
        made.log_variance.copy_(2 * torch.tensor(sigma, dtype=torch.float64).log())
    return made


def posterior(made: Mixture, z: list[float]) -> list[float]:
    """P(r | z) of one difference."""
    x = torch.tensor([z], dtype=torch.float64)
    return made.paired(x, torch.zeros_like(x))[:, 0].exp().tolist()


def density(made: Mixture, z: Tensor) -> Tensor:
    """ln N(z; mu, diag sigma^2) of each rank, from PyTorch's own normal distribution; z (..., 1, D)."""
    return torch.distributions.Normal(made.mean, (made.log_variance / 2).exp()).log_prob(z).sum(dim=-1)


def units(rows: int, width: int, seed: int) -> Tensor:
    drawn = torch.randn(rows, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.normalize(drawn, dim=1)


def drawn(ranks: int, width: int, seed: int = 0) -> Mixture:
    """A mixture with parameters of its own in every place."""
    generator = torch.Generator().manual_seed(seed)
    made = Mixture(ranks, width).double()
    with torch.no_grad():
        for values, spread in ((made.logits, 1.0), (made.mean, 0.1), (made.log_variance, 0.5)):
            values.add_(spread * torch.randn(values.shape, dtype=torch.float64, generator=generator))
    return made


def naive(made: Mixture, x: Tensor, y: Tensor) -> Tensor:
    """ln P with the whole tensor of differences (B, Q, N, D)."""
    z = (x[:, None] - y[None])[:, :, None]
    joint = made.logits.log_softmax(0) + density(made, z)
    return joint.log_softmax(2).permute(2, 0, 1)


def test_x2_two_dimensions() -> None:
    found = posterior(mixture([0.25, 0.75], [[0.0, 0.0], [1.0, 1.0]], [[1.0, 1.0], [0.5, 2.0]]), [1.0, 0.0])
    assert found == pytest.approx([0.186394, 0.813606], abs=1e-6)
    assert [-math.log(one) for one in found] == pytest.approx([1.679892, 0.206279], abs=1e-5)


def test_x4_wide_vectors_where_densities_overflow() -> None:
    made = mixture([0.5, 0.5], [[0.001] * 1024, [-0.002] * 1024], [[0.03] * 1024] * 2)
    zero = torch.zeros(1, 1024, dtype=torch.float64)
    found = made.paired(zero, zero)[:, 0]
    assert (found[0] - found[1]).item() == pytest.approx(1.706667, abs=1e-6)
    assert found[0].exp().item() == pytest.approx(0.8464, abs=5e-5)
    at_the_mean = density(made, made.mean)[0]
    assert at_the_mean.item() == pytest.approx(2649.7, abs=0.05)
    assert at_the_mean.exp().isinf()
    single = made.float().paired(zero.float(), zero.float())[:, 0]
    assert (single[0] - single[1]).item() == pytest.approx(1.706667, rel=1e-4)


@pytest.mark.parametrize("width", [3, 257])
def test_x5_the_expanded_form_is_the_naive_one(width: int) -> None:
    made, x, y = drawn(4, width), units(7, width, 1), units(9, width, 2)
    found = made.crossed(x, y)
    torch.testing.assert_close(found, naive(made, x, y), rtol=1e-9, atol=1e-9)
    rows, columns = torch.arange(7), torch.arange(7)
    torch.testing.assert_close(made.paired(x, y[:7]), found[:, rows, columns], rtol=1e-9, atol=1e-9)


def test_gradients_of_the_expanded_form_are_those_of_the_naive_one() -> None:
    found = {}
    for how in ("crossed", "naive"):
        made, x, y = drawn(3, 5), units(4, 5, 1), units(6, 5, 2)
        values = made.crossed(x, y) if how == "crossed" else naive(made, x, y)
        weights = torch.randn(values.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
        (values * weights).sum().backward()
        found[how] = [parameter.grad for parameter in made.parameters()]
    for one, other in zip(found["crossed"], found["naive"], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["mixture", "linear"])
def test_a_share_moves_the_candidate_towards_the_anchor(kind: str) -> None:
    x, y = units(5, 6, 1), units(7, 6, 2)
    classifier: Mixture | FullyConnected = drawn(4, 6) if kind == "mixture" else FullyConnected(4, 6).double()
    share = torch.rand(5, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    found = classifier.crossed(x, y, share)
    for k in range(7):
        mixed = (1 - share[:, k, None]) * x + share[:, k, None] * y[k]
        torch.testing.assert_close(found[:, :, k], classifier.paired(x, mixed))
    torch.testing.assert_close(classifier.crossed(x, y, torch.ones_like(share)), classifier.crossed(x, y))


def test_the_linear_classifier_is_one_map_of_both_vectors() -> None:
    x, y, classifier = units(5, 6, 1), units(5, 6, 2), FullyConnected(3, 6).double()
    expected = classifier.layer(torch.cat([x, y], dim=1)).log_softmax(1).T
    torch.testing.assert_close(classifier.paired(x, y), expected)
    torch.testing.assert_close(classifier.crossed(x, y)[:, range(5), range(5)], expected)


def test_the_start_tells_lengths_apart() -> None:
    """Methods 6.2: differences of unit vectors have squared lengths of 0 to 4; the start cuts (0, 2] by length."""
    width = 512
    made = Mixture(4, width)
    variances = made.log_variance.exp().sum(dim=1).tolist()
    assert variances == pytest.approx([0.25, 0.75, 1.25, 1.75])
    base, noise = units(1, width, 5), units(1, width, 6)
    near = torch.nn.functional.normalize(base + 0.3 * noise, dim=1)
    far = -base
    with torch.no_grad():
        ranks = made.double().paired(base.repeat(3, 1), torch.cat([near, noise, far])).argmax(0) + 1
    assert ranks.tolist() == [1, 4, 4]


def test_half_precision_vectors_are_compared_in_float32() -> None:
    made, x, y = drawn(4, 64).float(), units(5, 64, 1), units(6, 64, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = made.crossed(x.float(), y.float())
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, made.crossed(x.float(), y.float()))
