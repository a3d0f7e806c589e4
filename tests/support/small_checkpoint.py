"""A random XLM-R whose two languages differ by one vector per word, and bitext in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import transformers
from checkpoints import SPECIAL, write_tokenizer

WORDS = 80
DIM = 32
POSITIONS = 24


def write_checkpoint(folder: Path, *, pooler: bool = True, offset: float = 0.05) -> Path:
    """A transformers folder; word bN is embedded as word aN plus one random vector, `offset` long per entry."""
    vocabulary = [*SPECIAL, *(f"{side}{n:02}" for side in "ab" for n in range(WORDS))]
    config = transformers.XLMRobertaConfig(
        vocab_size=len(vocabulary),
        hidden_size=DIM,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=POSITIONS,
        pad_token_id=1,
    )
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        model = transformers.XLMRobertaModel(config, add_pooling_layer=pooler)
        rows = model.embeddings.word_embeddings.weight
        rows[4 + WORDS :] = rows[4 : 4 + WORDS] + offset * torch.randn(DIM)
    model.save_pretrained(folder)
    write_tokenizer(folder, vocabulary[len(SPECIAL) :], POSITIONS - 2)
    return folder


def make_pairs(n: int, seed: int = 0) -> list[tuple[str, str]]:
    """Sentences of six words aN and the same words bN."""
    rows = np.random.default_rng(seed).integers(WORDS, size=(n, 6))
    return [tuple(" ".join(f"{side}{word:02}" for word in row) for side in "ab") for row in rows]


def write_tsv(path: Path, pairs: list[tuple[str, str]]) -> Path:
    """The pairs as a TSV file."""
    path.write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    return path
