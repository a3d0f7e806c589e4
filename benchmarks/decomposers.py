"""Training decomposers: steps per second against the straightforward loop and the matrix products' limit.

python benchmarks/decomposers.py            # steps, d = 768 and 1024, then the grid
python benchmarks/decomposers.py --steps    # steps only
python benchmarks/decomposers.py --grid     # the grid only
python benchmarks/decomposers.py --device cuda

Same vectors, batch 512, one CPU thread on either side, ways taken in turn round by round; median and range of a
step. The straightforward loop is tests/support/straightforward.py, whose losses and weights the tests hold
ours against. The grid: 8 methods x 5 seeds on one encoder's vectors through the command line, all in one process
and each model in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/support"))

import numpy as np
import straightforward
import torch
import yaml
from orthoglot.training.stacked import Stack, Trainer
from torch import Tensor

from orthoglot.corpora.bitext import SentencePair, write_pairs
from orthoglot.decomposers.linear import linear
from orthoglot.embeddings.store import DIGESTS, META, ROWS, VECTORS, digests_of, index_digest
from orthoglot.encoders.folder import identity
from orthoglot.objectives.base import Objective
from orthoglot.streams import Draws, stream
from orthoglot.training.batching import PairRows, cut, pairs_of, together
from orthoglot.training.decompose import MODULES
from orthoglot.training.settings import MethodSettings

ROOT = Path(__file__).resolve().parents[1]
BATCH, LANGUAGES, SEEDS, ROUNDS, RATE = 512, 7, (1, 2, 3, 4, 5), 5, 1e-4
PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
METHODS = {name: MethodSettings.model_validate(values) for name, values in PARAMS["methods"].items()}
GRID = (
    "dream",
    "dream+oracle",
    "dream+oracle-released",
    "meat",
    "meat+oracle",
    "meat+oracle-released",
    "oracle",
    "seed",
)
Steps = Callable[[int], None]


def world(dim: int, pairs: int, device: str) -> tuple[Tensor, PairRows]:
    """Random vectors of English and six other languages in turn."""
    vectors = torch.randn(2 * pairs, dim, generator=stream(0))
    places = torch.arange(pairs)
    rows = PairRows(places, places + pairs, torch.zeros_like(places), 1 + places % (LANGUAGES - 1))
    return vectors.to(device), rows.each(lambda t: t.to(device))


def ours(name: str, vectors: Tensor, rows: PairRows, seeds: tuple[int, ...]) -> Steps:
    """Steps of a stack of one model per seed, cutting of batches included."""
    method, dim, device = METHODS[name], vectors.shape[1], vectors.device

    def build(chosen: Any) -> Stack:
        maps = MODULES[method.architecture](dim, [stream(seed, "maps") for seed in chosen])
        heads = [stream(seed, "heads") for seed in chosen]
        objective = Objective(method.terms, dim=dim, n_languages=LANGUAGES, generator=heads)
        return Stack(maps.to(device), objective.to(device))

    trainer = Trainer(build, lambda stack, batch: pairs_of(stack.maps, vectors, batch, LANGUAGES), RATE)
    trainer.start(seeds)

    def run(steps: int) -> None:
        some = rows.each(lambda t: t[: steps * BATCH])
        parts = [
            cut(
                some,
                method.partners,
                batch_size=BATCH,
                drop_last=True,
                order=Draws(seed, "order"),
                partners=Draws(seed, "partners"),
            )[0]
            for seed in seeds
        ]
        batches = together(parts)
        for number in range(steps):
            trainer.step(batches[number])

    return run


def theirs(name: str, vectors: Tensor, rows: PairRows) -> Steps:
    """Steps of the straightforward loop, its DataLoader included."""
    dim, device = vectors.shape[1], vectors.device
    kinds = {"seed": straightforward.Seed, "dream": straightforward.Dream, "meat": straightforward.Meat}
    host, _, oracle = name.partition("+")
    extra = (True,) if oracle else ()
    twin: Any = kinds[host](dim, LANGUAGES, RATE, *extra)
    for value in vars(twin).values():
        if isinstance(value, torch.nn.Module):
            value.to(device)
    columns = vectors[rows.source], vectors[rows.target], rows.source_language, rows.target_language

    def run(steps: int) -> None:
        some = straightforward.Rows(*(column[: steps * BATCH] for column in columns))
        for batch in straightforward.loader(some, BATCH):
            twin.step(*batch)

    return run


def products(maps: int, vectors: Tensor) -> Steps:
    """The matrix products alone that a step cannot do without: each map's outputs and its weights' gradient."""
    dim = vectors.shape[1]
    x, g = (torch.randn(2 * BATCH, dim, generator=stream(k)).to(vectors.device) for k in (1, 2))
    weights = [linear(dim, dim, stream(k)).weight.detach().to(vectors.device) for k in range(maps)]

    def run(steps: int) -> None:
        for _ in range(steps):
            for weight in weights:
                torch.mm(x, weight.T)
                torch.mm(g.T, x)

    return run


def measured(ways: dict[str, Steps], device: str, steps: int) -> dict[str, list[float]]:
    """Seconds of a step by way, in turns."""
    found: dict[str, list[float]] = {way: [] for way in ways}
    for count in [2] + [steps] * ROUNDS:
        for way, run in ways.items():
            if device != "cpu":
                torch.cuda.synchronize()
            started = time.perf_counter()
            run(count)
            if device != "cpu":
                torch.cuda.synchronize()
            if count == steps:
                found[way].append((time.perf_counter() - started) / steps)
    return found


def told(seconds: list[float]) -> str:
    """Median and range in milliseconds."""
    return f"{np.median(seconds) * 1e3:.2f} ({min(seconds) * 1e3:.2f} to {max(seconds) * 1e3:.2f})"


def compare_steps(dim: int, device: str) -> None:
    """One line per method: the three ways, and what they come to."""
    steps = 6 if device == "cpu" else 200
    vectors, rows = world(dim, steps * BATCH, device)
    for name in ("seed", "dream", "dream+oracle", "meat", "meat+oracle"):
        maps = 1 if METHODS[name].architecture == "residual" else 2
        ways = {
            "straightforward": theirs(name, vectors, rows),
            "one model": ours(name, vectors, rows, SEEDS[:1]),
            "five models": ours(name, vectors, rows, SEEDS),
            "products": products(maps, vectors),
        }
        found = measured(ways, device, steps)
        middle = {way: float(np.median(seconds)) for way, seconds in found.items()}
        flops = 8 * BATCH * dim * dim * maps
        # A parameter is read and written with its two moments, its gradient written and read; a row of the batch
        # is read once as a sentence and its parts written, read, and their gradients written and read.
        traffic = 4 * (8 * maps * dim * dim + 2 * BATCH * dim * (2 + 4 * 2))
        sys.stdout.write(
            f"d {dim} {name}: ms a step: "
            + ", ".join(f"{way} {told(seconds)}" for way, seconds in found.items())
            + f"; straightforward / one {middle['straightforward'] / middle['one model']:.2f}"
            + f", products / one {middle['products'] / middle['one model']:.0%}"
            + f", five together / five alone {middle['five models'] / 5 / middle['one model']:.2f}"
            + f"; {flops / 1e9:.2f} GFLOP and at least {traffic / 1e6:.0f} MB a step"
            + f", {flops / middle['one model'] / 1e9:.0f} GFLOP/s\n"
        )
        sys.stdout.flush()


def workspace(root: Path, dim: int, pairs: int) -> dict[str, list[str]]:
    """A folder as the workflow lays it out, with a job file per method and seed."""
    pair = root / "bitext" / "en-de"
    pair.mkdir(parents=True)
    sentences: dict[str, list[str]] = {"en": [], "de": []}
    for split, n in (("train", pairs), ("valid", 500)):
        texts = [SentencePair(f"{split} source {i}", f"{split} target {i}") for i in range(n)]
        write_pairs(pair / f"{split}.tsv.gz", texts)
        sentences["en"] += [text.source for text in texts]
        sentences["de"] += [text.target for text in texts]
    (pair / "counts.json").write_text(json.dumps({"kept": {"train": pairs, "valid": 500, "test": 0}}))
    encoder, store = root / "encoder", root / "store"
    encoder.mkdir()
    (encoder / "encoder.json").write_text('{"kind": "ems"}')
    store.mkdir()
    digests = np.concatenate([digests_of(texts, language) for language, texts in sentences.items()])
    order = np.argsort(digests)
    np.save(store / VECTORS, torch.randn(len(order), dim, generator=stream(0)).numpy())
    np.save(store / DIGESTS, digests[order])
    np.save(store / ROWS, order)
    index = index_digest(digests[order], order)
    meta = {"encoder": "toy", "identity": identity(encoder), "dim": dim, "n": len(order), "index": index}
    (store / META).write_text(json.dumps(meta))
    recipe = {"learning_rate": RATE, "batch_size": BATCH, "max_epochs": 10, "patience": 10}
    jobs: dict[str, list[str]] = {}
    for name in GRID:
        for seed in SEEDS:
            file = root / "jobs" / f"{name}-{seed}.json"
            file.parent.mkdir(exist_ok=True)
            content = {
                "key": f"{name}-{seed}",
                "output": f"models/{name}/seed{seed}",
                "settings": {
                    "name": name,
                    "method": PARAMS["methods"][name],
                    "recipe": recipe,
                    "seed": seed,
                    "train_pairs": pairs,
                },
                "inputs": {"encoder": ["encoder"], "embeddings": ["store"], "bitext": ["bitext/en-de"]},
                "before": {},
                "device": "cpu",
            }
            file.write_text(json.dumps(content))
            jobs.setdefault(name, []).append(str(file))
    return jobs


def timed(root: Path, commands: list[list[str]]) -> float:
    """Seconds of some `orthoglot decompose` commands, one after the other."""
    started = time.perf_counter()
    for files in commands:
        subprocess.run(["orthoglot", "decompose", *files], cwd=root, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def compare_grid(dim: int, pairs: int) -> None:
    """Seconds of the whole grid, one process against forty, and how far the weights agree."""
    seconds: dict[str, float] = {}
    weights: dict[str, dict[str, bytes]] = {}
    for way in ("one process", "a process each"):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            jobs = workspace(root, dim, pairs)
            files = [file for of_method in jobs.values() for file in of_method]
            seconds[way] = timed(root, [files] if way == "one process" else [[file] for file in files])
            weights[way] = {
                str(path.parent): path.read_bytes()
                for path in sorted(root.glob("models/*/*/weights.safetensors"))
            }
            weights[way] = {name.replace(folder, ""): content for name, content in weights[way].items()}
    same = sum(
        weights["one process"][name] == weights["a process each"][name] for name in weights["one process"]
    )
    ratio = seconds["one process"] / seconds["a process each"]
    sys.stdout.write(
        f"grid, d {dim}, {pairs} pairs, 10 epochs, {len(GRID)} methods x {len(SEEDS)} seeds: one process "
        f"{seconds['one process']:.1f} s, a process each {seconds['a process each']:.1f} s, ratio {ratio:.2f}; "
        f"{same} of {len(GRID) * len(SEEDS)} weights bit-equal\n"
    )


def main() -> None:
    """Read the switches and print a line per comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--grid", action="store_true")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.steps or not chosen.grid:
        for dim in (768, 1024):
            compare_steps(dim, chosen.device)
    if chosen.grid or not chosen.steps:
        for dim, pairs in ((256, 6000), (768, 3000)):
            compare_grid(dim, pairs)


if __name__ == "__main__":
    main()
