"""What `make chaos` runs after the tests of this folder: kill each stage ten times, and add up all faults.

    python tests/fuzz/chaos.py FAULTS.jsonl [--kills 10]

Each stage of the miniature workflow, with its real verbs, is killed (-9, with all that it started) while a job's
unfinished folder exists. What was under way is printed. After the last kill the run is finished, and every file is
compared with those of a run that nobody killed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from faults import Count
from workspace import Workspace

# The folders whose jobs a stage runs.
STAGES = {
    "corpora": "data",
    "encoders": "models/mini/[et]*",
    "embeddings": "embeddings",
    "decomposers": "models/mini/decomposers",
    "evaluation": "[er][ve]*s",
}
TRACE = "Traceback (most recent call last)"


def digests(workspace: Workspace) -> dict[str, str]:
    """SHA-256 of every result file."""
    return {
        str(path.relative_to(workspace.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for top in ("data", "models", "embeddings", "evaluations", "results")
        for path in sorted((workspace.folder / top).rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def unfinished(workspace: Workspace, pattern: str) -> list[str]:
    """The unfinished folders of a stage's jobs."""
    found = (path for top in workspace.folder.glob(pattern) for path in [top, *top.rglob("*.partial")])
    return sorted(str(path.relative_to(workspace.folder)) for path in found if path.name.endswith(".partial"))


def kill(workspace: Workspace, stage: str, wait: float) -> list[str]:
    """Start a stage and kill it `wait` seconds after one of its jobs has begun; what was under way."""
    process = workspace.start("snakemake", "--cores", "2", f"stage_{stage}")
    deadline = time.monotonic() + 600
    while not unfinished(workspace, STAGES[stage]) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(wait)
    if process.poll() is not None:
        return []
    process.kill_all()
    return unfinished(workspace, STAGES[stage])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("faults", type=Path, help="what the tests counted; a line is added for each stage")
    arguments.add_argument("--kills", type=int, default=10, help="of each stage")
    given = arguments.parse_args()
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        whole = Workspace.make(Path(folder) / "whole")
        whole.run("snakemake", "--cores", "2")
        expected = digests(whole)
        killed = Workspace.make(Path(folder) / "killed")
        for stage in STAGES:
            count = Count(f"kill -9, stage {stage}")
            for _ in range(10 * given.kills):
                if count.injected == given.kills:
                    break
                # A job of the miniature takes a second or so, most of it imports.
                if under_way := kill(killed, stage, draw.uniform(0, 0.3)):
                    count.add()
                    print(f"killed {stage} {count.injected}: {', '.join(under_way)}", flush=True)
                else:
                    for made in sorted((killed.folder).glob(f"{STAGES[stage]}/**/receipt"))[:1]:
                        killed.run("rm", "-r", str(made.parent))
            end = killed.run("snakemake", "--cores", "2", f"stage_{stage}", check=False).stdout
            now = digests(killed)
            count.tracebacks += end.count(TRACE)
            count.silent_wrong += sum(expected.get(name) != digest for name, digest in now.items())
            count.save(given.faults)
        killed.run("snakemake", "--cores", "2")
        assert digests(killed) == expected, "the run that was killed ended with other bytes"
    total: Counter[str] = Counter()
    for line in given.faults.read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        print(", ".join(f"{name} {value}" for name, value in found.items()))
        total.update({name: value for name, value in found.items() if isinstance(value, int)})
    bad = total["silent_wrong"] + total["tracebacks"]
    print(
        f"faults injected {total['injected']}, survived {total['injected'] - bad}, "
        f"silent wrong results {total['silent_wrong']}, tracebacks {total['tracebacks']}"
    )
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
