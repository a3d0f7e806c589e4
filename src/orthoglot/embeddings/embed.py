"""Encode every distinct sentence of a preset once; an interrupted run resumes."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from orthoglot.embeddings.processes import Work, in_processes
from orthoglot.embeddings.settings import EmbeddingSettings
from orthoglot.embeddings.shards import Shard, ShardFiles, make_shards
from orthoglot.embeddings.store import (
    DIGESTS,
    META,
    ROWS,
    VECTORS,
    EmbeddingStore,
    as_stored,
    digests_of,
    index_digest,
)
from orthoglot.encoders.base import Encoder, every_device, for_text, usual_batch
from orthoglot.encoders.folder import card, identity, load_encoder
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import parse_pair
from orthoglot.progress import Done, Meter, weighed
from orthoglot.text.prepared import stream_split
from orthoglot.text.splitting import SPLITS
from orthoglot.usable_vectors import not_finite

logger = logging.getLogger(__name__)


def embed(
    encoder_folder: Path,
    texts: Iterable[tuple[str, str]],
    settings: EmbeddingSettings,
    *,
    device: str,
    checkpoint: Path,
    output: Path,
    processes: int = 1,
    earlier: Path | None = None,
    code: str = "",
) -> None:
    """Write an `EmbeddingStore` into the existing folder `output`.

    Memory holds 24 bytes per sentence for the index and, in each process, the encoder and one shard of sentences with
    their vectors, on a GPU three. Sorting a million sentences or more takes up to 2 GB before that. The bytes are the
    same however often the work was interrupted and by however many processes it was shared. Vectors that an earlier
    store made in the same way are copied; then other sentences are in a batch, which changes the new vectors by
    rounding (`Encoder.encode`).

    Args:
        encoder_folder: The folder with encoder.json.
        texts: Every (language, sentence) that needs a vector, as often as it occurs.
        settings: Precision, tokens per batch and type of the stored numbers.
        device: "cpu", "cuda:1": that one; "cuda", "auto": all visible GPUs, a process for each.
        checkpoint: A folder for sentences and finished shards, kept until the caller removes it.
        output: The folder of the store.
        processes: How many share the work on a CPU, with one thread each; 1 works in this process, with its threads.
        earlier: A folder that may hold a store. Vectors of the same encoder, precision, type, batch size and
            `code` are copied from it.
        code: Digest of the code that makes vectors; part of the digest `maker` of the store.
    Raises:
        ConfigError: The encoder does not cover a language, or there are a million sentences or more and no DuckDB.
        DataError: It gives vectors of a wrong size, not finite, or that the stored type does not hold.
    """
    shards = make_shards(texts, checkpoint / "text")
    devices = [str(visible) for visible in every_device(device)]
    if devices == ["cpu"]:
        devices *= processes
    # Where processes share the work, each has its own encoder, and this one only gives its size.
    alone = _opened(encoder_folder, devices[0], settings) if len(devices) == 1 else None
    encoder = alone or _opened(encoder_folder, "cpu", settings)
    name, dim, counts = encoder.name, encoder.dim, _counts(encoder, shards)
    del encoder
    text_bytes = sum(shard.path.stat().st_size for shard in shards)
    made_by = identity(encoder_folder)
    logger.info("embed: %d sentences of %d languages with %s", sum(counts.values()), len(counts), name)
    files = ShardFiles(checkpoint, _digest(made_by, settings, code), dim, np.dtype(settings.dtype))
    missing = [shard for shard in shards if files.read(shard) is None]
    if len(missing) < len(shards):
        logger.info("embed: resumed with %d of %d shards done", len(shards) - len(missing), len(shards))
    # Longest first: what does not fit in memory fails at once, and processes get similar shares.
    missing.sort(key=lambda shard: -shard.longest)
    known = _earlier(earlier, made_by, files.maker)
    news = [
        int((known.find(shard.sentences(), shard.language) < 0).sum()) if known else shard.count
        for shard in missing
    ]
    if known is not None:
        copied, new = sum(shard.count for shard in missing) - sum(news), sum(news)
        logger.info("embed: %d vectors are copied from the earlier store, %d are new", copied, new)
    # The meter counts bytes of text: the first shards have the longest sentences.
    size = round(sum(new * shard.mean_bytes for new, shard in zip(news, missing, strict=True)))
    with Meter(total=size, label="embed", unit="bytes") as meter:
        if alone is not None:
            work = _worker(alone, text_bytes, files, settings.batch_tokens, known)
            for _ in work(missing, meter.add):
                pass
        else:
            threads = 1 if devices[0] == "cpu" else torch.get_num_threads()
            copied_from = None if known is None else earlier
            start = partial(
                _start, encoder_folder, text_bytes, files, settings, threads, copied_from, made_by
            )
            in_processes(start, devices, missing, meter.add)
    _assemble(files, shards, output / VECTORS)
    description = card(encoder_folder)
    digests, rows = index(shards)
    np.save(output / DIGESTS, digests)
    np.save(output / ROWS, rows)
    meta = {
        "encoder": name,
        "identity": made_by,
        "maker": files.maker,
        # "" for an encoder that was trained here, whose checkpoint is its own folder, ".".
        "checkpoint": Path(description.get("checkpoint", ".")).name,
        "revision": description.get("revision"),
        "pooling": description.get("pooling"),
        "prefix": description.get("prefix"),
        "max_tokens": description.get("max_tokens"),
        "normalised": False,
        "precision": settings.precision,
        "dtype": settings.dtype,
        "dim": dim,
        "n": sum(counts.values()),
        "sentences": counts,
        "index": index_digest(digests, rows),
    }
    if "bits" in description:
        meta["bits"] = description["bits"]
    text = json.dumps(meta, indent=2, sort_keys=True, ensure_ascii=False)
    (output / META).write_text(text + "\n", encoding="utf-8")


def bitext_texts(bitext: Sequence[Path], train_pairs: int) -> Iterator[tuple[str, str]]:
    """Every (language, sentence) of the held-out parts, and of the first training pairs, of prepared language pairs."""
    for folder in bitext:
        source, target = parse_pair(folder.name)
        for split in SPLITS:
            for pair in islice(stream_split(folder, split), train_pairs if split == "train" else None):
                yield source, pair.source
                yield target, pair.target


def index(shards: Sequence[Shard]) -> tuple[np.ndarray, np.ndarray]:
    """Sorted digests of all sentences (N,) and the row of each (N,)."""
    parts = [digests_of(shard.sentences(), shard.language) for shard in shards]
    digests = np.concatenate(parts) if parts else digests_of([], "")
    rows = np.argsort(digests, kind="stable")
    return digests[rows], rows


def _opened(folder: Path, device: str, settings: EmbeddingSettings) -> Encoder:
    encoder = load_encoder(folder, device, settings.precision)
    # Encoders without languages take those of any.
    return replace(cast(Any, encoder), languages=()) if settings.unseen_languages else encoder


def _counts(encoder: Encoder, shards: Sequence[Shard]) -> dict[str, int]:
    """How many sentences there are of each language, all of which the encoder covers."""
    counts: Counter[str] = Counter()
    for shard in shards:
        counts[shard.language] += shard.count
    if encoder.languages and (missing := sorted(counts.keys() - encoder.languages)):
        raise ConfigError(
            f"encoder {encoder.name}: does not cover {', '.join(missing)} of the data; it covers "
            f"{', '.join(encoder.languages)}"
        )
    return dict(counts)


def _digest(identity: str, settings: EmbeddingSettings, code: str) -> str:
    """Digest of what determines a stored vector besides its sentence; the batch size determines its last bits."""
    parts = identity, settings.precision, settings.dtype, settings.batch_tokens, code
    return hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()


def _earlier(folder: Path | None, identity: str, maker: str) -> EmbeddingStore | None:
    """The store in a folder, if its vectors are made as those of this one."""
    try:
        store = EmbeddingStore.open(folder, identity) if folder is not None else None
    except DataError:
        return None
    return store if store is not None and store.meta.get("maker") == maker else None


def _start(
    encoder_folder: Path,
    text_bytes: int,
    files: ShardFiles,
    settings: EmbeddingSettings,
    threads: int,
    earlier: Path | None,
    identity: str,
    device: str,
) -> Work[Shard]:
    """Open the encoder on the device in another process; the same number of threads gives the same sums."""
    torch.set_num_threads(threads)
    encoder = _opened(encoder_folder, device, settings)
    return _worker(
        encoder, text_bytes, files, settings.batch_tokens, _earlier(earlier, identity, files.maker)
    )


def _worker(
    encoder: Encoder,
    text_bytes: int,
    files: ShardFiles,
    batch_tokens: int | None,
    known: EmbeddingStore | None,
) -> Work[Shard]:
    """What reads, encodes, checks and saves the sentences of shards, of a text of so many bytes."""
    encoder, each = for_text(encoder, text_bytes)
    tokens = batch_tokens or usual_batch(encoder)

    def encode(shard: Shard, done: Done) -> None:
        sentences, done = shard.sentences(), weighed(done, shard.mean_bytes)
        if known is None:
            vectors = encoder.encode(sentences, shard.language, tokens, done)
        else:
            rows = known.find(sentences, shard.language)
            new = np.flatnonzero(rows < 0)
            vectors = known.take(rows)
            if len(new):
                unknown = [sentences[row] for row in new]
                vectors[new] = encoder.encode(unknown, shard.language, tokens, done)
        files.save(shard, _checked(vectors, sentences, encoder, shard.language, files.dtype))

    def work(shards: Sequence[Shard], done: Done) -> Iterator[None]:
        return each(lambda shard: encode(shard, done), shards)

    return work


def _checked(
    vectors: np.ndarray, sentences: Sequence[str], encoder: Encoder, language: str, dtype: np.dtype
) -> np.ndarray:
    """The vectors (n, D) as they are stored."""
    expected = (len(sentences), encoder.dim)
    if vectors.shape != expected:
        raise DataError(f"encoder {encoder.name}: vectors {vectors.shape}, expected {expected}")
    if len(bad := not_finite(vectors)):
        sentence = sentences[int(bad[0])]
        raise DataError(f"encoder {encoder.name}: vector of {language} {sentence!r} is not finite")
    cast, bad = as_stored(vectors, dtype)
    if len(bad):
        row = int(bad[0])
        raise DataError(
            f"encoder {encoder.name}: {dtype} does not hold the vector of {language} {sentences[row]!r}, "
            f"whose largest value is {np.abs(vectors[row]).max():.3g}; store float32"
        )
    return cast


def _assemble(files: ShardFiles, shards: Sequence[Shard], path: Path) -> None:
    """All shards, in order, as one file; never more than a shard in memory."""
    n = sum(shard.count for shard in shards)
    header = {"descr": files.dtype.str, "fortran_order": False, "shape": (n, files.dim)}
    # Written, not mapped: a full disk is then an error with a message, not a fatal signal.
    with open(path, "wb") as handle:
        np.lib.format.write_array_header_1_0(handle, header)
        for shard in shards:
            content = files.read(shard)
            if content is None:
                raise DataError(
                    f"embeddings {files.folder}: shard {shard.number} was damaged after it was written"
                )
            handle.write(content)
