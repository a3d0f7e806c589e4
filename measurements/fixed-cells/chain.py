"""All jobs of `snakemake mined` with cells, but with vectors that are given: seconds and memory of each kind of job.

    git clone . /tmp/chain && cd /tmp/chain       # an empty workspace
    python measurements/fixed-cells/chain.py source.npy target.npy --cells 10000 --parts 8 --cores 2

The texts are the numbers of the rows. Vectors, of length 1, are put where the jobs that encode would have left theirs.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import numpy as np

from orthoglot.study import config
from orthoglot.study.jobs.job import Job
from orthoglot.study.mining.parts import MODEL, VECTORS, counts_of

sys.path[:0] = ["workflow"]


def encoded(job: Job, vectors: np.ndarray) -> None:
    """Leave the vectors of a part as `encode` does."""
    start, end = counts_of(job.folder("text"))["starts"][job.settings["number"] - 1 :][:2]

    def work(output: Path) -> None:
        np.save(output / VECTORS, vectors[start:end])
        about = {"model": "drawn", "part": "meaning", "own_mean": False}
        (output / MODEL).write_text(json.dumps(about), encoding="utf-8")

    job.run(work)


def main() -> None:
    """Run the jobs, and print a row for each kind."""
    from plan import Plan

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", help="vectors, .npy")
    parser.add_argument("target")
    for name, usual in (("cells", 10_000), ("probes", 10), ("parts", 8), ("cores", 2)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    given = parser.parse_args()
    settings = {name: getattr(given, name) for name in ("cells", "probes", "parts")}
    vectors = {side: np.load(getattr(given, side), mmap_mode="r") for side in ("source", "target")}
    for side, rows in vectors.items():
        Path(f"{side}.txt").write_text("".join(f"{side} {number}\n" for number in range(len(rows))))
        settings[side] = f"{side}.txt"
    plan = Plan(config.load(Path("params.yaml"), settings))
    for folder, planned in plan.jobs.items():
        if planned.verb in ("split", "encode") and folder.startswith("mining/"):
            job = Job(planned.verb, plan.as_json(planned.key))
            if planned.verb == "split":
                import_module("orthoglot.study.jobs.split").run(job)
            else:
                encoded(job, vectors[planned.inputs["text"][0].split("/")[2]])
    words = [f"{name}={value}" for name, value in settings.items()]
    command = ["snakemake", "--cores", str(given.cores), "mined", "--config", *words]
    subprocess.run(command, check=True)
    kinds: dict[str, list[dict[str, str]]] = defaultdict(list)
    for folder, planned in plan.jobs.items():
        for path in Path("logs").glob(f"{folder}.{planned.key}.tsv"):
            kinds[planned.verb] += csv.DictReader(path.open(), delimiter="\t")
    sys.stdout.write(
        "| Job | Number | Elapsed s, all | CPU s, all | Peak MB, the largest |\n|---|---|---|---|---|\n"
    )
    for verb, runs in kinds.items():
        elapsed, cpu = (sum(float(run[name]) for run in runs) for name in ("s", "cpu_time"))
        peak = max(float(run["max_rss"]) for run in runs)
        sys.stdout.write(f"| `{verb}` | {len(runs)} | {elapsed:,.0f} | {cpu:,.0f} | {peak:,.0f} |\n")


if __name__ == "__main__":
    main()
