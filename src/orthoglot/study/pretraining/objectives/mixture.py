"""How closely two sentences are related: a Gaussian mixture over the difference of their vectors, or a linear map.

Ranks run from 1 (paraphrase) to N (unrelated); results have them first. The mixture never holds a difference for each
pair of sentences: its quadratic form is expanded into one matrix product per rank. Gradient reaches the parameters
alone if the vectors are detached.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Mixture(nn.Module):
    """One Gaussian with diagonal covariance per rank.

    ln P(r | x, y) = l_r - ln sum_j e^(l_j),  z = x - y
    l_r = ln pi_r - (D ln 2 pi + sum_k ln sigma_rk^2 + sum_k (z_k - mu_rk)^2 / sigma_rk^2) / 2

    It begins with mu = 0 and sigma_r^2 = 2 (r - 1/2) / (N D): squared lengths of differences of unit vectors, which lie
    in [0, 4], spread over (0, 2].

    Args:
        ranks: N >= 2.
        width: D.
    Source: Emma-X Eqs. 19 and 5, with the prior once; docs/papers.md#emma-x-gaussian, docs/papers.md#emma-x-posterior.
    """

    def __init__(self, ranks: int, width: int):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(ranks))
        lengths = 2 * (torch.arange(ranks) + 0.5) / ranks
        self.mean = nn.Parameter(torch.zeros(ranks, width))
        self.log_variance = nn.Parameter((lengths / width).log()[:, None].repeat(1, width))

    @property
    def prior(self) -> Tensor:
        """pi (N,)."""
        return self.logits.softmax(0)

    def paired(self, x: Tensor, y: Tensor) -> Tensor:
        """ln P of each rank for unit vectors x_i and y_i, both (M, D); (N, M)."""
        with torch.autocast(x.device.type, enabled=False):
            z, precision = _whole(x) - _whole(y), torch.exp(-self.log_variance)
            squares = precision @ z.square().T
            crosses = (precision * self.mean) @ z.T
            return self._posterior(squares - 2 * crosses)

    def crossed(self, x: Tensor, y: Tensor, share: Tensor | None = None) -> Tensor:
        """ln P of each rank for every x_i (B, D) and y_k (Q, D); (N, B, Q).

        With a share t (B, Q) it is that of x_i and (1 - t_ik) x_i + t_ik y_k.
        """
        with torch.autocast(x.device.type, enabled=False):
            x, y, precision = _whole(x), _whole(y), torch.exp(-self.log_variance)
            if share is None:
                # (z - mu)^2 with mu subtracted from x: one product suffices.
                moved = x - self.mean[:, None]
                weighted = moved * precision[:, None]
                x_terms = (weighted * moved).sum(dim=2, keepdim=True)
                other = (precision @ y.square().T)[:, None]
                return self._normalised(x_terms + other - 2 * _times(weighted, y))
            weighted = x * precision[:, None]
            x_terms = (precision @ x.square().T)[:, :, None]
            other = (precision @ y.square().T)[:, None]
            squares = x_terms + other - 2 * _times(weighted, y)
            means = precision * self.mean
            crosses = (means @ x.T)[:, :, None] - (means @ y.T)[:, None]
            return self._posterior(share.square() * squares - 2 * share * crosses)

    def _posterior(self, distances: Tensor) -> Tensor:
        """ln P of each rank from sum_k (z_k^2 - 2 z_k mu_rk) / sigma_rk^2, ranks first."""
        shift = (self.mean.square() * torch.exp(-self.log_variance)).sum(dim=1)
        return self._normalised(distances + _first(shift, distances))

    def _normalised(self, distances: Tensor) -> Tensor:
        """ln P of each rank from sum_k (z_k - mu_rk)^2 / sigma_rk^2; what all ranks share drops out."""
        constant = self.logits.log_softmax(0) - self.log_variance.sum(dim=1) / 2
        return (_first(constant, distances) - distances / 2).log_softmax(0)


class FullyConnected(nn.Module):
    """The classifier of the ablation, with the methods of `Mixture`: ln P(. | x, y) = ln softmax(W [x ; y] + b).

    Source: Emma-X 2023, table 6, "FCN"; docs/papers.md#emma-x-linear-classifier.
    """

    def __init__(self, ranks: int, width: int):
        super().__init__()
        self.layer = nn.Linear(2 * width, ranks)

    def paired(self, x: Tensor, y: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            return self.layer(torch.cat([_whole(x), _whole(y)], dim=1)).T.log_softmax(0)

    def crossed(self, x: Tensor, y: Tensor, share: Tensor | None = None) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            x, y = _whole(x), _whole(y)
            first, second = self.layer.weight.chunk(2, dim=1)
            x_terms = functional.linear(x, first, self.layer.bias).T[:, :, None]
            other = (second @ y.T)[:, None]
            if share is not None:
                of_x = (second @ x.T)[:, :, None]
                other = of_x + share * (other - of_x)
            return (x_terms + other).log_softmax(0)


def _whole(vectors: Tensor) -> Tensor:
    """The vectors in float32 or better: log-odds are differences of large numbers."""
    return vectors if vectors.dtype == torch.float64 else vectors.float()


def _times(weighted: Tensor, y: Tensor) -> Tensor:
    """(N, B, D) times (Q, D) to (N, B, Q), in one product."""
    return (weighted.flatten(0, 1) @ y.T).unflatten(0, weighted.shape[:2])


def _first(values: Tensor, like: Tensor) -> Tensor:
    """(N,) to the shape (N, 1, ...) of as many dimensions as `like`."""
    return values.view(-1, *[1] * (like.ndim - 1))
