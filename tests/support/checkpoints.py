"""Checkpoints of well-known architectures, small and with random weights, so that nothing is downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from orthoglot.encoders.kinds.pretrained import PretrainedSettings

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
WORDS = ["the", "cat", "sat", "on", "a", "mat", "query"]
SIZES = {
    "vocab_size": 11,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 18,
    "pad_token_id": 1,
}


def pretrained(checkpoint: object, **changes: Any) -> PretrainedSettings:
    """Settings of a frozen checkpoint: means of at most 8 tokens."""
    usual = {"kind": "pretrained", "revision": "", "pooling": "mean", "max_tokens": 8, "licence": "none"}
    return PretrainedSettings.model_validate({**usual, "checkpoint": str(checkpoint), **changes})


def xlmr(folder: Path, *, pooler: bool = True, seed: int = 0) -> Path:
    """XLM-R, as InfoXLM, multilingual E5 and the multilingual S-BERT have it."""
    config = transformers.XLMRobertaConfig(**SIZES)
    return _save(transformers.XLMRobertaModel, config, folder, seed, add_pooling_layer=pooler)


def bert(folder: Path, seed: int = 0) -> Path:
    """BERT, as LaBSE has it."""
    return _save(transformers.BertModel, transformers.BertConfig(**SIZES), folder, seed)


def _save(
    kind: type, config: transformers.PretrainedConfig, folder: Path, seed: int, **options: bool
) -> Path:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        kind(config, **options).save_pretrained(folder)
    write_tokenizer(folder, WORDS, 16)
    return folder


def write_tokenizer(folder: Path, words: Sequence[str], longest: int) -> None:
    """A tokeniser of whole words, with a start and an end token, for sentences of up to `longest` tokens."""
    vocabulary = {word: n for n, word in enumerate([*SPECIAL, *words])}
    built = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    built.pre_tokenizer = pre_tokenizers.Whitespace()
    built.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = {
        f"{role}_token": piece for role, piece in zip(("bos", "pad", "eos", "unk"), SPECIAL, strict=True)
    }
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=built, cls_token="<s>", sep_token="</s>", model_max_length=longest, **names
    ).save_pretrained(folder)
