"""EMS: predict the other side's words from a sentence's vector, and tell translations from the rest.

Two terms, equal weights in the paper; docs/papers.md#ems.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from orthoglot.study.pretraining.objectives.token_bags import Bags, divergence

Gather = Callable[[Tensor], tuple[Tensor, int]]


def alone(own: Tensor) -> tuple[Tensor, int]:
    """A process's own unit vectors as its only candidates; see `Ems.forward`."""
    return own, 0


def contrastive(similarity: Tensor, temperature: float, margin: float = 0.0, first: int = 0) -> Tensor:
    """Each sentence picks its translation among the candidates of the other side.

    L = -mean_j ln [ e^((sim_jj - m) / T) / (e^((sim_jj - m) / T) + sum_(k != j) e^(sim_jk / T)) ]

    Args:
        similarity: Cosines (B, N) of B sentences with N >= B candidates.
        temperature: T > 0.
        margin: m >= 0; 0 is the loss of the paper.
        first: The translation of row j is candidate first + j.
    Returns:
        A scalar >= 0, in nats; ln N when all cosines are equal and there is no margin. Grows with the margin.
    Source: EMS Eq. 8, one direction over B, and L_AMS, which has no number; docs/papers.md#ems-contrastive,
        docs/papers.md#ems-margin.
    """
    labels = torch.arange(first, first + len(similarity), device=similarity.device)
    if margin:
        similarity = similarity.clone()
        similarity[labels - first, labels] -= margin
    return functional.cross_entropy(similarity / temperature, labels)


class XtrHead(nn.Module):
    """Sentence vector and target language to the state that the output embedding turns into logits.

    state = LN(swish(W_fc [u_la ; u] + b)),  u_la = dropout(LN(E_la[language]));  logits = W_emb state

    The output embedding has no bias. The two layer norms and the dropout follow the authors' code, the paper does
    not mention them (docs/papers.md#ems-head-norm).

    Args:
        languages: K.
        language_width: The width of u_la; 0 leaves the language out.
        width: D, the width of u.
        vocabulary: V.
        dropout: The dropout of u_la.
        norm: Whether there are layer norms and dropout.
        tied: Whether W_emb is the token embedding, which the caller has; W_fc then maps to its width D.
    """

    def __init__(
        self,
        *,
        languages: int,
        language_width: int,
        width: int,
        vocabulary: int,
        dropout: float,
        norm: bool = True,
        tied: bool = False,
    ):
        super().__init__()
        joint = language_width + width
        self.languages: nn.Module | None = None
        if language_width:
            after = [nn.LayerNorm(language_width, eps=1e-12), nn.Dropout(dropout)] if norm else []
            self.languages = nn.Sequential(nn.Embedding(languages, language_width), *after)
        state = width if tied else joint
        self.hidden = nn.Linear(joint, state)
        self.norm = nn.LayerNorm(state, eps=1e-12) if norm else nn.Identity()
        self.output = None if tied else nn.Parameter(nn.Linear(joint, vocabulary, bias=False).weight.detach())

    def forward(self, vectors: Tensor, languages: Tensor) -> Tensor:
        """Vectors (R, D) and target language ids (R,) to states (R, J)."""
        if self.languages is not None:
            vectors = torch.cat([self.languages(languages), vectors], dim=1)
        return self.norm(functional.silu(self.hidden(vectors)))


class Projection(nn.Module):
    """The contrastive head: h(u) = W_1 ReLU(W_2 u + b_2) + b_1, shared by both sides.

    Source: EMS Eqs. 10 and 11, docs/papers.md#ems-projection.
    """

    def __init__(self, width: int, projection_width: int):
        super().__init__()
        self.hidden = nn.Linear(width, width)
        self.output = nn.Linear(width, projection_width)

    def forward(self, vectors: Tensor) -> Tensor:
        """(R, D) to (R, P)."""
        return self.output(functional.relu(self.hidden(vectors)))


class Ems(nn.Module):
    """Both terms and their heads: L = weight_xtr (L_XTR / B) + weight_contrastive (L_cntrs / B).

    Args:
        head: None where the reconstruction has no weight.
        projection: None compares the vectors themselves.
        temperature: See `contrastive`.
        margin: See `contrastive`.
        xtr_weight: 0 leaves the reconstruction out.
        contrastive_weight: 0 leaves the comparison out.
        products: The type of the large matrix products; None for that of the vectors.
    Source: EMS Eq. 12, docs/papers.md#ems-total.
    """

    def __init__(
        self,
        head: XtrHead | None,
        projection: Projection | None,
        *,
        temperature: float,
        margin: float,
        xtr_weight: float,
        contrastive_weight: float,
        products: torch.dtype | None = None,
    ):
        super().__init__()
        self.head = head
        self.projection = projection
        self.temperature = temperature
        self.margin = margin
        self.weights = {"xtr": xtr_weight, "contrastive": contrastive_weight}
        self.products = products

    def forward(
        self,
        vectors: Tensor,
        languages: Tensor,
        bags: Bags,
        embedding: Tensor,
        gather: Gather = alone,
    ) -> dict[str, Tensor]:
        """Terms and `total` of a batch of B pairs.

        Args:
            vectors: The vectors of the sources, then of the targets (2B, D).
            languages: Ids in [0, K) of the languages to predict, those of the targets first (2B,).
            bags: What each row is to predict (2B rows).
            embedding: The token embedding (V, D), used if the head is tied to it.
            gather: This process's unit vectors (B, P) -> those of all processes (N, P), and where its own begin.
        Returns:
            {"xtr", "contrastive", "total"}; unchanged when the sides are swapped.
        """
        B = len(vectors) // 2
        vectors = vectors if vectors.dtype == torch.float64 else vectors.float()
        values = {}
        if self.head is not None:
            output = embedding if self.head.output is None else self.head.output
            states = self.head(vectors, languages)
            values["xtr"] = divergence(states.to(output.dtype), output, bags, self.products) / B
        if self.weights["contrastive"]:
            shown = vectors if self.projection is None else self.projection(vectors)
            with torch.autocast(vectors.device.type, enabled=False):
                source, target = functional.normalize(shown.to(vectors.dtype), dim=1).split(B)
                (sources, first), (targets, _) = gather(source), gather(target)
                values["contrastive"] = contrastive(
                    source @ targets.T, self.temperature, self.margin, first
                ) + contrastive(target @ sources.T, self.temperature, self.margin, first)
        total = sum((self.weights[name] * value for name, value in values.items()), vectors.new_zeros(()))
        return {**values, "total": total}
