"""Bags of tokens as sparse targets, and how far predictions over the vocabulary are from them.

No (rows, vocabulary) matrix outlives its chunk: not the targets, not the logits, not their gradient.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from orthoglot.encoders.base import placed
from orthoglot.encoders.compiled import compiled

Reading = Literal["counts", "distinct"]
# Logits that exist at once: 64 MiB in float32.
LOGITS_AT_ONCE = 2**24


class Bags(NamedTuple):
    """p(w) of R rows, as the K places where it is not 0, row after row."""

    # the places of row i are offsets[i] : offsets[i + 1]; (R + 1,) int64, always in host memory
    offsets: np.ndarray
    rows: Tensor  # their rows (K,) int64, in order
    tokens: Tensor  # their ids (K,) int64; no row has an id twice but one whose p is 0
    weights: Tensor  # their p (K,) float64
    entropy: Tensor  # -sum_w p(w) ln p(w) of each row (R,) float64, nats
    mass: Tensor  # sum_w p(w) of each row (R,) float64; 1 but for `distinct` bags with repeats

    def to(self, device: torch.device) -> Bags:
        """The same with its tensors on a device."""
        return Bags(self.offsets, *(placed(tensor, device) for tensor in self[1:]))

    def filled(self, multiple: int) -> Bags:
        """The same with a multiple of so many places: another token's of the last row, whose p is 0, is repeated."""
        more = -len(self.rows) % multiple
        last = self.tokens[self.offsets[-2] :].tolist()
        other = next(token for token in range(len(last) + 1) if token not in last)
        return self._replace(
            offsets=np.append(self.offsets[:-1], len(self.rows) + more),
            rows=torch.cat([self.rows, torch.full((more,), len(self.offsets) - 2)]),
            tokens=torch.cat([self.tokens, torch.full((more,), other)]),
            weights=torch.cat([self.weights, self.weights.new_zeros(more)]),
        )


def bags_of(
    tokens: np.ndarray, lengths: np.ndarray, reading: Reading = "counts", hidden: np.ndarray | None = None
) -> Bags:
    """The bag of each row of tokens.

    counts:   p(w) = N_w / T, a distribution
    distinct: p(w) = 1 / T for each w that occurs, whose mass is less than 1 where tokens repeat
    with a hidden token h: p <- (p + [w = h]) / 2, which adds where h occurs in the row

    Args:
        tokens: Ids of all rows, one row after the other (sum of T,).
        lengths: T of each row (R,), at least 1.
        reading: How repeated tokens count; `distinct` is the authors' code (docs/papers.md#ems-repeated-tokens).
        hidden: The id of a token that each row is to predict as well, -1 for none (R,); None if no row has one.
    Source: EMS Eq. 7, and UGT, which has no number; docs/papers.md#ems-target, docs/papers.md#ems-ugt.
    """
    rows = np.repeat(np.arange(len(lengths)), lengths)
    width = int(max(tokens.max(initial=0), -1 if hidden is None else hidden.max(initial=0))) + 1
    # One sort groups a row's equal tokens, and leaves the groups row after row.
    places, counts = np.unique(rows * width + tokens, return_counts=True)
    rows, ids = np.divmod(places, width)
    weights = (counts if reading == "counts" else np.ones(len(counts))) / lengths[rows]
    if hidden is not None:
        drawn = np.flatnonzero(hidden >= 0)
        weights = np.where(hidden[rows] >= 0, weights / 2, weights)
        extra = drawn * width + hidden[drawn]
        places, order = np.unique(np.concatenate([places, extra]), return_inverse=True)
        weights = np.bincount(order, np.concatenate([weights, np.full(len(drawn), 0.5)]))
        rows, ids = np.divmod(places, width)

    def of_rows(values: np.ndarray) -> np.ndarray:
        return np.bincount(rows, values, minlength=len(lengths))

    return Bags(
        offsets=np.searchsorted(rows, np.arange(len(lengths) + 1)),
        rows=torch.from_numpy(rows),
        tokens=torch.from_numpy(ids.astype(np.int64)),
        weights=torch.from_numpy(weights),
        entropy=torch.from_numpy(of_rows(-weights * np.log(weights))),
        mass=torch.from_numpy(of_rows(weights)),
    )


def divergence(states: Tensor, output: Tensor, bags: Bags, products: torch.dtype | None = None) -> Tensor:
    """Sum over rows of KL(p || q), the prediction q being a softmax over the vocabulary.

    KL_i = mass_i logsumexp(z_i) - sum_k p_ik z_ik - H(p_i),  z = states output^T

    Args:
        states: The states of the head (R, J).
        output: Its output embedding (V, J).
        bags: p of the R rows.
        products: The type of the matrix products, e.g. bfloat16; None leaves that of `states`. The softmax works in
            float32 or better in any case.
    Returns:
        A scalar in nats; at least 0 for bags of mass 1, and 0 when every prediction is its bag. Its gradient is made
        on the way, chunk by chunk, and cannot be differentiated again. A GPU makes all of it at once if its products
        are rounded.
    Source: EMS Eq. 6; docs/papers.md#ems-xtr.
    """
    # Within the function PyTorch's own switch is always off.
    wanted = torch.is_grad_enabled() and (states.requires_grad or output.requires_grad)
    return _Divergence.apply(states, output, bags, products, wanted)


class _Divergence(torch.autograd.Function):
    """Softmax cross-entropy with sparse targets whose gradient is made while the logits are there."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, output: Tensor, bags: Bags, products: torch.dtype | None, wanted: bool
    ) -> Tensor:
        if wanted and products is not None and states.device.type != "cpu":
            with torch.autocast(states.device.type, enabled=False):
                value, *gradients = _at_once(states, output, bags, products)
            ctx.save_for_backward(*gradients)
            return value
        total = states.new_zeros(())
        by_states = torch.empty_like(states) if wanted else None
        by_output = torch.zeros_like(output) if wanted else None
        size = max(1, LOGITS_AT_ONCE // len(output))
        with torch.autocast(states.device.type, enabled=False):
            matrix = output if products is None else output.to(products)
            for first in range(0, len(states), size):
                rows = slice(first, min(first + size, len(states)))
                x = states[rows].to(matrix.dtype)
                z = x @ matrix.T
                z = z if products is None else z.float()
                span = slice(int(bags.offsets[rows.start]), int(bags.offsets[rows.stop]))
                places = (bags.rows[span] - first) * len(output) + bags.tokens[span]
                mass, weights = bags.mass[rows].to(z.dtype), bags.weights[span].to(z.dtype)
                normaliser, flat = z.logsumexp(dim=1), z.view(-1)
                total += mass @ normaliser - weights @ flat[places] - bags.entropy[rows].sum()
                if by_states is None or by_output is None:
                    continue
                # d KL / d z = mass q - p, written over the logits
                z.sub_(normaliser[:, None]).exp_().mul_(mass[:, None])
                flat.index_add_(0, places, -weights)
                slope = z.to(matrix.dtype)
                by_states[rows] = slope @ matrix
                if products is None:
                    by_output.addmm_(slope.T, x)
                else:
                    by_output += slope.T @ x
        ctx.save_for_backward(by_states, by_output)
        return total

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        by_states, by_output = ctx.saved_tensors
        return by_states * slope, by_output * slope, None, None, None


def _at_once(
    states: Tensor, output: Tensor, bags: Bags, products: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """The divergence and its gradients, for which a GPU keeps no logit but in the type of the products.

    Not measured on a GPU.
    """
    on_cpu, compiles = states.device.type == "cpu", states.is_cuda
    matrix, x = output.to(products), states.to(products)
    z = x @ matrix.T
    mass, weights = bags.mass.to(states.dtype), bags.weights.to(states.dtype)
    normaliser = (_compiled_normaliser if compiles else _normaliser)(z, mass)
    expected = z[bags.rows, bags.tokens].to(states.dtype)
    total = mass @ normaliser - weights @ expected - bags.entropy.sum()
    # d KL / d z = mass q - p, with the places where p is not 0 made anew so that they are rounded once
    slope = (_compiled_slope if compiles else _slope)(z, normaliser, mass)
    there = (expected - normaliser[bags.rows]).exp() * mass[bags.rows] - weights
    slope[bags.rows, bags.tokens] = there.to(products)
    # A CPU has no product that adds up in float32 and leaves it so.
    by_output = (slope.T @ x).to(output.dtype) if on_cpu else torch.mm(slope.T, x, out_dtype=output.dtype)
    return total.to(states.dtype), (slope @ matrix).to(states.dtype), by_output


def _normaliser(z: Tensor, mass: Tensor) -> Tensor:
    """The logsumexp of each row (R,), in the type of `mass`."""
    return z.to(mass.dtype).logsumexp(dim=1)


def _slope(z: Tensor, normaliser: Tensor, mass: Tensor) -> Tensor:
    """The mass times the softmax (R, V), in the type of the logits."""
    return ((z - normaliser[:, None]).exp() * mass[:, None]).to(z.dtype)


_compiled_normaliser, _compiled_slope = compiled(_normaliser), compiled(_slope)
