"""A transformers network and its tokenizer as an encoder: explicit pooling, pinned revision, safetensors, no network.

Kinds `pretrained`, `mlm` and `ems`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModel, AutoModelForMaskedLM

from orthoglot.encoders.base import (
    TokenEncoder,
    check_finite,
    check_language,
    check_tokens,
    compute_dtype,
    placed,
    pool,
    resolve_device,
)
from orthoglot.encoders.folder import save_card, stated
from orthoglot.encoders.settings import Pooling, Precision
from orthoglot.encoders.token_lists import Ragged
from orthoglot.encoders.token_states import Pieces, read_pieces
from orthoglot.encoders.tokenization import (
    CheckpointTokenizer,
    TextTokenizer,
    open_tokenizer,
    quiet,
    unopened,
)
from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.text.string_lists import strings

# Families that take a mask (B, 1, T, T) as it is. Given (B, T), transformers asks the device whether any token is
# masked, and waits for the answer before it starts the first layer.
WHOLE_MASKS = frozenset({"bert", "roberta", "xlm-roberta"})


@dataclass(frozen=True)
class PretrainedEncoder(TokenEncoder):
    """A transformers model, its tokenizer and a pooling; see `Encoder`."""

    pooling: Pooling
    prefix: str
    tokenizer: TextTokenizer
    compiles: bool = False  # whether a GPU's layers are compiled

    @classmethod
    def load(cls, folder: Path, device: str = "cpu", precision: Precision = "float32") -> PretrainedEncoder:
        """Read an encoder folder: encoder.json, and the checkpoint it names.

        The network is an `orthoglot.encoders.int8.Int8Network` if the precision is "int8".

        Raises:
            ConfigError: `max_tokens` is more than the model has positions; the pooling is `pooler`, and there are no
                weights of it; the checkpoint needs code of its own, which is never run; `Int8Network` refuses it.
            DataError: The card is damaged, or safetensors weights are missing.
            OfflineError: Files are missing.
        """
        place, fields = stated(folder, "name", "languages", "pooling", "max_tokens", "prefix")
        name, max_tokens, target = fields["name"], fields["max_tokens"], resolve_device(device)
        dtype = torch.float32 if precision == "int8" else compute_dtype(precision, target)
        model, tokenizer = open_checkpoint(place, name, fields["pooling"], dtype)
        most = min(tokenizer.most, positions(model.config))
        if max_tokens > most:
            raise ConfigError(f"encoder {name}: max_tokens is {max_tokens}, but {place} takes at most {most}")
        network = _pooling_in_float32(model.to(target).eval())
        if precision == "int8":
            # Imported here, as few use it.
            from orthoglot.encoders.int8 import Int8Network

            network = Int8Network(model, name)
        return cls(
            dim=model.config.hidden_size,
            tokenizer=tokenizer,
            model=network,
            device=target,
            **fields,
        )

    @property
    def reads_language(self) -> bool:
        return not isinstance(self.tokenizer, CheckpointTokenizer) or bool(self.tokenizer.symbols)

    def tokens(self, sentences: Sequence[str], language: str) -> Ragged:
        check_tokens(self.name, np.array([len(sentence.strip()) for sentence in sentences]), sentences)
        texts = [self.prefix + sentence for sentence in sentences]
        ids = self.tokenizer.encode(texts, language, self.max_tokens)
        tokens = self.tokenizer.surrounded(ids, language)
        check_tokens(self.name, tokens.lengths, sentences)
        return tokens

    def vectors(self, tokens: Ragged, batch: np.ndarray) -> Tensor:
        if not self._reads_packed:
            return self._pooled(*self._states(tokens, batch))
        from orthoglot.encoders.packed import pack, packed_states, packed_vectors

        packed = pack(tokens.take(batch), self.tokenizer.pad, self.device)
        states = packed_states(self.model, packed, compiles=self.compiles).float()
        return packed_vectors(states, packed, self.pooling, getattr(self.model, "pooler", None))

    @cached_property
    def _reads_packed(self) -> bool:
        if self.device.type == "cpu":
            return False
        # Imported here, as commands on a CPU do not need it.
        from orthoglot.encoders.packed import reads_packed

        return reads_packed(self.model, self.device)

    def pieces(self, sentences: Sequence[str], language: str, batch_tokens: int) -> list[Pieces]:
        sentences = strings(sentences, "sentences")
        spans = self._spans([self.prefix + sentence for sentence in sentences])
        check_language(self.name, self.languages, language)
        tokens = self.tokens(sentences, language)
        before, after = (
            np.zeros((len(ids), 2), dtype=np.int64) for ids in (self.tokenizer.before, self.tokenizer.after)
        )
        room = (tokens.lengths - len(before) - len(after)).tolist()
        cut = [len(row_spans) > most for row_spans, most in zip(spans, room, strict=True)]
        spans = [
            np.concatenate([before, row_spans[:most], after])
            for row_spans, most in zip(spans, room, strict=True)
        ]

        def read(rows: np.ndarray) -> tuple[list[Tensor], Tensor]:
            states, keep = self._states(tokens, rows)
            return [row[mask] for row, mask in zip(states, keep, strict=True)], self._pooled(states, keep)

        return read_pieces(self.name, self.prefix, spans, cut, batch_tokens, read)

    def check_pieces(self) -> None:
        self._spans(["a"])

    def _spans(self, texts: list[str]) -> list[np.ndarray]:
        if self.pooling != "mean":
            raise ConfigError(f"encoder {self.name}: its vector is not the mean of its tokens")
        spans = self.tokenizer.spans(texts)
        if spans is None:
            raise ConfigError(f"encoder {self.name}: its tokenizer does not say where its tokens are")
        return spans

    def _states(self, tokens: Ragged, batch: np.ndarray) -> tuple[Tensor, Tensor]:
        """States of the last layer (B, T, D) of some rows, the longest first, and where there is a token (B, T)."""
        lengths = tokens.lengths[batch]
        keep = placed(torch.from_numpy(np.arange(lengths[0]) < lengths[:, None]), self.device)
        # No mask is needed without padding, and attention is then fastest.
        mask = None if lengths[-1] == lengths[0] else attention_mask(self.model, keep)
        ids = self.padded(tokens, batch)
        return self.model(ids, attention_mask=mask).last_hidden_state.float(), keep

    def _pooled(self, states: Tensor, keep: Tensor) -> Tensor:
        return pool(states, keep, self.pooling, getattr(self.model, "pooler", None))


def _pooling_in_float32(model: Any) -> Any:
    """The model, whose pooler computes in float32 whatever its other layers do, which call it themselves."""
    if model.dtype != torch.float32 and getattr(model, "pooler", None) is not None:
        model.pooler.float()
        model.pooler.register_forward_pre_hook(lambda _, given: tuple(argument.float() for argument in given))
    return model


def attention_mask(model: Any, keep: Tensor) -> Tensor:
    """The mask of padding as a transformers model takes it, from where tokens are (B, T)."""
    config = model.config
    if config.model_type in WHOLE_MASKS and config._attn_implementation == "sdpa":
        return keep[:, None, None, :].expand(-1, 1, keep.shape[1], -1)
    return keep.long()


def open_checkpoint(
    place: Path, name: str, pooling: Pooling, dtype: torch.dtype = torch.float32
) -> tuple[Any, TextTokenizer]:
    """Model and tokenizer of a folder, with every weight that is used taken from the checkpoint.

    Weights that are stored as `dtype` are mapped into memory, so that processes share them; others are converted.
    Errors are those of `PretrainedEncoder.load`.
    """
    if not (place / "config.json").is_file():
        raise OfflineError(f"encoder {name}: {place} holds no config.json; fetch the checkpoint again")
    if not any(place.glob("*.safetensors")):
        raise DataError(f"encoder {name}: {place} holds no .safetensors weights; other formats are not read")
    tokenizer = open_tokenizer(place, name)
    try:
        model, report = _read(_network(place), place, dtype)
    except Exception as error:  # a damaged file makes transformers fail in many ways
        raise unopened(place, name, error) from error
    missing = sorted(report["missing_keys"])
    if pooling == "pooler" and (any("pooler" in key for key in missing) or not hasattr(model, "pooler")):
        raise ConfigError(f"encoder {name}: {place} has no pooler weights; use pooling `cls` or `mean`")
    missing = [key for key in missing if not key.startswith("pooler.")]
    if missing:
        raise DataError(f"encoder {name}: {place} lacks {len(missing)} weights, first {missing[0]}")
    check_finite(name, model)
    return model, tokenizer


def _read(network: Any, place: Path, dtype: torch.dtype) -> tuple[Any, dict[str, Any]]:
    """A checkpoint as a class of transformers reads it, and a report of its weights; its own code is never run."""
    with quiet():
        return network.from_pretrained(
            place,
            use_safetensors=True,
            output_loading_info=True,
            dtype=dtype,
            local_files_only=True,
            trust_remote_code=False,
        )


def _network(place: Path) -> Any:
    """The class of a checkpoint: no Auto class of transformers opens M2M-100's encoder alone, which SONAR is."""
    architectures = json.loads((place / "config.json").read_text(encoding="utf-8")).get("architectures")
    if architectures != ["M2M100Encoder"]:
        return AutoModel
    # It takes a second to import.
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100Encoder

    return M2M100Encoder


def with_token_head(place: Path, name: str, model: Any) -> Any:
    """The masked language model of a checkpoint of the RoBERTa family, with `model` as its encoder.

    Its `lm_head` maps states to logits, and shares the token embedding where the checkpoint says so. A checkpoint of
    another family, or without this head, is a ConfigError.
    """
    refused = ConfigError(
        f"encoder {name}: {place} has no masked language modelling head of the RoBERTa family; give mlm.weight 0"
    )
    try:
        whole, report = _read(AutoModelForMaskedLM, place, torch.float32)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise refused from error
    missing = any(key.startswith("lm_head") for key in report["missing_keys"])
    if not hasattr(whole, "lm_head") or not hasattr(whole, "roberta") or missing:
        raise refused
    whole.roberta = model
    whole.tie_weights()
    return whole


def positions(config: Any) -> int:
    """Tokens for which the model has positions; the RoBERTa family counts them from after the padding id."""
    total = getattr(config, "max_position_embeddings", None) or sys.maxsize
    return total - config.pad_token_id - 1 if "roberta" in config.model_type else total


def save_checkpoint(model: Any, tokenizer: TextTokenizer, output: Path, **card: Any) -> None:
    """Write a transformers model, its tokenizer and a card into an existing folder; weights must be finite.

    The card has `kind`, `name`, `dim`, `languages`, `pooling`, `max_tokens` and, for model cards, `training`.
    """
    check_finite(card["name"], model)
    with quiet():
        model.save_pretrained(output)
        tokenizer.save(output)
    save_card(output, {"checkpoint": ".", "revision": "", "prefix": "", **card})
