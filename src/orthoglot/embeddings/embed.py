"""Encode every distinct sentence of a preset once; an interrupted run goes on where it was."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orthoglot.atomic import replacing
from orthoglot.corpora.benchmarks import read_benchmark
from orthoglot.corpora.prepare import read_split
from orthoglot.embeddings.store import DIGESTS, META, ROWS, VECTORS, digests_of, index_digest
from orthoglot.encoders.base import Encoder
from orthoglot.encoders.folder import identity
from orthoglot.encoders.load import load_encoder
from orthoglot.encoders.settings import EmbeddingSettings
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import parse_pair
from orthoglot.progress import track

CHUNK = 4096
PLAN = "plan.json"
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chunk:
    """Distinct sentences of one language and similar length, encoded and saved together."""

    language: str
    sentences: list[str]


def embed(
    encoder_folder: Path,
    bitext: Sequence[Path],
    benchmarks: Sequence[Path],
    settings: EmbeddingSettings,
    *,
    device: str,
    checkpoint: Path,
    output: Path,
) -> None:
    """Write an `EmbeddingStore` into the existing folder `output`.

    Holds every sentence of the valid and test splits and of the benchmarks, and of the first `train_pairs`
    training pairs of each language pair.

    Args:
        encoder_folder: with encoder.json.
        bitext: prepared language pairs; the folder's name is the pair.
        benchmarks: prepared benchmarks.
        settings: batch size and number of training pairs.
        device: "auto", "cpu", "cuda", ...
        checkpoint: folder for finished chunks, kept until the caller removes it.
        output: the store.
    Raises:
        ConfigError: the encoder does not cover a language.
        DataError: it gives vectors of a wrong size or not finite.
    """
    sentences = collect(bitext, benchmarks, settings.train_pairs)
    encoder = load_encoder(encoder_folder, device)
    _covered(encoder, sentences)
    chunks = plan(sentences)
    counts = {language: len(texts) for language, texts in sorted(sentences.items())}
    maker = identity(encoder_folder)
    logger.info(
        "embed: %d sentences of %d languages with %s", sum(counts.values()), len(counts), encoder.name
    )
    _prepare(checkpoint, {"identity": maker, "chunks": _digest(chunks), "batch_size": settings.batch_size})
    numbered = list(enumerate(chunks))
    for number, chunk in track(numbered, total=len(numbered), label="embed", unit="chunks"):
        path = checkpoint / f"{number:06d}.npy"
        if not path.exists():
            _save(path, _encode(encoder, chunk, settings.batch_size))
    _assemble(checkpoint, chunks, encoder.dim, output)
    description = json.loads((encoder_folder / "encoder.json").read_text(encoding="utf-8"))
    digests, rows = index(chunks)
    _save(output / DIGESTS, digests)
    _save(output / ROWS, rows)
    meta = {
        "encoder": encoder.name,
        "identity": maker,
        "pooling": description.get("pooling"),
        "max_tokens": description.get("max_tokens"),
        "dim": encoder.dim,
        "n": sum(counts.values()),
        "sentences": counts,
        "index": index_digest(digests, rows),
    }
    text = json.dumps(meta, indent=2, sort_keys=True, ensure_ascii=False)
    (output / META).write_text(text + "\n", encoding="utf-8")


def collect(bitext: Sequence[Path], benchmarks: Sequence[Path], train_pairs: int) -> dict[str, set[str]]:
    """Distinct sentences by language."""
    sentences: dict[str, set[str]] = {}
    for language, texts in _texts(bitext, benchmarks, train_pairs):
        sentences.setdefault(language, set()).update(texts)
    return sentences


def _texts(
    bitext: Sequence[Path], benchmarks: Sequence[Path], train_pairs: int
) -> Iterator[tuple[str, Iterable[str]]]:
    for folder in bitext:
        source, target = parse_pair(folder.name)
        splits = [
            read_split(folder, "train")[:train_pairs],
            read_split(folder, "valid"),
            read_split(folder, "test"),
        ]
        for pairs in splits:
            yield source, [pair.source for pair in pairs]
            yield target, [pair.target for pair in pairs]
    for folder in benchmarks:
        for retrieval in read_benchmark(folder):
            yield retrieval.foreign, retrieval.foreign_sentences
            yield retrieval.pivot, retrieval.pivot_sentences


def plan(sentences: dict[str, set[str]]) -> list[Chunk]:
    """Chunks of at most 4096 sentences, by language and length: alike lengths waste little padding."""
    chunks = []
    for language in sorted(sentences):
        ordered = sorted(sentences[language], key=lambda text: (len(text), text))
        chunks += [Chunk(language, ordered[at : at + CHUNK]) for at in range(0, len(ordered), CHUNK)]
    return chunks


def index(chunks: Sequence[Chunk]) -> tuple[np.ndarray, np.ndarray]:
    """Sorted digests of all sentences (N,) and the row of each (N,)."""
    parts = [digests_of(chunk.sentences, chunk.language) for chunk in chunks]
    digests = np.concatenate(parts) if parts else digests_of([], "")
    rows = np.argsort(digests, kind="stable")
    return digests[rows], rows


def _covered(encoder: Encoder, sentences: dict[str, set[str]]) -> None:
    missing = sorted(set(sentences) - set(encoder.languages)) if encoder.languages else []
    if missing:
        known = ", ".join(encoder.languages)
        raise ConfigError(
            f"encoder {encoder.name}: does not cover {', '.join(missing)} of the data; it covers {known}"
        )


def _digest(chunks: Sequence[Chunk]) -> str:
    return index_digest(*index(chunks))


def _prepare(checkpoint: Path, wanted: dict[str, object]) -> None:
    """Keep finished chunks of the very same plan, throw away any others."""
    path = checkpoint / PLAN
    text = json.dumps(wanted, sort_keys=True)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        done = len(list(checkpoint.glob("*.npy")))
        logger.info("embed: resumed with %d chunks done", done)
        return
    shutil.rmtree(checkpoint, ignore_errors=True)
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _encode(encoder: Encoder, chunk: Chunk, batch_size: int) -> np.ndarray:
    vectors = encoder.encode(chunk.sentences, chunk.language, batch_size)
    expected = (len(chunk.sentences), encoder.dim)
    if vectors.shape != expected:
        raise DataError(f"encoder {encoder.name}: vectors {vectors.shape}, expected {expected}")
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        sentence = chunk.sentences[int(bad[0])]
        raise DataError(f"encoder {encoder.name}: vector of {chunk.language} {sentence!r} is not finite")
    return np.ascontiguousarray(vectors, dtype=np.float32)


def _save(path: Path, array: np.ndarray) -> None:
    with replacing(path) as partial, partial.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def _assemble(checkpoint: Path, chunks: Sequence[Chunk], dim: int, output: Path) -> None:
    """All chunks, in order, as one file; never more than a chunk in memory."""
    n = sum(len(chunk.sentences) for chunk in chunks)
    header = {"descr": "<f4", "fortran_order": False, "shape": (n, dim)}
    # Written, not mapped: a full disk is then an error that can be told, not a signal that kills.
    with open(output / VECTORS, "wb") as handle:
        np.lib.format.write_array_header_1_0(handle, header)
        for number in range(len(chunks)):
            handle.write(np.load(checkpoint / f"{number:06d}.npy", allow_pickle=False).tobytes())
