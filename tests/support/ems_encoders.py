"""Small EMS encoders with random weights."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from lines import in_memory

from orthoglot.encoders.tokenization import open_tokenizer
from orthoglot.study.pretraining.networks import TrainableEncoder
from orthoglot.study.pretraining.settings import ScratchNetwork, TokenizerSettings
from orthoglot.study.pretraining.tokenizer_training import train_tokenizer

TOKENIZER = TokenizerSettings(
    words="unicode", vocabulary=60, sentences=1000, character_coverage=1.0, threads=1, seed=1
)


def network(*, tokenizer: Mapping[str, Any] | None = None, **changed: Any) -> ScratchNetwork:
    values: dict[str, Any] = {
        "start": "scratch",
        "tokenizer": TOKENIZER.model_copy(update=dict(tokenizer or {})).model_dump(),
        "layers": 2,
        "width": 16,
        "heads": 4,
        "feed_forward": 32,
        "max_tokens": 12,
        "embedding_spread": 1.0,
        "dropout": 0.0,
        "attention_dropout": 0.0,
    }
    return ScratchNetwork.model_validate(values | changed)


def made(settings: ScratchNetwork, text: Mapping[str, Sequence[str]], seed: int = 0) -> TrainableEncoder:
    """With a tokenizer trained on this text."""
    with tempfile.TemporaryDirectory() as folder, torch.random.fork_rng(devices=[]):
        train_tokenizer(settings.tokenizer, in_memory(text), settings.max_tokens, Path(folder))
        torch.manual_seed(seed)
        encoder = TrainableEncoder.new(settings, open_tokenizer(Path(folder), "new"))
        encoder.network.eval()
        return encoder


def write(
    folder: Path,
    text: Mapping[str, Sequence[str]],
    settings: ScratchNetwork,
    *,
    seed: int = 0,
    languages: Sequence[str] | None = None,
) -> TrainableEncoder:
    """Write an encoder folder named "tiny"."""
    folder.mkdir(exist_ok=True)
    encoder = made(settings, text, seed)
    encoder.save("tiny", languages or sorted(text), folder, {})
    return encoder
