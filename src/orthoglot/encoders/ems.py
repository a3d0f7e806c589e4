"""The EMS network: a small BERT without begin and end tokens, whose mean state is the sentence vector."""

from __future__ import annotations

import torch
from torch import nn
from transformers import BertConfig, BertModel

from orthoglot.encoders.kinds.ems import EmsSizes


def new_network(sizes: EmsSizes, vocabulary: int, pad: int) -> BertModel:
    """An untrained network; weights are drawn from PyTorch's global generator.

    u = mean over tokens of h.  Token and position embeddings are added, normalised, and go through post-norm layers
    with swish. Embeddings start as N(0, embedding_spread^2), everything else as PyTorch's default: the paper's start,
    with a spread of 1. The token type embedding of transformers' BERT is zero and stays so.
    Source: EMS Eq. 1; docs/papers.md#ems-encoder.
    """
    network = BertModel(
        BertConfig(
            vocab_size=vocabulary,
            hidden_size=sizes.width,
            num_hidden_layers=sizes.layers,
            num_attention_heads=sizes.heads,
            intermediate_size=sizes.feed_forward,
            hidden_act="silu",
            hidden_dropout_prob=sizes.dropout,
            attention_probs_dropout_prob=sizes.attention_dropout,
            max_position_embeddings=sizes.max_tokens,
            type_vocab_size=1,
            pad_token_id=pad,
        ),
        add_pooling_layer=False,
    )
    for module in network.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            module.reset_parameters()
    embeddings = network.embeddings
    with torch.no_grad():
        embeddings.word_embeddings.weight.mul_(sizes.embedding_spread)
        embeddings.position_embeddings.weight.mul_(sizes.embedding_spread)
    # Its only row counts as padding, so it is zero and gets no gradient.
    embeddings.token_type_embeddings = nn.Embedding(1, sizes.width, padding_idx=0)
    return network
