"""Pretraining EMS: steps, tokens and model FLOPs per second, ours and the straightforward loop on the same pairs.

python measurements/speed-of-pretraining/ems.py                    # sizes of ems-small on generated sentences, CPU
python measurements/speed-of-pretraining/ems.py --bitext DATA/bitext   # the same on prepared real text
python measurements/speed-of-pretraining/ems.py --ours-only --compile   # what torch.compile does
python measurements/speed-of-pretraining/ems.py --encoder ems-paper --device cuda --pairs 608 --ours-only

Both train on the same tokenised pairs, with the same sizes, batch and number of threads, ways taken in turn round
by round; median and range over rounds of a step, collation and optimiser included. The straightforward loop is
tests/support/straightforward_ems.py, whose losses and gradients the tests hold ours against. Model FLOPs count
the matrix products that real tokens need (padding earns nothing), three times the forward pass; the machine's rate is
that of one square product of the same precision.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/support"))

import numpy as np
import straightforward_ems as naive
import torch

from orthoglot.encoders.tokenization import open_tokenizer
from orthoglot.study import config
from orthoglot.study.pretraining.collate import EmsCollator
from orthoglot.study.pretraining.kinds.ems import EmsSettings
from orthoglot.study.pretraining.networks import TrainableEncoder
from orthoglot.study.pretraining.sampling import RowSampler
from orthoglot.study.pretraining.settings import ScratchNetwork
from orthoglot.study.pretraining.tokenise import TOKENIZER, tokenise
from orthoglot.study.pretraining.tokenised import Bitext, languages_of, read_bitext
from orthoglot.study.pretraining.trainer import WEIGHT_DECAY, scheduler
from orthoglot.study.pretraining.trainings.ems import EmsModel
from orthoglot.text.bitext import SentencePair, write_pairs

ROOT = Path(__file__).resolve().parents[2]
Take = Callable[[], None]


def generated(folder: Path, pairs: int) -> list[Path]:
    """Sentences of invented words whose lengths are spread as those of real text are (log-normal, mean 14 words)."""
    draw = np.random.default_rng(0)
    words = ["".join(draw.choice(list("aeioubdgklmnprst"), draw.integers(2, 9))) for _ in range(30_000)]
    rank = 1 / np.arange(1, len(words) + 1)
    place = folder / "en-de"
    place.mkdir(parents=True)

    lengths = np.clip(draw.lognormal(2.4, 0.65, pairs), 1, 100).astype(int)
    others = np.maximum(1, (lengths * draw.normal(1, 0.15, pairs)).astype(int))

    def sentences(lengths: np.ndarray) -> list[str]:
        drawn = draw.choice(words, int(lengths.sum()), p=rank / rank.sum())
        return [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]

    rows = list(map(SentencePair, sentences(lengths), sentences(others)))
    splits = {"train": rows, "valid": rows[:100]}
    for split, some in splits.items():
        write_pairs(place / f"{split}-00000.tsv.zst", some)
    (place / "counts.json").write_text(
        json.dumps({"kept": {name: len(some) for name, some in splits.items()}})
    )
    return [place]


def matmul_rate(device: torch.device, dtype: torch.dtype) -> float:
    """FLOP per second of a large square product, the best of several."""
    n = 2048 if device.type == "cpu" else 8192
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    best = float("inf")
    for _ in range(8):
        synchronise(device)
        start = time.perf_counter()
        a @ b
        synchronise(device)
        best = min(best, time.perf_counter() - start)
    return 2 * n**3 / best


def synchronise(device: torch.device) -> None:
    """Wait for an accelerator."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(take: Take, steps: int, device: torch.device) -> float:
    """Seconds of one of several steps, on an accelerator without waiting in between."""
    synchronise(device)
    start = time.perf_counter()
    for _ in range(steps):
        take()
    synchronise(device)
    return (time.perf_counter() - start) / steps


def model_flops(settings: EmsSettings, vocabulary: int, lengths: np.ndarray) -> float:
    """Matrix products of a forward and a backward pass over sentences of these lengths, two FLOP per product."""
    shape = settings.network
    assert isinstance(shape, ScratchNetwork)
    d, f, tokens, rows = shape.width, shape.feed_forward, float(lengths.sum()), len(lengths)
    layer = tokens * (4 * d * d + 2 * d * f) + 2 * d * float((lengths.astype(float) ** 2).sum())
    joint = d + settings.language_width
    heads = rows * (joint * joint + joint * vocabulary + d * d + d * settings.projection_width)
    return 3 * 2 * (shape.layers * layer + heads + rows / 2 * rows / 2 * settings.projection_width)


def ours(
    settings: EmsSettings,
    encoder: TrainableEncoder,
    data: Bitext,
    batches: Iterator[np.ndarray],
    device: torch.device,
    *,
    compiled: bool = False,
) -> Take:
    """One step of ours: collation, forward and backward pass, optimiser; with the encoder compiled or not."""
    model = EmsModel(settings, encoder, int(data.languages.max()) + 1).to(device).train()
    if compiled:
        model.encoder = torch.compile(model.encoder, dynamic=True)  # type: ignore[assignment]
    options = {"lr": settings.learning_rate, "weight_decay": WEIGHT_DECAY, "fused": True}
    optimizer = torch.optim.Adam(model.parameters(), amsgrad=settings.amsgrad, **options)
    rates = scheduler(optimizer, warmup=settings.warmup_steps, steps=settings.steps, shape=settings.schedule)
    collate, generator = EmsCollator(settings, encoder, device), np.random.default_rng(0)

    def take() -> None:
        rows = next(batches)
        values = model(collate(data, rows, generator))
        optimizer.zero_grad(set_to_none=True)
        values["total"].backward()
        optimizer.step()
        rates.step()

    return take


def straightforward(
    settings: EmsSettings, vocabulary: int, data: Bitext, batches: Iterator[np.ndarray]
) -> Take:
    """One step of the straightforward loop."""
    shape = settings.network
    assert isinstance(shape, ScratchNetwork)
    sizes = vocabulary, shape.layers, shape.width, shape.heads, shape.feed_forward, shape.max_tokens
    encoder = naive.Encoder(*sizes)
    languages = int(data.languages.max()) + 1
    widths = settings.language_width, shape.width, settings.projection_width
    model = naive.Model(encoder, naive.Heads(languages, *widths, vocabulary), settings.temperature)
    options = {"lr": settings.learning_rate, "weight_decay": WEIGHT_DECAY}
    optimizer = torch.optim.Adam(model.parameters(), amsgrad=settings.amsgrad, **options)

    def take() -> None:
        rows = next(batches)
        of_rows = data.languages_of(rows).tolist()
        sides = [
            [side.ids[side.offsets[row] : side.offsets[row + 1]].tolist() for row in rows]
            for side in (data.source, data.target)
        ]
        samples = [(a, b, x, y) for a, b, (x, y) in zip(*sides, of_rows, strict=True)]
        naive.step(model, optimizer, samples)

    return take


def say(line: str) -> None:
    """One line on standard output."""
    sys.stdout.write(line + "\n")


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    add = parser.add_argument
    add("--encoder", default="ems-small", help="entry of params.yaml")
    add("--bitext", type=Path, help="folder of prepared pair folders; generated sentences without it")
    add("--pairs", type=int, help="of a step; that of the encoder without it")
    add("--precision", choices=["float32", "bfloat16"])
    add("--chunk-tokens", type=int)
    add("--device", default="cpu")
    add("--threads", type=int, default=os.cpu_count())
    add("--steps", type=int, default=4, help="of each way in a round")
    add("--rounds", type=int, default=8)
    add("--ours-only", action="store_true")
    add("--compile", action="store_true", help="also with the encoder under torch.compile")
    arguments = parser.parse_args()
    if arguments.device != "cpu" and not arguments.ours_only:
        parser.error("the straightforward loop runs on a CPU: add --ours-only")
    return arguments


def main() -> None:
    """Measure and print one table and a line of JSON."""
    arguments = parsed()
    torch.set_num_threads(arguments.threads)
    device = torch.device(arguments.device)
    catalogue: Any = config.load(ROOT / "params.yaml").encoders
    changed = {
        "batch_size": arguments.pairs,
        "precision": arguments.precision,
        "chunk_tokens": arguments.chunk_tokens,
    }
    settings = catalogue[arguments.encoder].model_copy(
        update={name: value for name, value in changed.items() if value is not None}
    )
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        bitext = sorted(arguments.bitext.iterdir()) if arguments.bitext else generated(home / "text", 60_000)
        (home / "tokens").mkdir()
        tokenise(settings.tokens, bitext, checkpoint=home / "cutting", output=home / "tokens")
        tokenizer = open_tokenizer(home / "tokens" / TOKENIZER, "new")
        encoder = TrainableEncoder.new(settings.network, tokenizer)
        data = read_bitext(bitext, "train", home / "tokens")
        sampler = RowSampler(
            sizes=data.sizes,
            batch_size=settings.batch_size,
            steps=10**6,
            steps_per_epoch=1000,
            temperature=settings.sampling_temperature,
            seed=1,
        )
        order = [rows for _, rows in sampler.numbered(0, 0)]
        lengths = data.source.lengths, data.target.lengths
        tokens = statistics.fmean(sum(int(side[rows].sum()) for side in lengths) for rows in order[:200])
        flops = statistics.fmean(
            model_flops(settings, encoder.vocabulary, np.concatenate([side[rows] for side in lengths]))
            for rows in order[:200]
        )
        ways = {"ours": ours(settings, encoder, data, iter(order), device)}
        if not arguments.ours_only:
            ways["straightforward"] = straightforward(settings, encoder.vocabulary, data, iter(order))
        if arguments.compile:
            ways["compiled"] = ours(settings, encoder, data, iter(order), device, compiled=True)
        for take in ways.values():
            for _ in range(6 if arguments.compile else 2):
                take()
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(arguments.rounds):
            for name, take in ways.items():
                seconds[name].append(timed(take, arguments.steps, device))
        dtype = torch.bfloat16 if settings.precision == "bfloat16" else torch.float32
        rate = matmul_rate(device, dtype)
    say(
        f"{arguments.encoder}: {settings.batch_size} pairs, {tokens:.0f} tokens, {flops / 1e9:.1f} GFLOP a step; "
        f"{len(languages_of(bitext))} languages, vocabulary {encoder.vocabulary}, {settings.precision}, {device}, "
        f"{arguments.threads} threads, torch {torch.__version__}; product {rate / 1e9:.0f} GFLOP/s"
    )
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    for name, values in seconds.items():
        middle = medians[name]
        say(
            f"{name:16} {1e3 * middle:8.1f} ms [{1e3 * min(values):.1f}, {1e3 * max(values):.1f}]  "
            f"{1 / middle:6.2f} steps/s  {tokens / middle:8.0f} tokens/s  MFU {flops / middle / rate:.1%}"
        )
    if "straightforward" in medians:
        say(f"straightforward / ours: {medians['straightforward'] / medians['ours']:.2f}")
    say(json.dumps({"seconds": seconds, "tokens": tokens, "flops": flops, "product_flops_per_second": rate}))


if __name__ == "__main__":
    main()
