"""Static encoders, a StaticEmbedding of sentence-transformers: the mean of one row of a table for each token."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer as Splitter
from torch import Tensor
from torch.nn.functional import embedding_bag

from orthoglot.encoders.base import (
    TokenEncoder,
    check_finite,
    check_tokens,
    compute_dtype,
    placed,
    resolve_device,
)
from orthoglot.encoders.folder import STATIC, modules, stated
from orthoglot.encoders.sentence_transformer import check_modules, drop_normalize
from orthoglot.encoders.settings import Precision
from orthoglot.encoders.token_lists import Ragged
from orthoglot.encoders.tokenization import Tokenizer, quiet, unopened
from orthoglot.errors import DataError

TOKENIZER = "tokenizer.json"


class StaticTokenizer(Tokenizer):
    """The tokenizer.json of a static encoder; it adds no token to those of the text."""

    pad = 0  # not read: sentences are not padded

    def __init__(self, splitter: Splitter) -> None:
        self.most: int | None = (splitter.truncation or {}).get("max_length")  # its limit, if it states one
        splitter.no_truncation()
        splitter.no_padding()
        # A Unigram states its unknown token by id, other models by name.
        model = json.loads(splitter.to_str())["model"]
        self.unknown = model.get("unk_id", splitter.token_to_id(model.get("unk_token") or ""))
        self._splitter = splitter

    def _rows(self, sentences: list[str], _: str) -> list[list[int]]:
        encodings = self._splitter.encode_batch_fast(sentences, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]


@dataclass(frozen=True)
class StaticEncoder(TokenEncoder):
    """A StaticEmbedding and the modules after it, but for a closing Normalize; see `Encoder`.

    e = f(sum_t W[i_t] / T), with ids i_t of T tokens, the table W (V, D), and f the modules after it. An unknown token
    has a row as any other. Source: docs/papers.md#sentence-vectors.
    """

    prefix: str

    @property
    def reads_language(self) -> bool:
        return False

    @classmethod
    def load(cls, folder: Path, device: str = "cpu", precision: Precision = "float32") -> StaticEncoder:
        """Read an encoder folder: encoder.json, and the model it names; bfloat16 halves the table.

        Raises:
            ConfigError: A module is not the library's own; the precision is int8.
            DataError: Files are absent or damaged, or weights are not in safetensors.
        """
        # Imported here: it takes seconds, and only this kind needs it.
        from sentence_transformers import SentenceTransformer

        place, fields = stated(folder, "name", "languages", "max_tokens", "prefix")
        name, target = fields["name"], resolve_device(device)
        check_modules(place, name, STATIC)
        if not (path := modules(place)[0].folder / TOKENIZER).is_file():  # the library would not say so
            raise DataError(f"encoder {name}: {path} is absent")
        try:
            with quiet():
                model: Any = SentenceTransformer(
                    str(place), device=str(target), local_files_only=True
                ).float()
            drop_normalize(model)
            tokenizer = StaticTokenizer(model.tokenizer)
            model.encode(["a"], show_progress_bar=False)  # some damage is only met then
            rows, size = len(model[0].embedding.weight), max(model.tokenizer.get_vocab().values()) + 1
        except Exception as error:  # a damaged file makes the libraries fail in many ways
            raise unopened(place, name, error) from error
        if rows < size:
            raise DataError(f"encoder {name}: {place} has {size} tokens, but rows of {rows} only")
        check_finite(name, model)
        model[0].to(compute_dtype(precision, target))
        return cls(
            dim=model.get_embedding_dimension(),
            tokenizer=tokenizer,
            model=model.eval(),
            device=target,
            **fields,
        )

    def tokens(self, sentences: Sequence[str], language: str) -> Ragged:
        check_tokens(self.name, np.array([len(sentence.strip()) for sentence in sentences]), sentences)
        ids = self.tokenizer.encode([self.prefix + text for text in sentences], language, self.max_tokens)
        check_tokens(self.name, ids.lengths, sentences)
        return ids

    def vectors(self, tokens: Ragged, batch: np.ndarray) -> Tensor:
        bags = tokens.take(batch)
        ids, starts = (placed(torch.from_numpy(part), self.device) for part in (bags.ids, bags.offsets[:-1]))
        table, *steps = self.model
        features = {"sentence_embedding": embedding_bag(ids, table.embedding.weight, starts.to(ids)).float()}
        for step in steps:
            features = step(features)
        return features["sentence_embedding"]


def open_tokenizer(place: Path, name: str) -> StaticTokenizer:
    """The tokenizer of a static encoder; a damaged one is a DataError."""
    path = modules(place)[0].folder / TOKENIZER
    try:
        return StaticTokenizer(Splitter.from_file(str(path)))
    except Exception as error:  # tokenizers raises that very class
        raise DataError(f"encoder {name}: {path} cannot be read ({error})") from error
