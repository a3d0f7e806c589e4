"""EMS trained the straightforward way: the independent twin of the fast training.

Written from docs/papers.md#ems-step: pairs collated sample by sample in Python, random batches padded to their longest
sentence, each side encoded in a call of its own by PyTorch's stock Transformer, a dense target over the vocabulary,
library losses, `.item()` for each term. It serves two ends: its losses and gradients must equal ours, and
`measurements/speed-of-pretraining/ems.py` measures against it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, kl_div, log_softmax, normalize
from transformers import BertModel

from orthoglot.study.pretraining.objectives.ems import Projection, XtrHead

Sample = tuple[list[int], list[int], int, int]  # source ids, target ids, source language, target language


class Encoder(nn.Module):
    """Embeddings, post-norm Transformer, mean over tokens."""

    def __init__(self, vocabulary: int, layers: int, width: int, heads: int, feed_forward: int, longest: int):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width, padding_idx=0)
        self.positions = nn.Embedding(longest + 1, width, padding_idx=0)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        options = {
            "dropout": 0.0,
            "activation": nn.functional.silu,
            "layer_norm_eps": 1e-12,
            "batch_first": True,
        }
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, feed_forward, **options) for _ in range(layers)
        )

    def forward(self, ids: Tensor) -> Tensor:
        keep = ids != 0
        places = torch.arange(1, ids.shape[1] + 1) * keep
        x = self.norm(self.tokens(ids) + self.positions(places))
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=~keep)
        return (x * keep[:, :, None]).sum(1) / keep.sum(1, keepdim=True)

    def copy(self, model: BertModel) -> None:
        """Take the weights of the model under test."""
        embeddings = model.embeddings
        with torch.no_grad():
            self.tokens.load_state_dict(embeddings.word_embeddings.state_dict())
            self.norm.load_state_dict(embeddings.LayerNorm.state_dict())
            # Position 0 is padding's here.
            self.positions.weight[1:].copy_(embeddings.position_embeddings.weight)
            for mine, theirs in zip(self.layers, model.encoder.layer, strict=True):
                attention = theirs.attention.self
                parts = attention.query, attention.key, attention.value
                mine.self_attn.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
                mine.self_attn.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
                pairs = [
                    (mine.self_attn.out_proj, theirs.attention.output.dense),
                    (mine.linear1, theirs.intermediate.dense),
                    (mine.linear2, theirs.output.dense),
                    (mine.norm1, theirs.attention.output.LayerNorm),
                    (mine.norm2, theirs.output.LayerNorm),
                ]
                for one, other in pairs:
                    one.load_state_dict(other.state_dict())


class Heads(nn.Module):
    """Logits over the vocabulary from language and sentence, and the vector that is compared."""

    def __init__(self, languages: int, language_width: int, width: int, projected: int, vocabulary: int):
        super().__init__()
        joint = language_width + width
        self.language = nn.Embedding(languages, language_width)
        self.language_norm = nn.LayerNorm(language_width, eps=1e-12)
        self.fc = nn.Linear(joint, joint)
        self.fc_norm = nn.LayerNorm(joint, eps=1e-12)
        self.emb = nn.Linear(joint, vocabulary, bias=False)
        self.w2 = nn.Linear(width, width)
        self.w1 = nn.Linear(width, projected)

    def logits(self, vectors: Tensor, languages: Tensor) -> Tensor:
        told = self.language_norm(self.language(languages))
        x = self.fc(torch.cat([told, vectors], dim=1))
        return self.emb(self.fc_norm(x * torch.sigmoid(x)))

    def compared(self, vectors: Tensor) -> Tensor:
        return self.w1(torch.clamp(self.w2(vectors), min=0))

    def copy(self, head: XtrHead, projection: Projection) -> None:
        """Take the weights of the heads under test."""
        assert isinstance(head.languages, nn.Sequential)
        pairs = [
            (self.language, head.languages[0]),
            (self.language_norm, head.languages[1]),
            (self.fc, head.hidden),
            (self.fc_norm, head.norm),
            (self.w2, projection.hidden),
            (self.w1, projection.output),
        ]
        for mine, theirs in pairs:
            mine.load_state_dict(theirs.state_dict())
        with torch.no_grad():
            self.emb.weight.copy_(head.output)


class Model(nn.Module):
    """Encoder, heads and both losses."""

    def __init__(self, encoder: Encoder, heads: Heads, temperature: float):
        super().__init__()
        self.encoder, self.heads, self.temperature = encoder, heads, temperature

    def forward(self, samples: Sequence[Sample]) -> dict[str, Tensor]:
        source, target, source_bag, target_bag, source_language, target_language = self.collate(samples)
        u, v = self.encoder(source), self.encoder(target)
        forward = self.xtr(u, target_language, target_bag)
        backward = self.xtr(v, source_language, source_bag)
        a, b = (normalize(self.heads.compared(side), dim=1) for side in (u, v))
        similarity = a @ b.T / self.temperature
        labels = torch.arange(len(samples))
        contrastive = cross_entropy(similarity, labels) + cross_entropy(similarity.T, labels)
        return {"xtr": forward + backward, "contrastive": contrastive}

    def xtr(self, vectors: Tensor, language: Tensor, bag: Tensor) -> Tensor:
        return kl_div(log_softmax(self.heads.logits(vectors, language), dim=1), bag, reduction="batchmean")

    def collate(self, samples: Sequence[Sample]) -> list[Tensor]:
        vocabulary = self.encoder.tokens.num_embeddings
        padded, bags = [], []
        for side in (0, 1):
            longest = max(len(sample[side]) for sample in samples)
            rows, targets = [], []
            for sample in samples:
                ids = sample[side]
                rows.append(torch.tensor(ids + [0] * (longest - len(ids))))
                bag = torch.zeros(vocabulary)
                for token in ids:
                    bag[token] += 1 / len(ids)
                targets.append(bag)
            padded.append(torch.stack(rows))
            bags.append(torch.stack(targets))
        languages = [torch.tensor([sample[place] for sample in samples]) for place in (2, 3)]
        return [*padded, *bags, *languages]


def step(model: Model, optimizer: torch.optim.Optimizer, samples: Sequence[Sample]) -> dict[str, float]:
    """One step of the optimiser; the terms before it."""
    values = model(samples)
    optimizer.zero_grad()
    (values["xtr"] + values["contrastive"]).backward()
    optimizer.step()
    return {name: value.item() for name, value in values.items()}
