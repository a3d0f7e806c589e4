"""Encoders that can be trained: a new network with its tokenizer, or another encoder whose training continues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from orthoglot.encoders.base import pool
from orthoglot.encoders.ems import new_network
from orthoglot.encoders.folder import stated
from orthoglot.encoders.packed import Packed, packed_states, packed_vectors
from orthoglot.encoders.pretrained import attention_mask, open_checkpoint, save_checkpoint, with_token_head
from orthoglot.encoders.sentence_transformer import save_with_layers
from orthoglot.encoders.settings import Pooling
from orthoglot.encoders.tokenization import TextTokenizer, open_tokenizer
from orthoglot.errors import ConfigError
from orthoglot.random_streams import derive
from orthoglot.study.pretraining.inputs import Inputs
from orthoglot.study.pretraining.settings import EncoderNetwork, ScratchNetwork, TrainingSettings, Vector
from orthoglot.study.pretraining.tokenise import TOKENIZER

# Standard deviation of the weights of a new linear map, as of BERT's and XLM-R's.
SPREAD = 0.02


class SentenceNetwork(nn.Module):
    """A transformers model, its pooling, and a projection of the sentence vector."""

    def __init__(
        self,
        model: Any,
        pooling: Pooling,
        pad: int,
        projection: nn.Module | None = None,
        token_head: nn.Module | None = None,
    ):
        super().__init__()
        self.model = model
        self.pooling = pooling
        self.pad = pad  # id of padding
        self.projection = projection or nn.Identity()  # what follows the pooling
        # states of hidden tokens (H, D) to logits (H, V), if hidden tokens are predicted
        self.token_head = token_head
        self.compiles = False  # whether a GPU's layers are compiled

    def forward(self, ids: Tensor | Packed, padded: bool = True) -> Tensor:
        """Ids of B sentences to vectors (B, D), not normalised; see `last_states`."""
        return self._vectors(self._states(ids, padded), ids)

    def predict(self, ids: Tensor | Packed, padded: bool, places: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors (B, D), and logits (H, V) of the tokens at `places` (H,) among all ids, row after row."""
        assert self.token_head is not None
        states = self._states(ids, padded)
        return self._vectors(states, ids), self.token_head(states.flatten(0, -2)[places])

    def _states(self, ids: Tensor | Packed, padded: bool) -> Tensor:
        return last_states(self.model, ids, self.pad, padded, compiles=self.compiles)

    def _vectors(self, states: Tensor, ids: Tensor | Packed) -> Tensor:
        pooler = getattr(self.model, "pooler", None)
        if isinstance(ids, Packed):
            vectors = packed_vectors(states, ids, self.pooling, pooler)
        else:
            vectors = pool(states, ids != self.pad, self.pooling, pooler)
        return self.projection(vectors)


def last_states(
    model: Any, ids: Tensor | Packed, pad: int, padded: bool, *, compiles: bool = False
) -> Tensor:
    """States of the last layer of a transformers model, (B, T, D) of ids (B, T) and (T, D) of packed ones.

    `padded` says whether there is padding, whose id is `pad`, among ids (B, T). See `packed_states` for `compiles`.
    """
    if isinstance(ids, Packed):
        return packed_states(model, ids, compiles=compiles)
    mask = attention_mask(model, ids != pad) if padded else None
    return model(ids, attention_mask=mask).last_hidden_state


class TrainableEncoder:
    """A network, its tokenizer, and how they are saved."""

    def __init__(
        self,
        model: Any,
        tokenizer: TextTokenizer,
        described: Mapping[str, Any],
        *,
        head: nn.Sequential | None = None,
        whole: Any = None,
    ):
        """Combine a transformers model with its tokenizer.

        Args:
            model: The transformers model.
            tokenizer: Its tokenizer.
            described: `kind`, `pooling` and `max_tokens` of the encoder card.
            head: What follows the pooling, if anything: a linear map, an activation, a linear map.
            whole: `model` with its token head, if hidden tokens are predicted.
        """
        pooling: Pooling = described["pooling"]
        self.network = SentenceNetwork(
            model, pooling, tokenizer.pad, head, None if whole is None else whole.lm_head
        )
        self.tokenizer = tokenizer
        self.dim: int = model.config.hidden_size  # D
        rates = (
            getattr(model.config, name, None) for name in ("hidden_dropout_prob", "dropout", "mlp_dropout")
        )
        # dropout of its hidden states
        self.dropout: float = next((rate for rate in rates if rate is not None), 0.0)
        self._saved = whole or model
        self._card = {name: described[name] for name in ("kind", "pooling", "max_tokens")}
        self._head = head

    @classmethod
    def new(cls, settings: ScratchNetwork, tokenizer: TextTokenizer) -> Self:
        """A new network; weights are drawn from PyTorch's global generator."""
        described = {"kind": "ems", "pooling": "mean", "max_tokens": settings.max_tokens}
        return cls(new_network(settings, tokenizer.size, tokenizer.pad), tokenizer, described)

    @classmethod
    def load(cls, folder: Path, vector: Vector = "own", *, predicts: bool = False) -> Self:
        """The encoder of a folder of kind `ems`, `mlm` or `pretrained`; the prefix of its text is left out.

        Args:
            folder: The encoder's folder.
            vector: What the sentence vector is; see `EncoderNetwork`. The weights of a new linear map are drawn from
                PyTorch's global generator.
            predicts: Whether hidden tokens are predicted, too, by the head of its checkpoint.
        Raises:
            ConfigError: An EMS network is to be read in another way than its own; the checkpoint has no head.
            ConfigError, DataError, OfflineError: As `open_checkpoint`.
        """
        place, described = stated(folder, "kind", "name", "pooling", "max_tokens")
        name = described["name"]
        if described["kind"] == "ems" and (vector != "own" or predicts):
            raise ConfigError(
                f"encoder {name}: an EMS network has one vector, its mean state, and no head that predicts tokens"
            )
        if vector != "own":
            described["pooling"] = "cls"
        if described["kind"] != "ems":
            described["kind"] = "pretrained"
        model, tokenizer = open_checkpoint(place, name, described["pooling"])
        if tokenizer.symbols:
            raise ConfigError(
                f"encoder {name}: it reads the language of each sentence, and is not trained further"
            )
        head = _pooler_linear(model) if vector == "pooler_linear" else None
        if getattr(model, "pooler", None) is not None and described["pooling"] != "pooler":
            model.pooler = None
        whole = with_token_head(place, name, model) if predicts else None
        return cls(model, tokenizer, described, head=head, whole=whole)

    @property
    def vocabulary(self) -> int:
        """V of the token embedding."""
        return len(self.embedding())

    def embedding(self) -> Tensor:
        """The token embedding (V, D)."""
        return self.network.model.get_input_embeddings().weight

    def is_word(self) -> np.ndarray:
        """Which ids stand for text with a letter or a digit (V,) bool."""
        flags = [any(map(str.isalnum, token or "")) for token in self.tokenizer.tokens()]
        return np.array(flags + [False] * (self.vocabulary - len(flags)))

    def save(self, name: str, languages: Sequence[str], output: Path, training: Mapping[str, Any]) -> None:
        """Write an encoder folder that `load_encoder` opens, with what it was trained on for model cards."""
        card = {**self._card, "name": name, "dim": self.dim, "languages": languages, "training": training}
        if self._head is None:
            save_checkpoint(self._saved, self.tokenizer, output, **card)
        else:
            del card["kind"], card["pooling"]
            first, activation, second = self._head
            layers = [(first, activation), (second, nn.Identity())]
            save_with_layers(self.network.model, self.tokenizer, layers, output, **card)


def _pooler_linear(model: Any) -> nn.Sequential:
    """A linear map and tanh, the checkpoint's pooler where it has one, then a new linear map.

    Source: docs/papers.md#emma-x-vector.
    """
    width = model.config.hidden_size
    first, second = nn.Linear(width, width), nn.Linear(width, width)
    for layer in (first, second):
        nn.init.normal_(layer.weight, std=SPREAD)
        nn.init.zeros_(layer.bias)
    pooler = getattr(model, "pooler", None)
    if pooler is not None:
        first.load_state_dict(pooler.dense.state_dict())
    return nn.Sequential(first, nn.Tanh(), second)


def trainable_encoder(settings: TrainingSettings, inputs: Inputs) -> TrainableEncoder:
    """The encoder that a training begins with: a new one, or the one that it starts from."""
    network = settings.network
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(settings.seed, "weights"))
        if isinstance(network, EncoderNetwork):
            start = inputs.encoders["start"]
            return TrainableEncoder.load(start, network.vector, predicts=settings.predicts_tokens)
        assert inputs.tokens is not None
        return TrainableEncoder.new(network, open_tokenizer(inputs.tokens / TOKENIZER, "new"))
