"""How good an encoder in training is on held-out pairs: its losses, and whether translations find each other."""

from __future__ import annotations

from collections import defaultdict
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
    """Terms averaged over rows; `retrieval` and `retrieval_error`, of each language pair's first 1,000 rows.

    Args:
        model: What is measured; with `dropout` it is on, as in the authors' code.
        batches: Rows of the validation pairs, and the batch that they make.
        sizes: Rows of each language pair.
    """
    model.train(dropout)
    # Rows, terms and vectors of each batch: an accelerator is not waited for before the last one.
    made: list[tuple[np.ndarray, dict[str, Tensor], HostCopy]] = []
    for rows, batch in batches:
        terms, encoded = model.terms(batch)
        made.append((rows, terms, HostCopy(encoded.float())))
    assert made, "no validation batch"
    vectors = torch.empty(2, sum(sizes), made[0][2].wait().shape[1])
    sums: defaultdict[str, float] = defaultdict(float)
    for rows, terms, copy in made:
        vectors[:, torch.from_numpy(rows)] = copy.wait().view(2, len(rows), -1)
        for term, value in terms.items():
            sums[term] += float(value) * len(rows)
    means = {term: value / sum(sizes) for term, value in sums.items()}
    share, error = retrieval(vectors, sizes)
    return {**means, "retrieval": share, "retrieval_error": error}


def retrieval(vectors: Tensor, sizes: Sequence[int]) -> tuple[float, float]:
    """P@1 by cosine in percent, higher is better, and its standard error in percent.

    P@1 is the mean over language pairs of these sizes, and both directions, of the vectors (2, N, D). The first 1,000
    rows of a pair are its candidates.

    error = sqrt(sum over G language pairs of p (1 - p) / n) / G,  p their share found, n their rows

    It is the error of binomial shares; a row's two directions count as one draw.
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
