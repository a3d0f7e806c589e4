"""The network of an encoder folder as fine-tuning takes it: its states, its sentence vector, and pairs of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from orthoglot.encoders.base import check_tokens, pool
from orthoglot.encoders.folder import card, checkpoint_folder, modules, stated
from orthoglot.encoders.pretrained import attention_mask, open_checkpoint, positions
from orthoglot.encoders.settings import Pooling
from orthoglot.encoders.token_lists import Ragged
from orthoglot.encoders.tokenization import TextTokenizer, open_tokenizer
from orthoglot.errors import ConfigError

# Kinds of encoder folders whose networks are trained further.
OPENED = ("pretrained", "mlm", "ems")
LIBRARY = "sentence-transformers"


class Network(nn.Module):
    """A transformers model with the layers that follow its pooling."""

    def __init__(self, model: Any, pooling: Pooling, layers: nn.Module, pad: int, *, begins: bool) -> None:
        super().__init__()
        self.model = model
        self.pooling = pooling  # of the model's states to the sentence vector
        self.layers = layers  # of the sentence vector
        self.pad = pad  # id of padding
        self.dim: int = model.config.hidden_size  # D of the states
        maps = [layer for layer in layers.modules() if isinstance(layer, nn.Linear)]
        self.width: int = maps[-1].out_features if maps else self.dim  # of the sentence vector
        self.begins = begins  # whether the first token stands for the whole input, as `<s>`

    def first(self, ids: Tensor, second: Tensor | None = None) -> Tensor:
        """The state of the first token, or the mean state where no first token stands for the input, (B, D).

        Args:
            ids: (B, T).
            second: (B, T), 1 where the second text is, 0 elsewhere; None for one text.
        """
        return pool(self._states(ids, second), ids != self.pad, "cls" if self.begins else "mean")

    def forward(self, ids: Tensor) -> Tensor:
        """Sentence vectors (B, D), as those of the frozen encoder but for a prefix."""
        states = self._states(ids, None)
        return self.layers(pool(states, ids != self.pad, self.pooling, getattr(self.model, "pooler", None)))

    def _states(self, ids: Tensor, second: Tensor | None) -> Tensor:
        given = {}
        # The RoBERTa family tells two texts apart by the tokens between them alone.
        config = self.model.config
        if second is not None and not is_roberta(config) and getattr(config, "type_vocab_size", 0) > 1:
            given["token_type_ids"] = second
        mask = attention_mask(self.model, ids != self.pad)
        return self.model(ids, attention_mask=mask, **given).last_hidden_state


@dataclass(frozen=True)
class Opened:
    """A network with its tokenizer."""

    name: str  # of the encoder
    network: Network  # on the CPU
    tokenizer: TextTokenizer  # of its text
    longest: int  # tokens that it reads at most

    def texts(self, sentences: Sequence[str], language: str, max_tokens: int) -> Ragged:
        """Ids of one text each, `<s> a </s>`."""
        ids = self.tokenizer.encode(sentences, language, min(max_tokens, self.longest))
        rows = self.tokenizer.surrounded(ids, language)
        check_tokens(self.name, rows.lengths, sentences)
        return rows

    def pairs(
        self, firsts: Sequence[str], seconds: Sequence[str], language: str, max_tokens: int
    ) -> tuple[Ragged, np.ndarray]:
        """Ids of two texts as one input, and where the second begins (N,).

        `<s> a </s></s> b </s>` of the RoBERTa family, `[CLS] a [SEP] b [SEP]` of others. The longer text loses its
        last token until both fit.
        """
        tokenizer = self.tokenizer
        before, after = tokenizer.before, tokenizer.after
        between = (*after, *after) if is_roberta(self.network.model.config) else after
        room = min(max_tokens, self.longest) - len(before) - len(between) - len(after)
        sides = [tokenizer.encode(side, language, 2**31 - 1) for side in (firsts, seconds)]
        for side, ids in zip((firsts, seconds), sides, strict=True):
            check_tokens(self.name, ids.lengths, side)
        lengths = _fitting(sides[0].lengths, sides[1].lengths, room)
        rows, starts = [], np.empty(len(firsts), dtype=np.int64)
        for number, pair in enumerate(zip(*lengths, strict=True)):
            a, b = (side.ids[side.offsets[number] :][:n] for side, n in zip(sides, pair, strict=True))
            rows.append([*before, *a.tolist(), *between, *b.tolist(), *after])
            starts[number] = len(before) + len(a) + len(between)
        return Ragged.of(rows), starts


def is_roberta(config: Any) -> bool:
    """Whether a model is of the RoBERTa family, as XLM-R is."""
    return "roberta" in config.model_type


def _fitting(first: np.ndarray, second: np.ndarray, room: int) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of two texts whose sum is at most `room`, where the longer of both gives way first."""
    half = room // 2
    fits = first + second <= room
    cut = np.where(second <= half, room - second, np.minimum(first, room - half))
    left = np.where(fits, first, cut)
    return left, np.where(fits, second, room - left)


def open_network(folder: Path) -> Opened:
    """The network of an encoder folder, in float32 on the CPU.

    Raises:
        ConfigError: an encoder that is not trained further: of another kind, or one that reads a language's symbol.
        DataError, OfflineError: as `open_checkpoint`.
    """
    described = card(folder)
    name, kind = described["name"], described["kind"]
    if kind in OPENED:
        place, fields = stated(folder, "pooling", "max_tokens")
        pooling = fields["pooling"]
        layers: nn.Module = nn.Identity()
        model, tokenizer = open_checkpoint(place, name, pooling)
        if pooling != "pooler" and getattr(model, "pooler", None) is not None:
            model.pooler = None
    elif kind == LIBRARY:
        model, tokenizer, pooling, layers = _of_library(folder, name)
    else:
        raise ConfigError(f"encoder {name}: one of kind {kind} cannot be fine-tuned")
    if tokenizer.symbols:
        raise ConfigError(f"encoder {name}: it reads the language of each sentence, and cannot be fine-tuned")
    network = Network(model, pooling, layers, tokenizer.pad, begins=bool(tokenizer.before))
    return Opened(name, network, tokenizer, min(tokenizer.most, positions(model.config)))


def _of_library(folder: Path, name: str) -> tuple[Any, TextTokenizer, Pooling, nn.Module]:
    """Model, tokenizer, pooling and layers of a sentence-transformers model."""
    # Imported here: it takes seconds, and only this kind needs it.
    from orthoglot.encoders.sentence_transformer import SentenceTransformersEncoder

    transformer, pooling, *layers = SentenceTransformersEncoder.load(folder, "cpu").model
    mode = pooling.pooling_mode if isinstance(pooling.pooling_mode, str) else "+".join(pooling.pooling_mode)
    if mode not in ("cls", "mean") or any(type(layer).__name__ != "Dense" for layer in layers):
        raise ConfigError(
            f"encoder {name}: its vector is no first state, nor the mean; it cannot be fine-tuned"
        )
    steps = [part for layer in layers for part in (layer.linear, layer.activation_function)]
    tokenizer = open_tokenizer(modules(checkpoint_folder(folder, card(folder)))[0].folder, name)
    model = transformer.model
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    # The library's hooks give float32 to what follows, whatever the transformer computes in.
    return model, tokenizer, "cls" if mode == "cls" else "mean", nn.Sequential(*steps)


def padded(rows: Ragged, numbers: np.ndarray, pad: int, device: torch.device) -> Tensor:
    """Ids of some rows (B, T) on a device."""
    return torch.from_numpy(rows.padded(numbers, pad)).to(device)
