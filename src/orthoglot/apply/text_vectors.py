"""Vectors of a long text in a file, encoded block by block; an interrupted call goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from orthoglot.apply.model import Model, in_rows
from orthoglot.apply.smaller_vectors import compact
from orthoglot.atomic import check_no_folder, replacing, reserve
from orthoglot.decomposers.base import Decomposer, unit
from orthoglot.decomposers.own_mean import shifted
from orthoglot.encoders.base import for_text
from orthoglot.errors import DataError
from orthoglot.progress import Done, EarlyMeter, weighed
from orthoglot.text.lines import Text
from orthoglot.usable_vectors import not_finite

# Sentences that are encoded between two notes of how far the work is.
BLOCK = 4096
logger = logging.getLogger(__name__)


def text_vectors(
    model: Model,
    sentences: Iterable[str],
    output: Path,
    *,
    part: str = "meaning",
    language: str | None = None,
    partner: str | None = None,
    block: int = BLOCK,
) -> np.ndarray:
    """Vectors of length 1 of sentences, in their order, mapped from a file; see `write_vectors`.

    Args:
        model: An encoder, or an encoder with a decomposer.
        sentences: Sentences without blank ones; can be read more than once.
        output: The .npy file.
        part, language, partner: See `Model.encode`.
        block: Sentences between two notes; changes no result beyond rounding.
    Returns:
        (N, D) float32, read-only; a sentence whose vector is zero keeps it.
    Raises:
        DataError: a vector is not finite.
    """

    def encode(model: Model, batch: Sequence[str], done: Done) -> np.ndarray:
        return unit(model.encode(batch, part=part, language=language, partner=partner, progress=done))

    made_by = (part, *model.languages_used(part, language, partner))
    write_vectors(model, encode, Text.of(sentences), output, made_by, block=block)
    stored = np.load(output, mmap_mode="r")
    for start in range(0, len(stored), block):
        if len(wrong := not_finite(stored[start : start + block])):
            raise DataError(f"{output}: vector {start + wrong[0]} (from 0) is not finite; remove the file")
    return stored


def with_own_mean(stored: np.ndarray, decomposer: Decomposer, output: Path, shift: np.ndarray) -> np.ndarray:
    """Meaning parts of a text with its own mean in place of the training text's, mapped from a new file.

    Args:
        stored: (N, D), as `text_vectors` gives them.
        decomposer: The decomposer whose meaning parts they are.
        output: The .npy file.
        shift: What is added, see `own_mean.mean_shift`.
    Returns:
        (N, D) float32 of length 1, read-only.
    """
    return _write_blocks(output, stored, lambda block: shifted(block, decomposer, shift))


def write_shifted(output: Path, vectors: Path, shift: np.ndarray, **form: Any) -> Path:
    """Write meaning parts with an `own_mean.mean_shift` added, as they are stored; returns `output`.

    Args:
        output: The .npy file.
        vectors: A .npy file (N, M) float32, not scaled; a row of NaN, a blank line's, stays one, or is 0.
        shift: (M,), what is added.
        form: dim, dtype and binary, see `compact`.
    """

    def change(block: np.ndarray) -> np.ndarray:
        rows = np.flatnonzero(~np.isnan(block[:, 0]))
        return in_rows(compact(block[rows] + shift.astype(np.float32), **form), rows, len(block))

    _write_blocks(output, np.load(vectors, mmap_mode="r"), change)
    return output


def _write_blocks(output: Path, stored: np.ndarray, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Write a function of each block of vectors to a .npy file; returns it mapped, read-only."""
    example = change(np.array(stored[:1]))
    shape = len(stored), example.shape[1]
    with replacing(output) as partial:
        written = np.lib.format.open_memmap(partial, mode="w+", dtype=example.dtype, shape=shape)
        reserve(partial)
        for start in range(0, len(stored), BLOCK):
            written[start : start + BLOCK] = change(np.array(stored[start : start + BLOCK]))
        written.flush()
    vectors: np.ndarray = np.load(output, mmap_mode="r")
    return vectors


def write_vectors(
    model: Model,
    encode: Callable[[Model, Sequence[str], Done], np.ndarray],
    text: Text,
    output: Path,
    made_by: tuple[object, ...],
    *,
    block: int = BLOCK,
) -> None:
    """Write the vector of each line to a row of `output`; a blank line's row is NaN, or 0 of whole numbers.

    Memory holds the sentences and vectors of one block, on a GPU of three. A second call with an equal `made_by` and
    text encodes what is missing and nothing else, and gives the bytes of a call that was not interrupted; any other
    call begins anew.

    Args:
        model: The model.
        encode: The model, sentences (n,), and a function for its progress -> vectors (n, D) of any type.
        text: The text; at least one line is not blank.
        output: The .npy file; how much of it is done is in OUTPUT.json.
        made_by: All that decides the vectors besides the model and the text; its `repr` is compared.
        block: Sentences between two notes.
    Raises:
        DataError: the text has become shorter since it was counted.
    """
    key = hashlib.sha256(repr(((model.identity, *made_by), text.count, text.digest)).encode()).hexdigest()
    note = output.with_name(output.name + ".json")
    check_no_folder(output)
    check_no_folder(note)
    total = text.count - text.blank
    done = _done(note, key) if output.exists() else 0
    rows = ((row, line) for row, line in enumerate(islice(text.lines, text.count)) if line.strip())
    first, size = 0, text.size  # the first row that is not written, and the bytes of text that are left
    for row, line in islice(rows, done):
        first, size = row + 1, size - len(line.encode())
    if done:
        logger.info("encode: resumed with %d of %d sentences done", done, total)
    encoder, each = for_text(model.encoder, text.size)
    threaded = Model(encoder, model.decomposer, model.identity)
    # The meter counts bytes of text: a sentence may take a hundred times as long as another.
    with EarlyMeter(total=size, label=f"encode {output.stem}", unit="bytes") as meter:

        def encoded(batch: list[tuple[int, str]]) -> tuple[list[int], np.ndarray]:
            sentences = [line for _, line in batch]
            share = sum(len(line.encode()) for line in sentences) / len(sentences)
            return [row for row, _ in batch], encode(threaded, sentences, weighed(meter.add, share))

        for numbers, vectors in each(encoded, iter(lambda: list(islice(rows, block)), [])):
            if done == 0:
                note.unlink(missing_ok=True)  # it may be of the file that is replaced here
                shape = (text.count, vectors.shape[1])
                # A new file, as another process may have mapped the old one.
                with replacing(output) as partial:
                    stored = np.lib.format.open_memmap(partial, mode="w+", dtype=vectors.dtype, shape=shape)
                    reserve(partial)
            else:
                stored = np.load(output, mmap_mode="r+")
            done += len(numbers)
            end = text.count if done == total else numbers[-1] + 1
            stored[first:end] = np.nan if vectors.dtype.kind == "f" else 0
            stored[numbers] = vectors
            stored.flush()
            first = end
            with replacing(note) as partial:
                partial.write_text(json.dumps({"key": key, "done": done}))
    if done != total:
        raise DataError(f"the text has become shorter: {done} of {total} sentences are left")


def _done(note: Path, key: str) -> int:
    """How many vectors of this very text are stored."""
    try:
        stored = json.loads(note.read_text())
        return int(stored["done"]) if stored["key"] == key else 0
    except (OSError, ValueError, KeyError, TypeError):
        return 0
