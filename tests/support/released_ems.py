"""EMS as its authors publish it, written from docs/papers.md#ems-encoder: the independent twin of the conversion.

Parameters have the names and shapes of the published checkpoint, heads included.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from torch import Tensor, nn

from orthoglot.encoders.ems_release import VOCABULARY

LANGUAGES = ("en", "ja", "th", "zh")
LONGEST = 12


def _linear(width: int, out: int) -> nn.ModuleDict:
    return nn.ModuleDict({"dense": nn.Linear(width, out)})


class Released(nn.Module):
    """Sizes of a small one: 2 layers, width 16, 4 heads, feed-forward 32."""

    def __init__(self, vocabulary: int):
        super().__init__()
        words = nn.ModuleDict({"embedding": nn.Embedding(vocabulary, 16, padding_idx=0)})
        places = nn.ModuleDict({"position_embeddings": nn.Embedding(LONGEST + 1, 16, padding_idx=0)})
        layers = []
        for _ in range(2):
            attention = {name: nn.Linear(16, 16) for name in ("query", "key", "value")}
            after = nn.ModuleDict({"dense": nn.Linear(16, 16), "LayerNorm": nn.LayerNorm(16)})
            last = nn.ModuleDict({"dense": nn.Linear(32, 16), "LayerNorm": nn.LayerNorm(16)})
            parts = nn.ModuleDict({"self_attention": nn.ModuleDict(attention), "output": after})
            layers.append(
                nn.ModuleDict({"attention": parts, "intermediate": _linear(16, 32), "output": last})
            )
        embedding = {"word_embedding": words, "position_embedding": places, "layer_norm": nn.LayerNorm(16)}
        encoder = nn.ModuleDict({"layer": nn.ModuleList(layers)})
        language = {"embedding": nn.Embedding(len(LANGUAGES), 8), "layer_norm": nn.LayerNorm(8)}
        head = nn.ModuleDict({"dense": nn.Linear(24, 24), "LayerNorm": nn.LayerNorm(24)})
        decoder = nn.ModuleDict({"decoder": nn.Linear(24, vocabulary, bias=False)})
        bert = nn.ModuleDict({"embedding": nn.ModuleDict(embedding), "encoder": encoder})
        parts = {
            "bert": bert,
            "la_tag_linear": nn.ModuleDict(language),
            "transform": head,
            "decoder": decoder,
        }
        self.model = nn.ModuleDict(parts)
        self.alignproj = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Dropout(0.0), nn.Linear(16, 8))
        for weight in self.parameters():  # biases and norms that the real ones have, too
            nn.init.normal_(weight)

    def vector(self, ids: Sequence[int]) -> Tensor:
        """Of one sentence: position t of n has the row t from 1; every layer is normalised after its sum."""
        with torch.no_grad():
            return self._vector(torch.tensor(ids[:LONGEST]))

    def _vector(self, ids: Tensor) -> Tensor:
        bert: Any = self.model["bert"]
        embedding = bert["embedding"]
        x = embedding["word_embedding"]["embedding"].weight[ids]
        x = x + embedding["position_embedding"]["position_embeddings"].weight[1 : len(ids) + 1]
        x = _norm(x, embedding["layer_norm"])
        for layer in bert["encoder"]["layer"]:
            own = layer["attention"]["self_attention"]
            query, key, value = (own[name](x).unflatten(1, (4, 4)) for name in ("query", "key", "value"))
            weights = torch.einsum("qhd,khd->hqk", query, key).div(2).softmax(2)
            mixed = torch.einsum("hqk,khd->qhd", weights, value).flatten(1)
            out = layer["attention"]["output"]
            x = _norm(x + out["dense"](mixed), out["LayerNorm"])
            up = layer["intermediate"]["dense"](x)
            x = _norm(x + layer["output"]["dense"](up * torch.sigmoid(up)), layer["output"]["LayerNorm"])
        return x.mean(0)


def _norm(x: Tensor, parameters: nn.Module) -> Tensor:
    x = x - x.mean(-1, keepdim=True)
    x = x / (x.square().mean(-1, keepdim=True) + 1e-12).sqrt()
    return x * parameters.weight + parameters.bias  # type: ignore[operator]


def write(folder: Path, lines: Sequence[str]) -> Released:
    """Write EMS_model.pt and its vocabulary, learned from `lines`, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    model = io.BytesIO()
    symbols = ["<MASK>", *(f"<2{code}>" for code in LANGUAGES)]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type="bpe",
        vocab_size=60,
        pad_id=0,
        unk_id=1,
        bos_id=-1,
        eos_id=-1,
        control_symbols=symbols,
        minloglevel=2,
    )
    (folder / VOCABULARY).write_bytes(model.getvalue())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        released = Released(60)
    save(folder, released.state_dict())
    return released


def save(folder: Path, state: dict[str, Tensor]) -> None:
    """What their training saves: the weights by the names of DistributedDataParallel, with the optimiser's state."""
    weights = {f"module.{name}": weight for name, weight in state.items()}
    content = {"epoch": 1, "step": 2, "model_name": "EMS", "state_dict": weights, "best_loss": 1.5}
    torch.save(
        content | {"optimizer": {"state": {}, "param_groups": [{"lr": 3e-4}]}}, folder / "EMS_model.pt"
    )
