"""Sentences that a network reads one after the other, without padding.

For networks of the families BERT and RoBERTa on a GPU; a CPU computes the same, for tests. Not measured on a GPU.
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from orthoglot.encoders.base import placed, pool
from orthoglot.encoders.compiled import compiled
from orthoglot.encoders.settings import Pooling
from orthoglot.encoders.token_lists import Ragged

FAMILIES = frozenset({"bert", "roberta", "xlm-roberta"})
# Batches are filled up to a multiple of so many tokens: few shapes occur, and each occurs often.
STEP = 512
# The longest sentence is rounded up to a multiple of so many tokens, the rows of one block of attention.
BLOCK = 128
# Sentences of padding that fill up a batch, of 1 to BLOCK tokens each.
FILLING = -(-(STEP - 1) // (BLOCK - 1))
logger = logging.getLogger(__name__)


class Packed(NamedTuple):
    """S sentences one after the other, then `FILLING` sentences of padding."""

    ids: Tensor  # of all sentences (T,) int64
    cuts: Tensor  # sentence i is ids[cuts[i] : cuts[i + 1]]; (S + FILLING + 1,) int32
    longest: int  # at least the tokens of the longest sentence


def pack(sentences: Ragged, pad: int, device: torch.device) -> Packed:
    """Sentences of at least one token each, on a device."""
    tokens = len(sentences.ids)
    size = -(-(tokens + FILLING) // STEP) * STEP
    ids = np.full(size, pad, dtype=np.int64)
    ids[:tokens] = sentences.ids
    filling = tokens + (size - tokens) * np.arange(FILLING + 1) // FILLING
    cuts = np.concatenate([sentences.offsets[:-1], filling]).astype(np.int32)
    longest = -(-int(sentences.lengths.max()) // BLOCK) * BLOCK
    return Packed(placed(torch.from_numpy(ids), device), placed(torch.from_numpy(cuts), device), longest)


def packed_vectors(states: Tensor, packed: Packed, pooling: Pooling, pooler: nn.Module | None) -> Tensor:
    """Sentence vectors (S, D) from the states of the last layer (T, D); see `orthoglot.encoders.base.pool`."""
    cuts = packed.cuts[:-FILLING]
    if pooling != "mean":
        first = states[cuts[:-1]][:, None]
        return pool(first, torch.ones_like(first[..., 0], dtype=torch.bool), pooling, pooler)
    states = states if states.dtype == torch.float64 else states.float()
    # It adds up in the same order each time; its checks, which are left out, would wait for the device.
    return torch.segment_reduce(states, "mean", offsets=cuts, axis=0, unsafe=True)


def packed_states(model: Any, packed: Packed, *, compiles: bool = False) -> Tensor:
    """States of the last layer (T, D) of a transformers model of the `FAMILIES`, with its dropout.

    A GPU's layers are compiled if they are called often enough for that (`compiles`).
    """
    owners = _owners(packed)
    places = torch.arange(len(packed.ids), device=owners.device) - packed.cuts[owners]
    # The RoBERTa family counts positions from after the padding id.
    first = 0 if model.config.model_type == "bert" else model.config.pad_token_id + 1
    # Padding may be longer than the sentences that the model has positions for.
    positions = places.masked_fill(owners >= len(packed.cuts) - 1 - FILLING, 0) + first
    embedded = model.embeddings(input_ids=packed.ids[None], position_ids=positions[None])
    # A view would be compiled apart from the states of the other layers.
    states = embedded[0].clone()
    mask = owners[:, None] == owners if states.device.type == "cpu" else None
    run = _compiled_layer if compiles and states.is_cuda else _layer
    for layer in model.encoder.layer:
        states = run(layer, states, packed.cuts, packed.longest, mask)
    return states


def _owners(packed: Packed) -> Tensor:
    """The sentence of each token (T,)."""
    places = torch.arange(len(packed.ids), dtype=torch.int32, device=packed.cuts.device)
    return torch.searchsorted(packed.cuts, places, right=True) - 1


def _layer(layer: Any, states: Tensor, cuts: Tensor, longest: int, mask: Tensor | None) -> Tensor:
    """One layer over states (T, D); see `_attention`."""
    heads = layer.attention.self
    query, key, value = (
        part(states).unflatten(1, (heads.num_attention_heads, -1))
        for part in (heads.query, heads.key, heads.value)
    )
    dropout = heads.dropout.p if layer.training else 0.0
    context = _attention(query, key, value, cuts, longest, mask, dropout)
    attended = layer.attention.output(context.flatten(1), states)
    return layer.output(layer.intermediate(attended), attended)


_compiled_layer = compiled(_layer)


def _attention(
    query: Tensor, key: Tensor, value: Tensor, cuts: Tensor, longest: int, mask: Tensor | None, dropout: float
) -> Tensor:
    """Attention (T, heads, d) of each token to its own sentence, by the mask (T, T) of these where there is one.

    PyTorch's public `varlen_attn` has no dropout and no float32; these are the operators beneath it and beneath nested
    tensors. Both have deterministic algorithms, which `torch.use_deterministic_algorithms` chooses.
    """
    if mask is not None:
        query, key, value = (part.transpose(0, 1)[None] for part in (query, key, value))
        context = functional.scaled_dot_product_attention(query, key, value, mask, dropout)
        return context[0].transpose(0, 1)
    if query.dtype == torch.float32:
        return torch.ops.aten._efficient_attention_forward(
            query[None], key[None], value[None], None, cuts, cuts, longest, longest, dropout, 0, True
        )[0][0]
    return torch.ops.aten._flash_attention_forward(
        query, key, value, cuts, cuts, longest, longest, dropout, False, False
    )[0]


def reads_packed(model: Any, device: torch.device) -> bool:
    """Whether a transformers model reads packed sentences on this device: a GPU, where its attention works."""
    if device.type != "cuda" or model.config.model_type not in FAMILIES:
        return False
    heads = model.config.num_attention_heads
    return attention_works(heads, model.config.hidden_size // heads, device)


@torch.inference_mode(False)
@torch.enable_grad()
def attention_works(heads: int, width: int, device: torch.device) -> bool:
    """Whether the operators of `_attention` give what its mask gives: they are not public, and may change."""
    cuts = torch.tensor([0, 1, 20, 48], dtype=torch.int32, device=device)
    owners = torch.searchsorted(cuts, torch.arange(48, dtype=torch.int32, device=device), right=True)
    same = owners[:, None] == owners
    drawn = torch.randn(48, heads, width, generator=torch.Generator().manual_seed(0)).to(device)
    try:
        for dtype, tolerance in ((torch.float32, 1e-3), (torch.bfloat16, 0.1)):
            given = drawn.to(dtype).requires_grad_()
            values = []
            for mask in (same, None):
                context = _attention(given, given, given, cuts, BLOCK, mask, 0.0)
                (slope,) = torch.autograd.grad(context.sum(), given)
                values.append(torch.stack([context.detach(), slope]).float())
            expected, packed = values
            if not (packed - expected).norm() < tolerance * expected.norm():
                raise RuntimeError(f"attention in {dtype} gives something else")
    except (RuntimeError, TypeError) as error:
        logger.info("sentences are read with padding (%s)", " ".join(str(error).split())[:500])
        return False
    return True
