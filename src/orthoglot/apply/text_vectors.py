"""Vectors of a long text in a file, encoded block by block; an interrupted call goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from orthoglot.apply.model import Model
from orthoglot.atomic import replacing, reserve
from orthoglot.decomposers.base import unit
from orthoglot.errors import DataError
from orthoglot.finite import not_finite
from orthoglot.progress import Meter

# Sentences that are encoded between two notes of how far the work is.
BLOCK = 4096


def text_vectors(
    model: Model,
    sentences: Sequence[str],
    output: Path,
    *,
    part: str = "meaning",
    language: str | None = None,
    partner: str | None = None,
    block: int = BLOCK,
) -> np.ndarray:
    """Vectors of length 1 of sentences, in their order, mapped from `output`.

    Memory holds the vectors of one block. A second call with the same model, text and options encodes what is missing
    and nothing else; any other call begins anew.

    Args:
        model: an encoder, or an encoder with a decomposer.
        sentences: without blank ones.
        output: .npy file; how much of it is done is in OUTPUT.json.
        part: see `Model.encode`, as are `language` and `partner`.
        language: of the sentences.
        partner: of the sentences that they are compared with.
        block: sentences between two notes; changes no result beyond rounding.
    Returns:
        (N, D) float32, read-only; a sentence whose vector is zero keeps it.
    Raises:
        DataError: a vector is not finite.
    """
    digest = hashlib.sha256(repr((model.identity, part, language, partner, len(sentences))).encode())
    for sentence in sentences:
        digest.update(f"{sentence}\n".encode())
    key, note = digest.hexdigest(), output.with_name(output.name + ".json")
    done = _done(note, key) if output.exists() else 0
    with Meter(total=len(sentences), label=f"encode {output.stem}", unit="sentences") as meter:
        meter.add(done)
        for start in range(done, len(sentences), block):
            rows = sentences[start : start + block]
            vectors = unit(model.encode(rows, part=part, language=language, partner=partner))
            if start == 0:
                shape = (len(sentences), vectors.shape[1])
                stored = np.lib.format.open_memmap(output, mode="w+", dtype=np.float32, shape=shape)
                reserve(output)
            else:
                stored = np.load(output, mmap_mode="r+")
            stored[start : start + len(rows)] = vectors
            stored.flush()
            with replacing(note) as partial:
                partial.write_text(json.dumps({"key": key, "done": start + len(rows)}))
            meter.add(len(rows))
    stored = np.load(output, mmap_mode="r")
    for start in range(0, len(stored), block):
        if len(wrong := not_finite(stored[start : start + block])):
            raise DataError(f"{output}: vector {start + wrong[0]} (from 0) is not finite; remove the file")
    return stored


def _done(note: Path, key: str) -> int:
    """How many vectors of this very text are stored."""
    try:
        found = json.loads(note.read_text())
        return int(found["done"]) if found["key"] == key else 0
    except (OSError, ValueError, KeyError, TypeError):
        return 0
