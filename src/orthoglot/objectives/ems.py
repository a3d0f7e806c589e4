"""EMS: predict the other side's words from a sentence's vector, and tell translations from the rest.

Two terms, equal weights in the paper; methods 5.2 and 5.3.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def bag_entropy(tokens: Tensor, keep: Tensor) -> Tensor:
    """Entropy of each sentence's bag of tokens.

    H(p) = -sum_w p(w) ln p(w),  p(w) = N_w / T;  written as a mean over tokens, -mean_n ln(N_n / T)

    Args:
        tokens: ids (B, T).
        keep: (B, T), false at padding.
    Returns:
        (B,) float64, nats, in [0, ln T]; 0 when a sentence repeats one token.
    """
    same = (tokens[:, :, None] == tokens[:, None, :]) & keep[:, None, :]
    lengths = keep.sum(dim=1)
    counts = same.sum(dim=2).clamp(min=1)
    logs = torch.log(counts.double() / lengths[:, None]) * keep
    return -logs.sum(dim=1) / lengths


def xtr(logits: Tensor, tokens: Tensor, keep: Tensor) -> Tensor:
    """Cross-lingual token-level reconstruction: how far a prediction is from the other side's bag of tokens.

    L = mean_i KL(p_i || q_i) = mean_i [ -mean_n ln q_i(w_in) - H(p_i) ],  p_i(w) = N_w / T_i, q = softmax

    Args:
        logits: predicted from the sentence and the other side's language (B, V).
        tokens: ids of the other side (B, T).
        keep: (B, T), false at padding.
    Returns:
        Scalar, nats, >= 0; 0 when the prediction is the bag.
    Source: EMS 2024, L_XTR of one direction over B; methods 5.2. The authors' code gives each distinct
        token 1 / T instead of its count, which is no distribution when tokens repeat (methods 5.9, E1).
    """
    gathered = functional.log_softmax(logits, dim=-1).gather(1, tokens) * keep
    cross_entropy = -gathered.sum(dim=1) / keep.sum(dim=1)
    return (cross_entropy - bag_entropy(tokens, keep).to(logits.dtype)).mean()


def contrastive(similarity: Tensor, temperature: float) -> Tensor:
    """Each sentence picks its translation among the batch's other side, in both directions.

    L = -mean_j [ ln softmax_k(sim_jk / T)_j + ln softmax_k(sim_kj / T)_j ]

    Args:
        similarity: cosines (B, B), row j of the source side, column k of the target side.
        temperature: T > 0.
    Returns:
        Scalar, nats, >= 0; 2 ln B when all cosines are equal.
    Source: EMS 2024, L_cntrs over B; methods 5.3.
    """
    scaled = similarity / temperature
    labels = torch.arange(len(scaled), device=scaled.device)
    return functional.cross_entropy(scaled, labels) + functional.cross_entropy(scaled.T, labels)


class XtrHead(nn.Module):
    """Sentence vector and target language to logits over the vocabulary.

    logits = W_emb LN(swish(W_fc [u_la ; u] + b)),  u_la = dropout(LN(E_la[language]))

    The output embedding has no bias and is not tied to the token embedding. The two layer norms follow the
    authors' code, the paper does not mention them (methods 5.9, E3).
    """

    def __init__(self, *, languages: int, language_width: int, width: int, vocabulary: int, dropout: float):
        super().__init__()
        joint = language_width + width
        self.languages = nn.Embedding(languages, language_width)
        self.language_norm = nn.LayerNorm(language_width, eps=1e-12)
        self.dropout = nn.Dropout(dropout)
        self.hidden = nn.Linear(joint, joint)
        self.norm = nn.LayerNorm(joint, eps=1e-12)
        self.output = nn.Linear(joint, vocabulary, bias=False)

    def forward(self, vectors: Tensor, languages: Tensor) -> Tensor:
        """Vectors (B, D) and target language ids (B,) to logits (B, V)."""
        language = self.dropout(self.language_norm(self.languages(languages)))
        joint = torch.cat([language, vectors], dim=1)
        return self.output(self.norm(functional.silu(self.hidden(joint))))


class Projection(nn.Module):
    """The contrastive head: h(u) = W_1 ReLU(W_2 u + b_2) + b_1, shared by both sides."""

    def __init__(self, width: int, projection_width: int):
        super().__init__()
        self.hidden = nn.Linear(width, width)
        self.output = nn.Linear(width, projection_width)

    def forward(self, vectors: Tensor) -> Tensor:
        """(B, D) to unit vectors (B, P)."""
        return functional.normalize(self.output(functional.relu(self.hidden(vectors))), dim=1)


class Ems(nn.Module):
    """Both terms and their heads: L = weight_xtr (L_XTR / B) + weight_contrastive (L_cntrs / B)."""

    def __init__(
        self,
        head: XtrHead,
        projection: Projection,
        *,
        temperature: float,
        xtr_weight: float,
        contrastive_weight: float,
    ):
        super().__init__()
        self.head = head
        self.projection = projection
        self.temperature = temperature
        self.weights = {"xtr": xtr_weight, "contrastive": contrastive_weight}

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        source_tokens: Tensor,
        target_tokens: Tensor,
        source_language: Tensor,
        target_language: Tensor,
    ) -> dict[str, Tensor]:
        """Terms and `total` of a batch.

        Args:
            source: vectors of the source side (B, D).
            target: vectors of the target side (B, D).
            source_tokens: ids (B, T), 0 at padding.
            target_tokens: ids (B, T'), 0 at padding.
            source_language: language ids (B,) in [0, K).
            target_language: language ids (B,) in [0, K).
        Returns:
            {"xtr", "contrastive", "total"}; unchanged when the sides are swapped.
        """
        values = {}
        if self.weights["xtr"]:
            # One matmul for both directions: the vocabulary is the largest matrix here.
            logits = self.head(torch.cat([source, target]), torch.cat([target_language, source_language]))
            to_target, to_source = logits.split(len(source))
            forward = xtr(to_target, target_tokens, target_tokens != 0)
            values["xtr"] = forward + xtr(to_source, source_tokens, source_tokens != 0)
        if self.weights["contrastive"]:
            similarity = self.projection(source) @ self.projection(target).T
            values["contrastive"] = contrastive(similarity, self.temperature)
        total = sum((self.weights[name] * value for name, value in values.items()), source.new_zeros(()))
        return {**values, "total": total}
