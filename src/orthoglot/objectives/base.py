"""What a loss term gets, and how named terms become one objective.

Letters of the whole project: B pairs of a batch, N rows of a corpus, D embedding size, K languages, T tokens,
V vocabulary.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Generator, Tensor, nn

from orthoglot.decomposers.base import Decomposition
from orthoglot.objectives import TERMS
from orthoglot.objectives.cosine import Vectors, lazy

Term = Callable[["Pairs"], Tensor]


@dataclass(frozen=True)
class Pairs:
    """A batch of B translations: row i of the source side and row i of the target side mean the same.

    Both sides are in one tensor, the B source rows first, so that each operation serves both.
    """

    parts: Decomposition  # sentence, meaning and language vectors, each (2B, D), not normalised
    language_id: Tensor  # (2B,) integers in [0, K)
    # (2B,) a row of the same side with another meaning, numbered among all 2B rows; -1 for none
    other: Tensor
    # (2B,) another row of the same side and, under most partner rules, of the same language; -1 for none
    peer: Tensor
    active: Tensor  # (B,) booleans, the pairs over which the terms of DREAM, MEAT and SEED average
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

    def mean(self, values: Tensor) -> Tensor:
        """Sum over the two sides of the mean over active rows of values (2B,); 0 if no row is active."""
        return values @ self._active_weights

    def mean_of_all(self, values: Tensor) -> Tensor:
        """Sum over the two sides of the mean over all rows of values (2B,)."""
        return 2 * values.mean()

    def mean_with_other(self, values: Tensor) -> Tensor:
        """Sum over the two sides of the mean over rows with an `other` of values (2B,); 0 for a side without."""
        return values @ self._other_weights

    def mean_with_peer(self, values: Tensor) -> Tensor:
        """Sum over the two sides of the mean over rows with a `peer` of values (2B,); 0 for a side without."""
        return values @ self._peer_weights

    @lazy
    def _others(self) -> Tensor:
        return self.other.clamp(min=0)

    @lazy
    def _peers(self) -> Tensor:
        return self.peer.clamp(min=0)

    @lazy
    def _translations(self) -> Tensor:
        return torch.arange(len(self.language_id), device=self.language_id.device).roll(len(self.active))

    @lazy
    def _active_weights(self) -> Tensor:
        return self._weights(torch.cat([self.active, self.active]))

    @lazy
    def _other_weights(self) -> Tensor:
        return self._weights(self.other >= 0)

    @lazy
    def _peer_weights(self) -> Tensor:
        return self._weights(self.peer >= 0)

    def _weights(self, chosen: Tensor) -> Tensor:
        """Weights (2B,) with which values sum to the means over the chosen rows of each side, added."""
        sides = chosen.to(self.parts.sentence.dtype).view(2, -1)
        return (sides / sides.sum(dim=1, keepdim=True).clamp(min=1)).view(-1)


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
        self.weights = dict(weights)
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
        """Every term, unweighted, and `total`; scalars."""
        values = {name: term(pairs) for name, term in self.terms.items()}
        total = torch.stack([self.weights[name] * value for name, value in values.items()]).sum()
        return {**values, "total": total}

    def adversaries(self) -> list[Adversary]:
        """Modules that are trained against the maps (MEAT's discriminator)."""
        return [module for module in self.modules_of_terms if isinstance(module, Adversary)]

    def heads(self) -> list[nn.Parameter]:
        """Parameters that are trained together with the maps (DREAM's language head)."""
        heads = [module for module in self.modules_of_terms if not isinstance(module, Adversary)]
        return [parameter for module in heads for parameter in module.parameters()]
