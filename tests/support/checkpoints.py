"""Checkpoints of well-known architectures, small and with random weights, so that nothing is downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import nn
from transformers.models.m2m_100.modeling_m2m_100 import M2M100Encoder

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


def gte(folder: Path) -> Path:
    """The network of gte-multilingual, as transformers has it."""
    return _save(transformers.GteModel, transformers.GteConfig(**SIZES), folder, 0)


def jina(folder: Path) -> Path:
    """The network of jina-embeddings-v3, as transformers has it."""
    config = transformers.JinaEmbeddingsV3Config(**SIZES)
    return _save(transformers.JinaEmbeddingsV3Model, config, folder, 0)


def sonar(folder: Path) -> Path:
    """M2M-100's encoder alone, with NLLB's tokenizer, as the port of SONAR has it."""
    pieces = [*SPECIAL, "▁", *dict.fromkeys("".join(WORDS))]
    tokenizer = transformers.NllbTokenizer(vocab={piece: n for n, piece in enumerate(pieces)}, merges=[])
    config = transformers.M2M100Config(
        vocab_size=len(tokenizer),
        d_model=8,
        encoder_layers=2,
        encoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_layers=2,
        max_position_embeddings=64,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        M2M100Encoder(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def embeddinggemma(folder: Path) -> Path:
    """Gemma 3 that sees both sides, mean, two Dense layers without activation, Normalize."""
    config = transformers.Gemma3TextConfig(
        **SIZES, head_dim=4, num_key_value_heads=1, use_bidirectional_attention=True, sliding_window=5
    )
    place = _save(transformers.Gemma3TextModel, config, folder / "bare", 0)
    dense = [Dense(*sizes, bias=False, activation_function=nn.Identity()) for sizes in ((8, 16), (16, 8))]
    return _save_steps([Transformer(str(place)), Pooling(8, "mean"), *dense, Normalize()], folder)


def qwen3(folder: Path) -> Path:
    """Qwen 3 that sees what comes before, padded on the left; the last state, Normalize."""
    config = transformers.Qwen3Config(**SIZES, head_dim=4, num_key_value_heads=1)
    place = _save(transformers.Qwen3Model, config, folder / "bare", 0)
    transformer = Transformer(str(place))
    transformer.tokenizer.padding_side = "left"
    return _save_steps([transformer, Pooling(8, "lasttoken"), Normalize()], folder)


def granite(folder: Path) -> Path:
    """ModernBERT, the first state, Normalize: Granite Embedding R2."""
    return _save_steps([Transformer(str(_modernbert(folder))), Pooling(8, "cls"), Normalize()], folder)


def mmbert(folder: Path) -> Path:
    """ModernBERT, mean, Normalize: mmBERT-Embed."""
    return _save_steps([Transformer(str(_modernbert(folder))), Pooling(8, "mean"), Normalize()], folder)


def minilm(folder: Path) -> Path:
    """BERT and mean, without Normalize: paraphrase-multilingual-MiniLM."""
    return _save_steps([Transformer(str(bert(folder / "bare"))), Pooling(8, "mean")], folder)


def _modernbert(folder: Path) -> Path:
    """Two layers, the second of which sees two tokens on either side."""
    config = transformers.ModernBertConfig(
        **SIZES, global_attn_every_n_layers=2, local_attention=4, bos_token_id=0, eos_token_id=2
    )
    return _save(transformers.ModernBertModel, config, folder / "bare", 0)


def _save_steps(steps: list[nn.Module], folder: Path) -> Path:
    SentenceTransformer(modules=steps, device="cpu").save(str(folder / "model"), create_model_card=False)
    return folder / "model"


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
