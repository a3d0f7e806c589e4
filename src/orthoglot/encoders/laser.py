"""LASER2: a BiLSTM over lower-cased subwords whose largest states are the sentence.

Source: docs/papers.md#sentence-vectors.
"""

from __future__ import annotations

import functools
import hashlib
import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import torch
from sacremoses import MosesPunctNormalizer
from safetensors.torch import save_file
from torch import Tensor, nn

from orthoglot import atomic
from orthoglot.checksums import is_damaged
from orthoglot.encoders.base import (
    TokenEncoder,
    check_tokens,
    compute_dtype,
    open_converted,
    open_pieces,
    resolve_device,
)
from orthoglot.encoders.folder import stated
from orthoglot.encoders.kinds.laser import hint
from orthoglot.encoders.ragged import Ragged
from orthoglot.encoders.settings import Precision
from orthoglot.encoders.tokenization import log_truncated
from orthoglot.errors import ConfigError, DataError, OfflineError

PAD, END, UNKNOWN = 1, 2, 3
RESERVED = {"<s>": 0, "<pad>": PAD, "</s>": END, "<unk>": UNKNOWN}


@dataclass(frozen=True)
class LaserSizes:
    """What shapes the network; LASER2 has 50004 pieces, width 320, 5 layers of 512 in each direction."""

    vocabulary: int
    width: int
    hidden: int
    layers: int


class LaserModel(nn.Module):
    """Token ids to sentence vectors.

    h = BiLSTM(E ids);  u_k = max_t h_tk over the tokens of the sentence, its end token among them

    Every direction of every layer sees a sentence's own tokens only, and padded states count as -inf, so neither
    the amount of padding nor its side changes a vector. There is no language embedding: in LASER 1 and 2 the
    encoder is the same for all languages (LASER 1 has one in its decoder, which is not published here).
    Source: docs/papers.md#sentence-vectors; Artetxe and Schwenk 2019.
    """

    def __init__(self, sizes: LaserSizes):
        super().__init__()
        # Named as in the official weights.
        self.embed_tokens = nn.Embedding(sizes.vocabulary, sizes.width, padding_idx=PAD)
        self.lstm = nn.LSTM(
            sizes.width, sizes.hidden, num_layers=sizes.layers, bidirectional=True, batch_first=True
        )

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Ids (B, T) filled up with 1 at the end, tokens per row (B,) on the CPU; to (B, D), not normalised."""
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed_tokens(ids), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, padding_value=float("-inf")
        )
        return states.max(dim=1).values


@functools.cache
def _punctuation(language: str) -> MosesPunctNormalizer:
    return MosesPunctNormalizer(language)


class LaserTokenizer:
    """LASER2's chain from raw sentence to ids: Moses punctuation of the language, lower case, SentencePiece.

    The language decides how quotation marks and numbers are normalised; each side of a pair gets its own code
    (docs/papers.md#oracle-laser-languages), and English rules stand in for an unknown one (""). The official scripts
    leave it at English unless another language is given.
    """

    unknown = UNKNOWN

    def __init__(self, folder: Path, name: str):
        """Read vocab.json and sentencepiece.model of the encoder `name`.

        Raises:
            DataError: one of them is damaged.
        """
        self._pieces = open_pieces(folder, name)
        try:
            self._ids: dict[str, int] = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"encoder {name}: {folder} cannot be read ({error})") from error

    def encode(self, sentences: Sequence[str], language: str, max_tokens: int) -> Ragged:
        """Ids of raw sentences truncated so that an end token fits; a piece that LASER did not see has the id 3."""
        normalise = _punctuation(language or "en").normalize
        rows = self._pieces.encode([normalise(one).lower() for one in sentences], out_type=str, num_threads=1)
        log_truncated(sum(len(row) >= max_tokens for row in rows), len(sentences), language, max_tokens)
        return Ragged.of([[self._ids.get(piece, UNKNOWN) for piece in row[: max_tokens - 1]] for row in rows])


@dataclass(frozen=True)
class LaserEncoder(TokenEncoder):
    """A converted LASER2; see `Encoder`."""

    tokenizer: LaserTokenizer

    @classmethod
    def load(cls, folder: Path, device: str = "cpu", precision: Precision = "float32") -> LaserEncoder:
        """Read an encoder folder: encoder.json, and the folder that it names, which `convert` wrote.

        Raises:
            DataError: a file is damaged or does not fit the stated sizes.
            OfflineError: the converted LASER2 is not on this machine.
        """
        place, fields = stated(folder, "name", "languages", "max_tokens")
        target = resolve_device(device)
        sizes, model = open_converted(place, fields["name"], LaserSizes, LaserModel)
        return cls(
            dim=2 * sizes.hidden,
            tokenizer=LaserTokenizer(place, fields["name"]),
            model=model.to(target, compute_dtype(precision, target)).eval(),
            device=target,
            **fields | {"languages": tuple(fields["languages"])},
        )

    def tokens(self, sentences: Sequence[str], language: str) -> Ragged:
        """See `TokenEncoder.tokens`."""
        pieces = self.tokenizer.encode(sentences, language, self.max_tokens)
        check_tokens(self.name, pieces.lengths, sentences)
        return pieces.surrounded([], [END])

    def vectors(self, tokens: Ragged, batch: np.ndarray) -> Tensor:
        """See `TokenEncoder.vectors`."""
        return self.model(self.padded(tokens, batch, PAD), torch.from_numpy(tokens.lengths[batch]))


def convert(weights: Path, pieces: Path, output: Path) -> None:
    """Turn LASER2's official files into a checkpoint folder without pickled code.

    Args:
        weights: laser2.pt; only numbers, strings and tensors are read from it, and no code is run.
        pieces: laser2.spm.
        output: a new folder: model.safetensors, config.json (sizes, SHA-256 of both sources), vocab.json (piece
            to id), sentencepiece.model. It appears whole or not at all.
    Raises:
        ConfigError: `output` is there already.
        DataError: a file is not what LASER2 has.
        OfflineError: a file is not here; the message has the command that fetches it.
    """
    if output.exists():
        raise ConfigError(f"{output}: is there already; name a new folder")
    for path in (weights, pieces):
        if not path.is_file():
            raise OfflineError(f"{path} is not on this machine; {hint(str(output))}")
    sizes, state, vocabulary = _read(weights)
    model = LaserModel(sizes)
    try:
        model.load_state_dict(state)
        sentencepiece.SentencePieceProcessor(model_proto=pieces.read_bytes())
    except RuntimeError as error:
        raise DataError(f"{weights}, {pieces}: {' '.join(str(error).split())}") from error
    sources = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (weights, pieces)}
    with atomic.building(output) as folder:
        save_file({name: tensor.contiguous() for name, tensor in state.items()}, folder / "model.safetensors")
        (folder / "sentencepiece.model").write_bytes(pieces.read_bytes())
        _write_json(folder / "vocab.json", vocabulary)
        _write_json(folder / "config.json", {"sizes": asdict(sizes), "sha256": sources})


def _read(weights: Path) -> tuple[LaserSizes, dict[str, Tensor], dict[str, int]]:
    """Sizes, tensors and dictionary of laser2.pt, which names them `params`, `model` and `dictionary`."""
    if is_damaged(weights):
        raise DataError(f"{weights}: not the weights of LASER2 (a checksum in it does not fit)")
    try:
        content: Mapping[str, Any] = torch.load(weights, map_location="cpu", weights_only=True)
        params = content["params"]
        if not params["bidirectional"] or params["padding_idx"] != PAD:
            raise ValueError("not LASER's bidirectional LSTM")
        sizes = LaserSizes(
            vocabulary=params["num_embeddings"],
            width=params["embed_dim"],
            hidden=params["hidden_size"],
            layers=params["num_layers"],
        )
        state = {str(name): tensor.float() for name, tensor in content["model"].items()}
        vocabulary = {str(piece): int(number) for piece, number in content["dictionary"].items()} | RESERVED
    except (
        pickle.UnpicklingError,
        RuntimeError,
        EOFError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
    ) as error:
        cause = str(error).split("\n")[0]
        raise DataError(f"{weights}: not the weights of LASER2 ({type(error).__name__}: {cause})") from error
    if any(not 0 <= number < sizes.vocabulary for number in vocabulary.values()):
        raise DataError(f"{weights}: its dictionary has ids beyond its {sizes.vocabulary} embeddings")
    return sizes, state, vocabulary


def _write_json(path: Path, content: Any) -> None:
    path.write_text(
        json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8"
    )
