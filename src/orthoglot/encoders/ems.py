"""EMS: a small Transformer whose mean state is the sentence (methods 5.1)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from orthoglot.encoders.base import check_language, check_tokens, in_length_order, pool, resolve_device
from orthoglot.encoders.folder import save_card
from orthoglot.encoders.settings import Words
from orthoglot.encoders.tokenization import PAD, Tokenizer
from orthoglot.errors import DataError


@dataclass(frozen=True)
class Sizes:
    """What shapes the network; saved with the weights, so that they can be loaded."""

    vocabulary: int
    layers: int
    width: int
    heads: int
    feed_forward: int
    max_tokens: int
    dropout: float
    attention_dropout: float


class Layer(nn.Module):
    """Self-attention, then a swish feed-forward net, each added to its input and normalised after."""

    def __init__(self, sizes: Sizes):
        super().__init__()
        self.heads = sizes.heads
        self.attention_dropout = sizes.attention_dropout
        self.qkv = nn.Linear(sizes.width, 3 * sizes.width)
        self.mix = nn.Linear(sizes.width, sizes.width)
        self.attention_norm = nn.LayerNorm(sizes.width, eps=1e-12)
        self.up = nn.Linear(sizes.width, sizes.feed_forward)
        self.down = nn.Linear(sizes.feed_forward, sizes.width)
        self.norm = nn.LayerNorm(sizes.width, eps=1e-12)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """States (B, T, D) to states; `mask` (B, 1, 1, T) is true where there is a token, None if all are."""
        x = self.attention_norm(x + self.dropout(self.attend(x, mask)))
        return self.norm(x + self.dropout(self.down(functional.silu(self.up(x)))))

    def attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Every token's mix of all tokens' values (B, T, D)."""
        B, T, D = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        rate = self.attention_dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=rate)
        return self.mix(mixed.transpose(1, 2).reshape(B, T, D))


class EmsModel(nn.Module):
    """Token ids to sentence vectors: embeddings, post-norm layers, mean over tokens.

    u = mean over tokens of h;  no BOS, EOS or language token;  both sides of a pair use the same weights.
    Embeddings start as N(0, embedding_spread^2); 1 is PyTorch's default and the authors'.
    Source: EMS 2024, section III; methods 5.1.
    """

    def __init__(self, sizes: Sizes, embedding_spread: float = 1.0):
        super().__init__()
        self.tokens = nn.Embedding(sizes.vocabulary, sizes.width, padding_idx=PAD)
        # Position 0 is padding's, tokens have 1 .. max_tokens.
        self.positions = nn.Embedding(sizes.max_tokens + 1, sizes.width, padding_idx=0)
        self.norm = nn.LayerNorm(sizes.width, eps=1e-12)
        self.dropout = nn.Dropout(sizes.dropout)
        self.layers = nn.ModuleList(Layer(sizes) for _ in range(sizes.layers))
        with torch.no_grad():
            self.tokens.weight.mul_(embedding_spread)
            self.positions.weight.mul_(embedding_spread)

    def forward(self, ids: Tensor, padded: bool = True) -> Tensor:
        """Ids (B, T), filled up with 0, to vectors (B, D), not normalised; `padded` says whether a 0 is among them."""
        places = torch.arange(1, ids.shape[1] + 1, device=ids.device)
        keep = ids != PAD if padded else None
        x = self.tokens(ids) + self.positions(places if keep is None else places * keep)
        x = self.dropout(self.norm(x))
        for layer in self.layers:
            x = layer(x, None if keep is None else keep[:, None, None, :])
        return x.mean(dim=1) if keep is None else pool(x, keep, "mean")


@dataclass(frozen=True)
class EmsEncoder:
    """A trained `EmsModel` with its tokenizer; see `Encoder`."""

    name: str
    dim: int
    languages: tuple[str, ...]
    max_tokens: int
    tokenizer: Tokenizer
    model: EmsModel
    device: torch.device

    @classmethod
    def load(cls, folder: Path, device: str = "cpu") -> EmsEncoder:
        """Read what `save` wrote.

        Raises:
            DataError: a file is absent, damaged, or does not fit the stated sizes.
        """
        target = resolve_device(device)
        try:
            card = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
            sizes = Sizes(**card["sizes"])
            model = EmsModel(sizes)
            model.load_state_dict(load_file(folder / "model.safetensors"))
            words = card["words"]
        except (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
            raise DataError(f"encoder {folder}: cannot be read ({' '.join(str(error).split())})") from error
        return cls(
            name=card["name"],
            dim=sizes.width,
            languages=tuple(card["languages"]),
            max_tokens=sizes.max_tokens,
            tokenizer=Tokenizer(folder / "tokenizer.model", words),
            model=model.to(target).eval(),
            device=target,
        )

    def encode(self, sentences: Sequence[str], language: str, batch_tokens: int) -> np.ndarray:
        """See `Encoder.encode`."""
        check_language(self.name, self.languages, language)
        tokens = self.tokenizer.encode(sentences, language, self.max_tokens)
        check_tokens(self.name, tokens.lengths, sentences)

        def vectors(rows: np.ndarray) -> Tensor:
            ids = tokens.padded(rows)
            return self.model(torch.from_numpy(ids).to(self.device), padded=bool((ids == PAD).any()))

        return in_length_order(tokens.lengths, self.dim, batch_tokens, vectors)


def save(
    model: EmsModel,
    sizes: Sizes,
    name: str,
    languages: Sequence[str],
    output: Path,
    *,
    words: Words,
    training: Mapping[str, Any],
) -> None:
    """Write encoder.json and model.safetensors beside a tokenizer.model that is there already.

    Args:
        model: the trained network.
        sizes: its own.
        name: of the encoder.
        languages: that it was trained on.
        output: the folder.
        words: how the tokenizer cuts text into words.
        training: what it was trained on, for model cards.
    """
    save_card(
        output,
        {
            "kind": "ems",
            "name": name,
            "languages": list(languages),
            "pooling": "mean",
            "dim": sizes.width,
            "max_tokens": sizes.max_tokens,
            "sizes": asdict(sizes),
            "words": words,
            "training": dict(training),
        },
    )
    weights = {key: tensor.detach().cpu().contiguous() for key, tensor in model.state_dict().items()}
    save_file(weights, output / "model.safetensors")
