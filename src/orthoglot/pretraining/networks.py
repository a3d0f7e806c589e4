"""What can be trained on pairs: a new Transformer with its tokenizer, or another encoder that goes on."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from orthoglot.encoders import ems
from orthoglot.encoders.base import pool
from orthoglot.encoders.folder import card, stated
from orthoglot.encoders.pretrained import open_checkpoint, save_checkpoint, with_token_head
from orthoglot.encoders.sentence_transformer import save_with_layers
from orthoglot.encoders.settings import EncoderNetwork, Pooling, ScratchNetwork, Vector, Words
from orthoglot.encoders.tokenization import MASK, Tokenizer
from orthoglot.errors import ConfigError
from orthoglot.pretraining.tokenise import TOKENIZER, CheckpointChain

# Of a new linear map's weights, as of BERT's and XLM-R's.
SPREAD = 0.02
logger = logging.getLogger(__name__)


class Student(Protocol):
    """A network, what it reads, and how it is written down.

    Attributes:
        network: (ids (B, T), padded) -> vectors (B, D), not normalised.
        dim: D.
        vocabulary: V.
        pad: id of what fills up.
        mask: id of what hides a token; None if there is none.
        before, after: ids that the network reads around a sentence and that are no part of it.
        dropout: of its hidden states.
    """

    dim: int
    vocabulary: int
    pad: int
    mask: int | None
    before: tuple[int, ...]
    after: tuple[int, ...]
    dropout: float

    @property
    def network(self) -> nn.Module: ...  # noqa: D102 - told above

    def words(self) -> np.ndarray:
        """Which ids stand for text with a letter or digit in it (V,) booleans."""
        ...

    def embedding(self) -> Tensor:
        """The token embedding (V, D)."""
        ...

    def save(self, name: str, languages: Sequence[str], output: Path, training: Mapping[str, Any]) -> None:
        """Write an encoder folder that `load_encoder` opens, and what it was trained on, for model cards."""
        ...


class EmsStudent:
    """An EMS network and its tokenizer; see `Student`."""

    pad = ems.PAD
    mask: int | None = MASK
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    def __init__(self, network: ems.EmsModel, sizes: ems.Sizes, tokenizer: Path, words: Words):
        """Take a network and the tokenizer file whose ids it reads."""
        self.network = network
        self.sizes = sizes
        self.dim, self.vocabulary, self.dropout = sizes.width, sizes.vocabulary, sizes.dropout
        self._place = tokenizer
        self._tokenizer = Tokenizer(tokenizer, words)

    @classmethod
    def new(cls, settings: ScratchNetwork, place: Path) -> EmsStudent:
        """A network from scratch for the tokenizer in `place`; weights are drawn from PyTorch's global generator."""
        words = settings.tokenizer.words
        shape = settings.model_dump(include=set(ems.Sizes.__dataclass_fields__))
        sizes = ems.Sizes(vocabulary=Tokenizer(place, words).size, **shape)
        return cls(ems.EmsModel(sizes, settings.embedding_spread), sizes, place, words)

    @classmethod
    def load(cls, folder: Path) -> EmsStudent:
        """The encoder of a folder, to go on from where it is.

        Raises:
            DataError: as `EmsEncoder.load`.
        """
        encoder = ems.EmsEncoder.load(folder)
        sizes = ems.Sizes(**card(folder)["sizes"])
        return cls(encoder.model, sizes, folder / TOKENIZER, encoder.tokenizer.words)

    def words(self) -> np.ndarray:
        """See `Student.words`."""
        return _with_words(self._tokenizer.pieces)

    def embedding(self) -> Tensor:
        """See `Student.embedding`."""
        return self.network.tokens.weight

    def save(self, name: str, languages: Sequence[str], output: Path, training: Mapping[str, Any]) -> None:
        """See `Student.save`."""
        shutil.copyfile(self._place, output / TOKENIZER)
        words = self._tokenizer.words
        ems.save(self.network, self.sizes, name, languages, output, words=words, training=training)


class TransformersNetwork(nn.Module):
    """A transformers model and its pooling as one network.

    Attributes:
        projection: what follows the pooling.
        tokens: states of hidden tokens (H, D) to logits (H, V), where such are to be told.
    """

    def __init__(
        self, model: Any, pooling: Pooling, pad: int, projection: nn.Module, tokens: nn.Module | None
    ):
        super().__init__()
        self.model = model
        self.pooling = pooling
        self.pad = pad
        self.projection = projection
        self.tokens = tokens

    def forward(self, ids: Tensor, padded: bool = True) -> Tensor:
        """Ids (B, T) to vectors (B, D)."""
        return self._vectors(self._states(ids, padded), ids)

    def predicted(self, ids: Tensor, padded: bool, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """See `Predicting.predicted`."""
        assert self.tokens is not None
        states = self._states(ids, padded)
        return self._vectors(states, ids), self.tokens(states[hidden])

    def _states(self, ids: Tensor, padded: bool) -> Tensor:
        mask = (ids != self.pad).long() if padded else None
        return self.model(ids, attention_mask=mask).last_hidden_state

    def _vectors(self, states: Tensor, ids: Tensor) -> Tensor:
        pooler = getattr(self.model, "pooler", None)
        return self.projection(pool(states, ids != self.pad, self.pooling, pooler))


class TrainedStudent:
    """A transformers encoder that goes on from where it is; see `Student`. A prefix of its text is left out."""

    def __init__(self, folder: Path, vector: Vector = "own", *, predicts: bool = False):
        """Open an encoder folder of kind `pretrained` or `mlm`; a new projection is drawn from PyTorch's generator.

        Args:
            folder: the encoder's.
            vector: what of its states is the sentence; see `EncoderNetwork`.
            predicts: it is to tell hidden tokens, too, by the head of its checkpoint.
        Raises:
            ConfigError, DataError, OfflineError: as `open_checkpoint`; the checkpoint has no such head.
        """
        place, described = stated(folder, "name", "pooling", "max_tokens", "dim")
        pooling: Pooling = described["pooling"] if vector == "own" else "cls"
        model, self._tokenizer = open_checkpoint(place, described["name"], pooling)
        self._dense = _pooler_linear(model, described["dim"]) if vector == "pooler_linear" else None
        if getattr(model, "pooler", None) is not None and pooling != "pooler":
            model.pooler = None
        self._whole = with_token_head(place, described["name"], model) if predicts else model
        self.network = TransformersNetwork(
            model,
            pooling,
            self._tokenizer.pad_token_id,
            self._dense or nn.Identity(),
            self._whole.lm_head if predicts else None,
        )
        self.dim = described["dim"]
        self.vocabulary = len(self.embedding())
        self.pad, self.mask = self._tokenizer.pad_token_id, self._tokenizer.mask_token_id
        rates = (
            getattr(model.config, name, None) for name in ("hidden_dropout_prob", "dropout", "mlp_dropout")
        )
        self.dropout = next((rate for rate in rates if rate is not None), 0.0)
        self._card = {**described, "pooling": pooling}
        chain = CheckpointChain(self._tokenizer, described["max_tokens"])
        self.before, self.after = chain.before, chain.after

    def words(self) -> np.ndarray:
        """See `Student.words`."""
        return _with_words(self._tokenizer.convert_ids_to_tokens(range(self.vocabulary)))

    def embedding(self) -> Tensor:
        """See `Student.embedding`."""
        return self.network.model.get_input_embeddings().weight

    def save(self, name: str, languages: Sequence[str], output: Path, training: Mapping[str, Any]) -> None:
        """See `Student.save`."""
        card: dict[str, Any] = {
            "name": name,
            "dim": self.dim,
            "languages": languages,
            "max_tokens": self._card["max_tokens"],
            "training": training,
        }
        if self._dense is None:
            pooling = self._card["pooling"]
            save_checkpoint(self._whole, self._tokenizer, output, kind="pretrained", pooling=pooling, **card)
        else:
            save_with_layers(self.network.model, self._tokenizer, list(self._dense), output, **card)


def _pooler_linear(model: Any, width: int) -> nn.Sequential:
    """A linear map and tanh, the checkpoint's pooler where it has one, then a new linear map; methods 6.1."""
    first, second = nn.Linear(width, width), nn.Linear(width, width)
    for layer in (first, second):
        nn.init.normal_(layer.weight, std=SPREAD)
        nn.init.zeros_(layer.bias)
    pooler = getattr(model, "pooler", None)
    if pooler is not None:
        first.load_state_dict(pooler.dense.state_dict())
    return nn.Sequential(first, nn.Tanh(), second)


def _with_words(pieces: Sequence[str | None]) -> np.ndarray:
    return np.array([any(map(str.isalnum, piece or "")) for piece in pieces])


def student_of(
    network: ScratchNetwork | EncoderNetwork,
    start: Path | None,
    tokens: Path,
    seed: int,
    *,
    predicts: bool = False,
) -> Student:
    """The network that settings describe, untrained or as another training left it.

    Args:
        network: its settings.
        start: folder of the encoder that goes on, where the settings name one.
        tokens: folder of `tokenise`, with the tokenizer of a new network.
        seed: of new weights.
        predicts: it is to tell hidden tokens, too.
    Raises:
        ConfigError: an EMS network is to be read in another way than its own, or to tell hidden tokens.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if isinstance(network, EncoderNetwork):
            assert start is not None, f"no folder of {network.encoder}"
            if card(start)["kind"] != "ems":
                return TrainedStudent(start, network.vector, predicts=predicts)
            if network.vector != "own" or predicts:
                raise ConfigError(
                    f"encoder {network.encoder}: an EMS network has one vector, its mean state, and no head that tells "
                    "tokens"
                )
            return EmsStudent.load(start)
        return EmsStudent.new(network, tokens / TOKENIZER)
