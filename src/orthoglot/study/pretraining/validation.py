"""How good an encoder in training is on held-out pairs: its losses, and whether translations find each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from orthoglot.encoders.base import HostCopy
from orthoglot.study.pretraining.model import PretrainingModel

RETRIEVAL_ROWS = 1000


def validate(
    model: PretrainingModel,
    batches: Iterable[tuple[np.ndarray, Any]],
    sizes: Sequence[int],
    *,
    dropout: bool = False,
) -> dict[str, float]:
    """Terms averaged over rows, `retrieval`, and `retrieval_error`, its standard error.

    Retrieval is P@1 in percent, higher is better: mean over language pairs and directions, each pair's first
    1,000 rows as candidates, cosine. See `retrieval`.

    Args:
        model: in eval mode.
        batches: rows of the validation pairs, and the batch that they make.
        sizes: rows of each language pair.
        dropout: leave it on, as the authors' code does.
    """
    model.train(dropout)
    sums: dict[str, float] = {}
    # Rows, terms and vectors of each batch: an accelerator is not waited for before the last one.
    made: list[tuple[np.ndarray, dict[str, Tensor], HostCopy]] = []
    for rows, batch in batches:
        terms, encoded = model.terms(batch)
        made.append((rows, terms, HostCopy(encoded.float())))
    assert made, "no validation batch"
    vectors: Tensor | None = None
    for rows, terms, copy in made:
        encoded = copy.wait()
        if vectors is None:
            vectors = torch.empty(2, sum(sizes), encoded.shape[1])
        vectors[:, torch.from_numpy(rows)] = encoded.view(2, len(rows), -1)
        for term, value in terms.items():
            sums[term] = sums.get(term, 0.0) + float(value) * len(rows)
    assert vectors is not None
    means = {term: value / sum(sizes) for term, value in sums.items()}
    found_first, error = retrieval(vectors, sizes)
    return {**means, "retrieval": found_first, "retrieval_error": error}


def retrieval(vectors: Tensor, sizes: Sequence[int]) -> tuple[float, float]:
    """P@1 over the vectors (2, N, D) of language pairs of these sizes, both directions, and its standard error.

    error = sqrt(sum over G language pairs of p (1 - p) / n) / G,  p their share found, n their rows

    Returns:
        Both in percent. The error is that of binomial shares; a row's two directions count as one draw.
    """
    firsts, variances = [], []
    for source, target in zip(*(side.split(list(sizes)) for side in vectors), strict=True):
        if not len(source):
            continue
        a, b = (functional.normalize(side[:RETRIEVAL_ROWS], dim=1) for side in (source, target))
        similarity = a @ b.T
        rows = torch.arange(len(similarity))
        both = [(similarity.argmax(dim=dim) == rows).double().mean() for dim in (0, 1)]
        share = torch.stack(both).mean()
        firsts += both
        variances.append(share * (1 - share) / len(rows))
    error = torch.stack(variances).sum().sqrt() / len(variances)
    return 100 * float(torch.stack(firsts).mean()), 100 * float(error)
