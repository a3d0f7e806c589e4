"""Sentences per second of a frozen encoder on a CPU: processes, precisions, and SentenceTransformer.encode.

    python measurements/speed-of-encoding/encode_processes.py CHECKPOINT 2000 text.tsv.gz ...

CHECKPOINT: a folder for transformers and sentence-transformers, such as `orthoglot get me5-small` writes. The
sentences are the first columns of the files, as many of each. All ways take turns, in one run; loading is not timed.
README.md has a table that this printed.
"""

from __future__ import annotations

import gzip
import statistics
import sys
import tempfile
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import torch

from orthoglot.encoders.folder import load_encoder
from orthoglot.encoders.frozen_folder import link
from orthoglot.encoders.kinds.pretrained import PretrainedSettings

REPEATS, SHARD, BATCH_TOKENS, PREFIX = 5, 128, 2048, "query: "
WAYS = {  # name: (way, processes)
    "orthoglot, float32, 1 process": ("float32", 1),
    "orthoglot, float32, 2 processes": ("float32", 2),
    "orthoglot, bfloat16, 1 process": ("bfloat16", 1),
    "orthoglot, bfloat16, 2 processes": ("bfloat16", 2),
    "SentenceTransformer, float32, 32 rows, 2 threads": ("32", 1),
    "SentenceTransformer, float32, 64 rows, 2 threads": ("64", 1),
}


def serve(connection: Connection, folder: Path, checkpoint: Path, with_library: bool) -> None:
    """In a process of its own: answer (way, shards) with vectors and CPU seconds."""
    encoders = {precision: load_encoder(folder, "cpu", precision) for precision in ("float32", "bfloat16")}
    if with_library:
        from sentence_transformers import SentenceTransformer

        library = SentenceTransformer(
            str(checkpoint), device="cpu", local_files_only=True, model_kwargs={"dtype": torch.float32}
        )
    connection.send("ready")
    while (asked := connection.recv()) is not None:
        way, shards = asked
        start = time.process_time()
        if way in encoders:
            torch.set_num_threads(1)
            vectors = [encoders[way].encode(shard, "", BATCH_TOKENS) for shard in shards]
        else:
            torch.set_num_threads(2)
            texts = [sentence for shard in shards for sentence in shard]
            vectors = [library.encode(texts, prompt=PREFIX, batch_size=int(way), show_progress_bar=False)]
        connection.send((np.concatenate(vectors), time.process_time() - start))


def main() -> None:
    """Take the ways in turn, and print a table."""
    checkpoint, count, files = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    texts: list[str] = []
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            rows = [line.rstrip("\n").split("\t")[0] for line in lines]
        texts += rows[: count // len(files)]
    texts.sort(key=len, reverse=True)
    shards = [texts[start : start + SHARD] for start in range(0, len(texts), SHARD)]
    context = get_context("spawn")
    with tempfile.TemporaryDirectory() as place:
        settings = PretrainedSettings(
            kind="pretrained", checkpoint=str(checkpoint.resolve()), revision="local", pooling="mean",
            prefix=PREFIX, licence="as the checkpoint says",
        )  # fmt: skip
        link(settings, "measured", Path(place))
        connections = []
        for number in range(2):
            ours, theirs = context.Pipe()
            arguments = (theirs, Path(place), checkpoint, number == 0)
            context.Process(target=serve, args=arguments, daemon=True).start()
            connections.append(ours)
        for connection in connections:
            connection.recv()
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    work: dict[str, list[float]] = {name: [] for name in WAYS}
    vectors: dict[str, np.ndarray] = {}
    for repeat in range(REPEATS + 1):
        for name, (way, processes) in WAYS.items():
            given = [shards[number::processes] for number in range(processes)]
            given = [one[:1] for one in given] if repeat == 0 else given  # a warm-up
            start = time.perf_counter()
            for connection, share in zip(connections[:processes], given, strict=True):
                connection.send((way, share))
            answers = [connection.recv() for connection in connections[:processes]]
            if repeat:
                seconds[name].append(time.perf_counter() - start)
                work[name].append(sum(cpu for _, cpu in answers))
                vectors[name] = np.concatenate([found for found, _ in answers])
    for connection in connections:
        connection.send(None)
    echo(f"{len(texts)} sentences, {statistics.mean(map(len, texts)):.0f} characters each")
    echo("| Way | Sentences per second | The same, per CPU second |\n|---|---|---|")
    for name in WAYS:
        shown = []
        for taken in (seconds[name], work[name]):
            rates = sorted(len(texts) / one for one in taken)
            shown.append(f"{statistics.median(rates):.0f} ({rates[0]:.0f} to {rates[-1]:.0f})")
        echo(f"| {name} | {' | '.join(shown)} |")
    exact, rounded = (unit(vectors[f"orthoglot, {one}, 1 process"]) for one in ("float32", "bfloat16"))
    cosines = (exact * rounded).sum(axis=1)
    echo(f"cosine of bfloat16 with float32: mean {cosines.mean():.6f}, least {cosines.min():.6f}")
    library = unit(vectors["SentenceTransformer, float32, 32 rows, 2 threads"])
    echo(f"largest difference from SentenceTransformer: {np.abs(exact - library).max():.1e}")
    for precision in ("float32", "bfloat16"):
        alone = vectors[f"orthoglot, {precision}, 1 process"]
        shared = vectors[f"orthoglot, {precision}, 2 processes"]
        order = np.concatenate([np.arange(len(texts)).reshape(-1) // SHARD % 2 == part for part in (0, 1)])
        again = np.empty_like(shared)
        again[np.flatnonzero(order) % len(texts)] = shared
        echo(f"{precision}: the same bytes from two processes: {np.array_equal(alone, again)}")


def echo(line: str) -> None:
    """Write a line to standard output."""
    sys.stdout.write(line + "\n")


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length 1."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


if __name__ == "__main__":
    main()
