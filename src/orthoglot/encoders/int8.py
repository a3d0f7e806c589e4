"""Precision `int8` on a CPU: a network of the BERT family in 8-bit integers, computed by CTranslate2."""

from __future__ import annotations

import tempfile
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from orthoglot.errors import ConfigError

FAMILIES = ("bert", "roberta", "xlm-roberta")


class Int8Network:
    """Stands in for the transformers model of an encoder that is used on a CPU.

    It computes in as many threads as PyTorch has when it is made.

    A matrix has one scale a row, W = diag(s) Q with |Q| <= 127; so have the states that it is multiplied with. Sums are
    in 32-bit integers; softmax, LayerNorm, biases and the pooling after the last layer are in float32.
    """

    config = SimpleNamespace(model_type="ctranslate2")

    def __init__(self, model: Any, name: str) -> None:
        """Convert the float32 model of the encoder `name`, whose weights are rounded in place: do not use it again.

        Raises:
            ConfigError: The model is of another family or activation, or on a GPU; CTranslate2 is not installed.
        """
        config = model.config
        if config.model_type not in FAMILIES or config.hidden_act != "gelu":
            raise ConfigError(
                f"encoder {name}: precision int8 is for networks of the families {', '.join(FAMILIES)} with GELU"
            )
        if model.device.type != "cpu":
            raise ConfigError(f"encoder {name}: precision int8 is for the CPU; give device cpu, or bfloat16")
        try:
            import ctranslate2
        except ImportError as error:
            raise ConfigError(
                f"encoder {name}: precision int8 needs CTranslate2: pip install 'orthoglot[int8]'"
            ) from error
        self.pooler = getattr(model, "pooler", None)  # the model's own layer on the states
        specification = _specification(model)
        specification.validate()
        specification.optimize("int8")
        self._view = ctranslate2.StorageView.from_array
        with tempfile.TemporaryDirectory() as folder:
            specification.save(folder)
            threads = torch.get_num_threads()
            self._network = ctranslate2.Encoder(folder, compute_type="int8_float32", intra_threads=threads)

    def __call__(self, ids: Tensor, attention_mask: Tensor | None) -> SimpleNamespace:
        """The states of the last layer (B, T, D) float32, as `last_hidden_state`.

        Args:
            ids: (B, T), padded at the end.
            attention_mask: (B, T), 1 where there is a token; None without padding.
        """
        rows, longest = ids.shape
        lengths = torch.full((rows,), longest) if attention_mask is None else attention_mask.sum(1)
        given = (self._view(tensor.to(torch.int32).numpy()) for tensor in (ids, lengths))
        states = np.array(self._network.forward_batch(*given).last_hidden_state)
        return SimpleNamespace(last_hidden_state=torch.from_numpy(states))


def _specification(model: Any) -> Any:
    """The weights of a model of the BERT family where CTranslate2 expects them.

    Its own converters take a name of the hub, and of these families only models with a pooler or a classifier.
    """
    from ctranslate2.specs import common_spec, transformer_spec

    config = model.config
    encoder = transformer_spec.TransformerEncoderSpec(
        config.num_hidden_layers,
        config.num_attention_heads,
        pre_norm=False,
        activation=common_spec.Activation.GELU,
        layernorm_embedding=True,
        num_source_embeddings=2,
        embeddings_merge=common_spec.EmbeddingsMerge.ADD,
    )
    specification = transformer_spec.TransformerEncoderModelSpec(encoder, pooling_layer=False)
    specification.config.layer_norm_epsilon = config.layer_norm_eps
    specification.config.unk_token = "0"  # ids are given, so the words do not matter
    specification.register_vocabulary([str(i) for i in range(config.vocab_size)])
    encoder.scale_embeddings = False
    source = model.embeddings
    encoder.embeddings[0].weight = source.word_embeddings.weight.detach()
    encoder.embeddings[1].weight = source.token_type_embeddings.weight.detach()
    # The RoBERTa family counts positions from after the padding id.
    first = 0 if config.model_type == "bert" else config.pad_token_id + 1
    encoder.position_encodings.encodings = source.position_embeddings.weight[first:].detach()
    _norm(encoder.layernorm_embedding, source.LayerNorm)
    for layer, block in zip(encoder.layer, model.encoder.layer, strict=True):
        attention, feed_forward = layer.self_attention, layer.ffn
        projections = block.attention.self
        _linear(attention.linear[0], projections.query, projections.key, projections.value)
        _linear(attention.linear[1], block.attention.output.dense)
        _norm(attention.layer_norm, block.attention.output.LayerNorm)
        _linear(feed_forward.linear_0, block.intermediate.dense)
        _linear(feed_forward.linear_1, block.output.dense)
        _norm(feed_forward.layer_norm, block.output.LayerNorm)
    return specification


def _norm(target: Any, source: nn.LayerNorm) -> None:
    target.gamma, target.beta = source.weight.detach(), source.bias.detach()


def _linear(target: Any, *sources: nn.Linear) -> None:
    target.weight = torch.cat([source.weight.detach() for source in sources])
    target.bias = torch.cat([source.bias.detach() for source in sources])
