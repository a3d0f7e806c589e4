"""A prepared pair of languages, an encoder, and the vectors that its store has of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from orthoglot.embeddings.store import DIGESTS, META, ROWS, VECTORS, digests_of, index_digest
from orthoglot.encoders.folder import identity
from orthoglot.random_streams import stream
from orthoglot.text.bitext import SentencePair, write_pairs


def folders(root: Path, valid: int = 20) -> tuple[Path, Path, Path]:
    """A prepared pair qaa-qab, an encoder and a store of the sentences; the test split has no vectors."""
    pair = root / "bitext" / "qaa-qab"
    pair.mkdir(parents=True)
    sizes = {"train": 60, "valid": valid, "test": 5}
    sentences: dict[str, list[str]] = {"qaa": [], "qab": []}
    for split, n in sizes.items():
        pairs = [SentencePair(f"{split} source {i}", f"{split} target {i}") for i in range(n)]
        if n:
            write_pairs(pair / f"{split}-00000.tsv.zst", pairs)
        if split != "test":
            sentences["qaa"] += [pair.source for pair in pairs]
            sentences["qab"] += [pair.target for pair in pairs]
    (pair / "counts.json").write_text(json.dumps({"kept": sizes}))
    encoder, store = root / "encoder", root / "store"
    encoder.mkdir()
    (encoder / "encoder.json").write_text('{"kind": "ems"}')
    store.mkdir()
    digests = np.concatenate([digests_of(texts, language) for language, texts in sentences.items()])
    rows = np.argsort(digests)
    vectors = torch.randn(len(rows), 8, generator=stream(0)).numpy()
    vectors[60 + valid :] += 3
    np.save(store / VECTORS, vectors)
    np.save(store / DIGESTS, digests[rows])
    np.save(store / ROWS, rows)
    index = index_digest(digests[rows], rows)
    meta = {"encoder": "toy", "identity": identity(encoder), "dim": 8, "n": len(rows), "index": index}
    (store / META).write_text(json.dumps(meta))
    return pair, encoder, store
