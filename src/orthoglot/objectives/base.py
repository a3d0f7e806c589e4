"""What a loss term is given, and how named terms become one objective.

Letters of the whole project: B rows of a batch, N rows of a corpus, D embedding size, K languages, T tokens,
V vocabulary.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from orthoglot.decomposers.base import Decomposition
from orthoglot.objectives import TERMS
from orthoglot.objectives.cosine import Dots, Rows, Sum, mean_weights

Term = Callable[["Pairs"], Tensor]
Streams = torch.Generator | Sequence[torch.Generator]


@dataclass(frozen=True)
class Pairs:
    """A batch of B translations: row i of the source side and row i of the target side mean the same.

    Both sides lie in one tensor, the source's B rows first, so that each operation serves both. Models that are
    trained together have batches of their own: then every shape has a first dimension S.

    Attributes:
        parts: sentence, meaning and language vectors, each (..., 2B, D), not normalised.
        language_id: (..., 2B) integers in [0, K).
        other: (..., 2B) row of the same side whose meaning differs, counted among all 2B, or -1 for none.
        peer: (..., 2B) another row of the same side and, under most partner rules, the same language, likewise.
        active: (..., B) booleans, the pairs that the host terms (DREAM, MEAT, SEED) average over.
        n_languages: K.
    """

    parts: Decomposition
    language_id: Tensor
    other: Tensor
    peer: Tensor
    active: Tensor
    n_languages: int

    @cached_property
    def sentence(self) -> Sum:
        """Sentence vectors."""
        return Sum((Rows(self.parts.sentence),))

    @cached_property
    def meaning(self) -> Sum:
        """Meaning vectors."""
        return Sum((Rows(self.parts.meaning),))

    @cached_property
    def language(self) -> Sum:
        """Language vectors."""
        return Sum((Rows(self.parts.language),))

    def of_other(self, rows: Sum) -> Sum:
        """For each row that of its `other`; some row or other where there is none."""
        return rows.at(self._other_places)

    def of_peer(self, rows: Sum) -> Sum:
        """For each row that of its `peer`; some row or other where there is none."""
        return rows.at(self._peer_places)

    def of_translation(self, rows: Sum) -> Sum:
        """For each row that of its translation, on the other side."""
        return rows.at(self._translation_places)

    @cached_property
    def dots(self) -> Dots:
        """Dot products of this batch, shared by all terms."""
        return Dots()

    def cosine(self, a: Sum, b: Sum) -> Tensor:
        """Cosine of matching rows (..., 2B), in [-1, 1]; 0 where a row is zero."""
        return self.dots.cosine(a, b)

    def pull(self, a: Sum, b: Sum) -> Tensor:
        """1 - cos(a, b), (..., 2B) in [0, 2]: attraction (methods 2, D+)."""
        return 1 - self.cosine(a, b)

    def push(self, a: Sum, b: Sum) -> Tensor:
        """max(0, cos(a, b)), (..., 2B) in [0, 1]: repulsion up to orthogonality (methods 2, D-)."""
        return self.cosine(a, b).clamp(min=0)

    def mean(self, values: Tensor) -> Tensor:
        """Mean of values (..., 2B) over the active rows of each side, both sides' summed, (...); 0 if none is."""
        return (values * self._active_weights).sum(dim=-1)

    def mean_of_all(self, values: Tensor) -> Tensor:
        """Mean of values (..., 2B) over all rows of each side, both sides' summed, (...)."""
        return 2 * values.mean(dim=-1)

    def mean_with_other(self, values: Tensor) -> Tensor:
        """Mean over the rows of each side that have an `other`, both sides' summed, (...); 0 where none has."""
        return (values * self._other_weights).sum(dim=-1)

    def mean_with_peer(self, values: Tensor) -> Tensor:
        """Mean over the rows of each side that have a `peer`, both sides' summed, (...); 0 where none has."""
        return (values * self._peer_weights).sum(dim=-1)

    @cached_property
    def _starts(self) -> Tensor:
        """(..., 1) place of each model's first row among the rows of all models."""
        n = self.language_id.shape[-1]
        models = self.language_id.numel() // max(n, 1)
        starts = torch.arange(models, device=self.language_id.device) * n
        return starts.view(*self.language_id.shape[:-1], 1)

    @cached_property
    def _other_places(self) -> Tensor:
        return self._places_of(self.other)

    @cached_property
    def _peer_places(self) -> Tensor:
        return self._places_of(self.peer)

    def _places_of(self, rows: Tensor) -> Tensor:
        return (rows.clamp(min=0) + self._starts).reshape(-1)

    @cached_property
    def _translation_places(self) -> Tensor:
        n = self.language_id.shape[-1]
        return (torch.arange(n, device=self._starts.device).roll(n // 2) + self._starts).reshape(-1)

    @cached_property
    def _active_weights(self) -> Tensor:
        return mean_weights(torch.cat([self.active, self.active], dim=-1), self.parts.sentence.dtype)

    @cached_property
    def _other_weights(self) -> Tensor:
        return mean_weights(self.other >= 0, self.parts.sentence.dtype)

    @cached_property
    def _peer_weights(self) -> Tensor:
        return mean_weights(self.peer >= 0, self.parts.sentence.dtype)


@runtime_checkable
class Opponent(Protocol):
    """A term with parameters that pursue a loss of their own, in an update of their own."""

    def discriminate(self, pairs: Pairs) -> Tensor:
        """That loss; its gradient must not reach the maps."""
        ...

    def parameters(self) -> Iterator[nn.Parameter]:
        """What that update changes."""
        ...


def cross_entropy(logits: Tensor, language_id: Tensor) -> Tensor:
    """-log softmax(logits)_y by row, (..., B, K) and (..., B) -> (..., B), nats."""
    return -torch.log_softmax(logits, dim=-1).gather(-1, language_id.unsqueeze(-1)).squeeze(-1)


def resolve(name: str) -> Any:
    """The function or module class that `TERMS` names."""
    module, attribute = TERMS[name].split(":")
    return getattr(importlib.import_module(f"orthoglot.objectives.{module}"), attribute)


class Objective(nn.Module):
    """Named terms and their weights; owns the heads that only training needs.

    total = sum of weight * term, one value per model. A term is a function of `Pairs`, or a module when it has
    parameters.

    Args:
        weights: weight by term name, as `check_method` accepts them.
        dim: D.
        n_languages: K, for heads that tell languages apart.
        generator: of the heads' initial weights; several make a stack of models, one generator each.
    """

    def __init__(
        self, weights: Mapping[str, float], *, dim: int, n_languages: int, generator: Streams
    ) -> None:
        super().__init__()
        self.weights = dict(weights)
        self.terms: dict[str, Term] = {}
        # Term names hold a dot, which a ModuleDict refuses; the list registers the parameters.
        self.modules_of_terms = nn.ModuleList()
        for name in self.weights:
            term = resolve(name)
            if isinstance(term, type):
                term = term(dim=dim, n_languages=n_languages, generator=generator)
                self.modules_of_terms.append(term)
            self.terms[name] = term

    def forward(self, pairs: Pairs) -> dict[str, Tensor]:
        """Every term unweighted, and `total`."""
        values = {name: term(pairs) for name, term in self.terms.items()}
        total = torch.stack([self.weights[name] * value for name, value in values.items()]).sum(dim=0)
        return {**values, "total": total}

    def opponents(self) -> list[Opponent]:
        """Modules that are trained against the maps (MEAT's discriminator)."""
        return [module for module in self.modules_of_terms if isinstance(module, Opponent)]

    def heads(self) -> list[nn.Parameter]:
        """Parameters trained together with the maps (DREAM's language head)."""
        own = [module for module in self.modules_of_terms if not isinstance(module, Opponent)]
        return [parameter for module in own for parameter in module.parameters()]
