"""What is trained: a network with a head, its loss and its predictions, for each form of training data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from orthoglot.study.finetuning.network import Network
from orthoglot.study.finetuning.settings import DROPOUT

# Standard deviation of the weights of a new linear map, as in BERT and XLM-R, and the first scale of cosines.
SPREAD, SCALE = 0.02, 100.0


class Batch(NamedTuple):
    """Some items."""

    ids: Sequence[Tensor]  # of each input of an item, (B, T): one, one for each choice, or both texts
    # (B, T), 1 where the second text of each input is, 0 elsewhere; None for an input with one text
    seconds: Sequence[Tensor | None]
    targets: Tensor  # (B,) or (B, C)


class Tuned(nn.Module, ABC):
    """A network with a head; all weights of both are trained. Matrix products may work in "bfloat16"."""

    def __init__(self, network: Network, precision: str) -> None:
        super().__init__()
        self.network = network
        self.precision = precision

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """{"total": mean over the items}."""
        return {"total": self.predicted(batch)[0]}

    def predicted(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The loss and the scores (B, C) or (B,)."""
        with torch.autocast(
            batch.targets.device.type, dtype=torch.bfloat16, enabled=self.precision == "bfloat16"
        ):
            scores = self.scores(batch)
        scores = scores.float()
        return self.compared(scores, batch.targets), scores

    @abstractmethod
    def scores(self, batch: Batch) -> Tensor:
        """What is compared with the targets."""

    def compared(self, scores: Tensor, targets: Tensor) -> Tensor:
        """The loss, a scalar: cross-entropy of labels, unless a head has another."""
        return functional.cross_entropy(scores, targets)


class Classifier(Tuned):
    """A label of an input: dropout, D -> D with tanh, dropout, D -> C on its first state, and cross-entropy.

    XLM-R's classification has this head. With `several`, each of the C labels is a question of its own: the loss is the
    mean binary cross-entropy of sigmoids.

    Source: docs/papers.md#fine-tuning.
    """

    def __init__(self, network: Network, precision: str, labels: int, *, several: bool = False) -> None:
        super().__init__(network, precision)
        self.several = several
        self.head = nn.Sequential(
            nn.Dropout(DROPOUT),
            _new(network.dim, network.dim),
            nn.Tanh(),
            nn.Dropout(DROPOUT),
            _new(network.dim, labels),
        )

    def scores(self, batch: Batch) -> Tensor:
        """(B, C) logits."""
        return self.head(self.network.first(batch.ids[0], batch.seconds[0]))

    def compared(self, scores: Tensor, targets: Tensor) -> Tensor:
        if self.several:
            return functional.binary_cross_entropy_with_logits(scores, targets)
        return super().compared(scores, targets)


class Chooser(Classifier):
    """One of n alternatives: `Classifier` with one output on each, and cross-entropy of their softmax."""

    def __init__(self, network: Network, precision: str) -> None:
        super().__init__(network, precision, labels=1)

    def scores(self, batch: Batch) -> Tensor:
        """(B, n) logits."""
        pairs = zip(batch.ids, batch.seconds, strict=True)
        return torch.cat([self.head(self.network.first(ids, second)) for ids, second in pairs], dim=1)


class Similarity(Tuned):
    """Cosine of two sentence vectors against a gold in [0, 1]: mean squared error.

    Source: docs/papers.md#fine-tuning.
    """

    def scores(self, batch: Batch) -> Tensor:
        """(B,) cosines."""
        u, v = (self.network(ids).float() for ids in batch.ids)
        return functional.cosine_similarity(u, v)

    def compared(self, scores: Tensor, targets: Tensor) -> Tensor:
        return functional.mse_loss(scores, targets)


class Inference(Tuned):
    """A label of two sentence vectors: a linear map of [u, v, |u - v|] to C labels, and cross-entropy.

    Source: docs/papers.md#fine-tuning.
    """

    def __init__(self, network: Network, precision: str, labels: int) -> None:
        super().__init__(network, precision)
        self.head = _new(3 * network.width, labels)

    def scores(self, batch: Batch) -> Tensor:
        """(B, C) logits."""
        u, v = (self.network(ids) for ids in batch.ids)
        return self.head(torch.cat([u, v, (u - v).abs()], dim=1))


class Retrieval(Tuned):
    """Each question's answer among those of the batch: softmax over cosines, times a trained scale that starts at 100.

    The same answer elsewhere in the batch is no wrong one: it is left out.

    Source: docs/papers.md#fine-tuning.
    """

    def __init__(self, network: Network, precision: str) -> None:
        super().__init__(network, precision)
        self.scale = nn.Parameter(torch.tensor(SCALE))

    def scores(self, batch: Batch) -> Tensor:
        """(B, B): question i, answer j."""
        u, v = (functional.normalize(self.network(ids).float(), dim=1) for ids in batch.ids)
        return self.scale * (u @ v.T)

    def compared(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Targets (B,) are numbers of the answers; see `Tuned.compared`."""
        places = torch.arange(len(scores), device=scores.device)
        again = (targets[:, None] == targets[None, :]) & (places[:, None] != places[None, :])
        return functional.cross_entropy(scores.masked_fill(again, -torch.inf), places)


def _new(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=SPREAD)
    nn.init.zeros_(layer.bias)
    return layer
