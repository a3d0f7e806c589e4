"""What a loss term gets, and how named terms become one objective.

Letters of the whole project: B pairs of a batch, N rows of a corpus, D embedding size, K languages, T tokens,
V vocabulary.
"""

from __future__ import annotations

import copy
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Generator, Tensor, nn

from orthoglot.decomposers.base import Decomposition
from orthoglot.decomposers.modules import StackedLinear
from orthoglot.objectives import TERMS
from orthoglot.objectives.cosine import Vectors, lazy

Term = Callable[["Pairs"], Tensor]


@dataclass(frozen=True)
class Pairs:
    """A batch of B translations: row i of the source side and row i of the target side mean the same.

    Both sides are in one tensor, the B source rows first, so that each operation serves both. Batches of G trainings
    may follow each other: G times 2B rows, numbered through. Then `active` is (G, B), and each mean is (G,).
    """

    parts: Decomposition  # sentence, meaning and language vectors, each (2B, D), not normalised
    language_id: Tensor  # (2B,) integers in [0, K)
    # (2B,) a row of the same side with another meaning, numbered among all 2B rows; -1 for none
    other: Tensor
    # (2B,) another row of the same side and, under most partner rules, of the same language; -1 for none
    peer: Tensor
    # (B,) or (G, B) booleans, the pairs over which the terms of DREAM, MEAT and SEED average
    active: Tensor
    n_languages: int  # K

    @lazy
    def sentence(self) -> Vectors:
        """Sentence vectors."""
        return Vectors(self.parts.sentence)

    @lazy
    def meaning(self) -> Vectors:
        """Meaning vectors."""
        return Vectors(self.parts.meaning)

    @lazy
    def language(self) -> Vectors:
        """Language vectors."""
        return Vectors(self.parts.language)

    def of_other(self, vectors: Vectors) -> Vectors:
        """The vector of each row's `other`; an arbitrary one where there is none."""
        return vectors[self._others]

    def of_peer(self, vectors: Vectors) -> Vectors:
        """The vector of each row's `peer`; an arbitrary one where there is none."""
        return vectors[self._peers]

    def of_translation(self, vectors: Vectors) -> Vectors:
        """The vector of each row's translation, on the other side."""
        return vectors[self._translations]

    def by_training(self, rows: Tensor) -> Tensor:
        """Rows (2B, ...) as they are, those of G trainings as (G, 2B, ...)."""
        return rows if self.active.dim() == 1 else rows.unflatten(0, (len(self.active), -1))

    def sides(self, rows: Tensor) -> Tensor:
        """Rows (2B, ...) as (2, B, ...), those of G trainings as (G, 2, B, ...)."""
        return rows.unflatten(0, (*self.active.shape[:-1], 2, -1))

    def mean(self, values: Tensor) -> Tensor:
        """Sum over the two sides of the mean over active rows of values (2B,); 0 if no row is active."""
        return self._sum(values, self._active_weights)

    def mean_of_all(self, values: Tensor) -> Tensor:
        """Sum over the two sides of the mean over all rows of values (2B,)."""
        return 2 * self.by_training(values).mean(dim=-1)

    def mean_with_other(self, values: Tensor) -> Tensor:
        """Sum over the two sides of the mean over rows with an `other` of values (2B,); 0 for a side without."""
        return self._sum(values, self._other_weights)

    def mean_with_peer(self, values: Tensor) -> Tensor:
        """Sum over the two sides of the mean over rows with a `peer` of values (2B,); 0 for a side without."""
        return self._sum(values, self._peer_weights)

    def _sum(self, values: Tensor, weights: Tensor) -> Tensor:
        return torch.linalg.vecdot(self.by_training(values), self.by_training(weights))

    @lazy
    def _others(self) -> Tensor:
        return self.other.clamp(min=0)

    @lazy
    def _peers(self) -> Tensor:
        return self.peer.clamp(min=0)

    @lazy
    def _translations(self) -> Tensor:
        rows = torch.arange(len(self.language_id), device=self.language_id.device)
        return self.by_training(rows).roll(self.active.shape[-1], dims=-1).flatten()

    @lazy
    def _active_weights(self) -> Tensor:
        return self._weights(torch.stack([self.active, self.active], dim=-2).flatten())

    @lazy
    def _other_weights(self) -> Tensor:
        return self._weights(self.other >= 0)

    @lazy
    def _peer_weights(self) -> Tensor:
        return self._weights(self.peer >= 0)

    def _weights(self, chosen: Tensor) -> Tensor:
        """Weights (2B,) with which values sum to the means over the chosen rows of each side, added."""
        sides = self.sides(chosen.to(self.parts.sentence.dtype))
        return (sides / sides.sum(dim=-1, keepdim=True).clamp(min=1)).flatten()


@runtime_checkable
class Adversary(Protocol):
    """A term whose parameters minimise another loss, in an update that precedes that of the maps."""

    def discriminate(self, pairs: Pairs) -> Tensor:
        """The adversary's loss; its gradient must not reach the maps."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """What the adversary's update changes."""


def resolve(name: str) -> Any:
    """The function or module class that `TERMS` names."""
    return pkgutil.resolve_name(f"orthoglot.objectives.{TERMS[name]}")


class Objective(nn.Module):
    """total = sum of weight * term. Owns the heads and discriminators that only training needs.

    A term is a function of `Pairs`, or a module if it has parameters. `weights` are those that `check_method` accepts;
    the generator draws the initial weights.

    Source: DREAM Eq. 6, docs/papers.md#dream-6.
    """

    def __init__(
        self, weights: Mapping[str, float], *, dim: int, n_languages: int, generator: Generator
    ) -> None:
        super().__init__()
        self.weights: dict[str, Any] = dict(weights)
        self.terms: dict[str, Term] = {}
        # A ModuleDict refuses the dot in a term's name; the list registers the parameters.
        self.modules_of_terms = nn.ModuleList()
        for name in self.weights:
            term = resolve(name)
            if isinstance(term, type):
                term = term(dim=dim, n_languages=n_languages, generator=generator)
                self.modules_of_terms.append(term)
            self.terms[name] = term

    def forward(self, pairs: Pairs) -> dict[str, Tensor]:
        """Every term, unweighted, and `total`; scalars, of G trainings (G,)."""
        values = {name: term(pairs) for name, term in self.terms.items()}
        total = torch.stack([self.weights[name] * value for name, value in values.items()]).sum(dim=0)
        return {**values, "total": total}

    def adversaries(self) -> list[Adversary]:
        """Modules that are trained against the maps (MEAT's discriminator)."""
        return [module for module in self.modules_of_terms if isinstance(module, Adversary)]

    def heads(self) -> list[nn.Parameter]:
        """Parameters that are trained together with the maps (DREAM's language head)."""
        heads = [module for module in self.modules_of_terms if not isinstance(module, Adversary)]
        return [parameter for module in heads for parameter in module.parameters()]


class StackedObjective(Objective):
    """The objectives of G trainings on `Pairs` of all of them: each value is (G,), the parameters remain theirs.

    A term that a training does not have has the weight 0 there.
    """

    def __init__(self, objectives: Sequence[Objective], device: torch.device) -> None:
        nn.Module.__init__(self)
        self.weights, self.terms, self.modules_of_terms = {}, {}, nn.ModuleList()
        for name in dict.fromkeys(name for objective in objectives for name in objective.terms):
            weights = [objective.weights.get(name, 0.0) for objective in objectives]
            self.weights[name] = torch.tensor(weights, device=device)
            terms = [objective.terms.get(name) for objective in objectives]
            term: Any = next(term for term in terms if term is not None)
            if isinstance(term, nn.Module):
                term = _stacked(terms)
                self.modules_of_terms.append(term)
            self.terms[name] = term


def _stacked(terms: Sequence[Any]) -> nn.Module:
    """One module for those of G trainings, None where a training has none: its layers are stacked."""
    first = next(term for term in terms if term is not None)
    idle, stacked = copy.deepcopy(first), copy.deepcopy(first)
    for name in dict(first.named_children()):
        layers = [getattr(idle if term is None else term, name) for term in terms]
        setattr(stacked, name, StackedLinear(layers))
    return stacked
