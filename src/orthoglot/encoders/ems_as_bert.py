"""An EMS encoder as a stock BERT: the same numbers under transformers' names, and its tokenizer.json."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from orthoglot.encoders.ems import EmsEncoder, EmsModel, Layer
from orthoglot.errors import ConfigError

# Under "layers.N." here and under "encoder.layer.N." there; qkv is three layers there.
_PARTS = {
    "mix": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "norm": "output.LayerNorm",
}


def write_bert(home: Path, output: Path) -> None:
    """Write config.json, model.safetensors, tokenizer.json and tokenizer_config.json for transformers' Auto classes.

    BERT with swish, positions without a row for padding, and one token type that adds nothing; a mean over its last
    states is EMS's vector. Text has no begin or end tokens and is cut after the same number of tokens.

    Args:
        home: an EMS encoder's folder.
        output: an existing folder.
    Raises:
        ConfigError: its tokenizer cuts words by Moses' rules.
        DataError: as `EmsEncoder.load`.
    """
    encoder = EmsEncoder.load(home)
    try:
        chain = encoder.tokenizer.chain
    except ConfigError as error:
        raise ConfigError(f"encoder {encoder.name}: cannot be exported: {error}") from error
    bert(encoder.model).save_pretrained(output)
    PreTrainedTokenizerFast(
        tokenizer_object=chain,
        pad_token="<pad>",
        unk_token="<unk>",
        model_max_length=encoder.max_tokens,
        split_special_tokens=True,  # "<pad>" in a text is text
    ).save_pretrained(output)


def bert(model: EmsModel) -> BertModel:
    """The network with the weights of `model`; its pooler is zero and not part of the sentence vector."""
    layers = [layer for layer in model.layers if isinstance(layer, Layer)]
    vocabulary, width = model.tokens.weight.shape
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=len(layers),
        num_attention_heads=layers[0].heads,
        intermediate_size=layers[0].up.out_features,
        hidden_act="silu",
        hidden_dropout_prob=model.dropout.p,
        attention_probs_dropout_prob=layers[0].attention_dropout,
        max_position_embeddings=model.positions.num_embeddings - 1,
        type_vocab_size=1,
        layer_norm_eps=model.norm.eps,
        pad_token_id=model.tokens.padding_idx,
    )
    weights: dict[str, Tensor] = {
        "embeddings.word_embeddings.weight": model.tokens.weight,
        "embeddings.position_embeddings.weight": model.positions.weight[1:],
        "embeddings.token_type_embeddings.weight": torch.zeros(1, width),
        # transformers draws an absent pooler at random and warns of it.
        "pooler.dense.weight": torch.zeros(width, width),
        "pooler.dense.bias": torch.zeros(width),
    }
    for kind in ("weight", "bias"):
        weights[f"embeddings.LayerNorm.{kind}"] = getattr(model.norm, kind)
        for number, layer in enumerate(layers):
            place = f"encoder.layer.{number}."
            for ours, theirs in _PARTS.items():
                weights[f"{place}{theirs}.{kind}"] = getattr(getattr(layer, ours), kind)
            for name, rows in zip(("query", "key", "value"), getattr(layer.qkv, kind).chunk(3), strict=True):
                weights[f"{place}attention.self.{name}.{kind}"] = rows
    network = BertModel(config)
    network.load_state_dict({name: tensor.detach().cpu() for name, tensor in weights.items()})
    return network.eval()
