"""Emma-X: an encoder and a classifier of relatedness that label pairs of sentences for each other.

Ranks run from 1 (paraphrase) to N (unrelated), as in the paper; the authors' code counts N - 1 down to 0.
"""

from __future__ import annotations

from itertools import accumulate

import torch
from torch import Tensor


def temperatures(ranks: int, lowest: float, highest: float) -> Tensor:
    """tau_1 to tau_(N-1), evenly from lowest to highest; tau_1 alone is the lowest.

    Source: the authors' code takes 0.05 to 0.1; docs/papers.md#emma-x-temperatures.
    """
    return torch.linspace(lowest, highest, ranks - 1)


def info_nce(similarity: Tensor, positives: Tensor, temperature: float, valid: Tensor) -> Tensor:
    """Each anchor picks its translation's key among all valid candidates.

    L = -mean_i ln [ e^(S_ip / T) / sum_(k valid) e^(S_ik / T) ]

    Args:
        similarity: S, cosines (B, Q).
        positives: p, the column of each row's translation (B,).
        temperature: T > 0.
        valid: Which candidates count (B, Q); an anchor's own key does not.
    Returns:
        A scalar >= 0, in nats.
    Source: Emma-X Eq. 2, with MoCo's queue; docs/papers.md#emma-x-infonce.
    """
    logits = _masked(similarity / temperature, valid)
    return (logits.logsumexp(dim=1) - logits.gather(1, positives[:, None])[:, 0]).mean()


def ranking_info_nce(similarity: Tensor, ranks: Tensor, temperatures: Tensor, valid: Tensor) -> Tensor:
    """Candidates of each rank are to lie closer to the anchor than those of the ranks after it.

    L_r = -(1 / B) sum_i ln [ sum_(k: c_ik = r) e^(S_ik / T_r) / sum_(k: c_ik >= r) e^(S_ik / T_r) ],  r < N

    An anchor without candidates of a rank adds nothing to its term. The authors' code has the mean in the numerator:
    the same gradient.

    Args:
        similarity: S, cosines (B, Q).
        ranks: c (B, Q), 1 to N.
        temperatures: T (N - 1,).
        valid: Which candidates count (B, Q).
    Returns:
        L_1 to L_(N-1), nats, each >= 0; the loss is their sum.
    Source: Emma-X Eq. 7; docs/papers.md#emma-x-ranking.
    """
    terms = []
    for rank, temperature in enumerate(temperatures, start=1):
        logits, at_rank = similarity / temperature, valid & (ranks == rank)
        among = _masked(logits, valid & (ranks >= rank)).logsumexp(dim=1)
        terms.append(
            torch.where(at_rank.any(dim=1), among - _masked(logits, at_rank).logsumexp(dim=1), 0.0).mean()
        )
    return torch.stack(terms)


def _masked(logits: Tensor, keep: Tensor) -> Tensor:
    """Logits, the others replaced by a number that adds nothing and has a finite gradient."""
    return torch.where(keep, logits, torch.finfo(logits.dtype).min / 4)


def smoothed_nll(log_posterior: Tensor, ranks: Tensor, smoothing: float = 0.0) -> Tensor:
    """How badly a classifier foresees ranks: cross-entropy, with a share of it spread over the other ranks.

    -[(1 - s) ln P(c) + s / (N - 1) sum_(r != c) ln P(r)]

    Args:
        log_posterior: ln P, ranks first (N, ...).
        ranks: c (...), 1 to N.
        smoothing: s in [0, 1).
    Returns:
        (...), nats, >= 0.
    Source: docs/papers.md#emma-x-smoothing.
    """
    label = log_posterior.gather(0, (ranks - 1)[None])[0]
    if not smoothing:
        return -label
    rest = (log_posterior.sum(dim=0) - label) / (len(log_posterior) - 1)
    return -(1 - smoothing) * label - smoothing * rest


def encoder_votes(similarity: Tensor, scores: Tensor) -> Tensor:
    """The rank whose score s (N,) is nearest to the cosine S (...): argmin_r |S - s_r|, the first of equals.

    Source: Emma-X Eq. 10; docs/papers.md#emma-x-encoder-vote.
    """
    best = torch.ones_like(similarity, dtype=torch.int64)
    nearest = (similarity - scores[0]).abs()
    for rank, score in enumerate(scores[1:], start=2):
        distance = (similarity - score).abs()
        closer = distance < nearest
        best, nearest = best.masked_fill(closer, rank), torch.where(closer, distance, nearest)
    return best


def classifier_votes(log_posterior: Tensor) -> Tensor:
    """The most probable rank: argmax_r P(r | x, y); (N, ...) to (...).

    Source: Emma-X Eq. 9, docs/papers.md#emma-x-classifier-vote.
    """
    return log_posterior.argmax(dim=0) + 1


def mixup_ranks(shares: Tensor, ranks: int) -> Tensor:
    """The rank of a virtual example (1 - l) y + l y' between a translation y and another sentence y'.

    r = ceil((1 - l) 1 + l N), l in [0, 1]: 1 only where l = 0, else 2 to N, each equally often where l is uniform.
    Source: Emma-X Eq. 3; docs/papers.md#emma-x-virtual-examples.
    """
    return ((1 - shares) + shares * ranks).ceil().long().clamp(1, ranks)


def prior_ranks(shares: Tensor, prior: Tensor) -> Tensor:
    """The authors' code's rank of a mixture t y + (1 - t) x of a candidate and the anchor itself.

    The probabilities of the prior (N,) divide [0, 1] into N intervals, of rank 1 first; the rank is that of the
    interval of t.
    Source: docs/papers.md#emma-x-virtual, docs/papers.md#emma-x-virtual-rank.
    """
    # CUDA has no deterministic algorithm for a cumulative sum. On a CPU it adds up in float64, too.
    ends = torch.stack(list(accumulate(prior.double())))[:-1].to(prior.dtype)
    return torch.bucketize(shares, ends, right=True) + 1


def mixed_cosine(similarity: Tensor, shares: Tensor) -> Tensor:
    """Cosine of a unit vector x and (1 - t) x + t y, from S = x y and t: ((1 - t) + t S) / |(1 - t) x + t y|.

    Source: docs/papers.md#emma-x-virtual-rank.
    """
    own_share = 1 - shares
    squared = own_share.square() + shares.square() + 2 * own_share * shares * similarity
    return (own_share + shares * similarity) / squared.clamp_min(torch.finfo(squared.dtype).tiny).sqrt()


def rank_sums(similarity: Tensor, ranks: Tensor, count: int, valid: Tensor) -> Tensor:
    """Sum of cosines and number of pairs of each rank, (2, N) float64; those of several processes add up.

    Args:
        similarity: Cosines (B, Q).
        ranks: Votes (B, Q), 1 to N.
        count: N.
        valid: Which pairs count (B, Q).
    Source: docs/papers.md#emma-x-score-update.
    """
    places = torch.where(valid, ranks - 1, count).flatten()
    values = torch.stack([similarity.flatten(), torch.ones_like(similarity).flatten()]).double()
    return values.new_zeros(2, count + 1).index_add_(1, places, values)[:, :count]


def moved_scores(scores: Tensor, sums: Tensor, momentum: float) -> Tensor:
    """Scores after a batch: s_r <- e s_r + (1 - e) (mean cosine of the pairs of rank r); absent ranks keep theirs.

    Args:
        scores: s (N,).
        sums: See `rank_sums`.
        momentum: e in [0, 1].
    Source: Emma-X Eq. 11, in the code's reading: a mean over the batch; docs/papers.md#emma-x-scores,
    docs/papers.md#emma-x-score-update.
    """
    total, pairs = sums.to(scores.dtype)
    moved = momentum * scores + (1 - momentum) * total / pairs.clamp_min(1)
    return torch.where(pairs > 0, moved, scores)


def first_scores(ranks: int) -> Tensor:
    """s_r = (N + 1 - r) / N: the nearer the rank, the higher. The paper's r / N has it the other way round.

    Source: docs/papers.md#emma-x-first-scores.
    """
    return (ranks - torch.arange(ranks)) / ranks
