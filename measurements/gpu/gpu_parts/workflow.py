"""Part 6: the preset mini with `device: cuda`: jobs that have the GPU at once, and what they leave in its memory."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from gpu_parts import ROOT
from gpu_parts.result import Part, needs
from orthoglot.study import config

COPIED = (
    "Snakefile",
    "workflow",
    "src",
    "params.yaml",
    "catalogue",
    "profiles",
    "texts",
    "schemas",
    "dvc.yaml",
)
LIMIT = 540
PRESET = "mini"
# The rules that ask for a GPU.
USING = ("pretrain", "embed", "decompose", "evaluate")


def measure(part: Part) -> None:
    """What the plan gives to jobs, then a run."""
    needs("snakemake")
    with part.tried("the plan"):
        planned(part)
    if not part.tiny:
        with part.tried("the run"):
            run(part)


def planned(part: Part) -> None:
    """How many GPUs each job of a rule that asks for one takes."""
    from plan import Plan

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(ROOT / "src", Path(place) / "src")
        os.chdir(place)
        try:
            plan = Plan(config.load(ROOT / "params.yaml", {"device": "cuda", "preset": PRESET}))
            jobs = [plan.jobs[folder] for folder in plan.default]
            counts = Counter((job.verb, plan.gpus(job.key)) for job in jobs if job.verb in USING)
            for (verb, gpus), many in sorted(counts.items()):
                part.row("The plan of the preset mini", job=verb, jobs=many, **{"GPUs of each": gpus})
        finally:
            os.chdir(before)


def run(part: Part) -> None:
    """The preset in a copy of the repository, with the GPU looked at twice a second."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy(source, place / name)
        shim = place / "bin" / "orthoglot"
        shim.parent.mkdir()
        shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m orthoglot "$@"\n')
        shim.chmod(0o755)
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(place / "src"), *sys.path]),
            "PATH": f"{shim.parent}{os.pathsep}{os.environ['PATH']}",
        }
        cores = min(8, os.cpu_count() or 1)
        command = [
            sys.executable,
            "-m",
            "snakemake",
            "--cores",
            str(cores),
            "--config",
            f"preset={PRESET}",
            "device=cuda",
        ]
        idle, watcher = used(), Watcher()
        started = time.monotonic()
        with open(place / "output.txt", "w") as log:
            process = subprocess.Popen(
                command,
                cwd=place,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            watcher.start()
            try:
                status = process.wait(max(10, LIMIT - part.seconds))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                status = process.wait()
        watcher.stop()
        took = time.monotonic() - started
        time.sleep(2)
        left = used() - idle
        part.row(
            "The run of the preset mini",
            status=status,
            seconds=took,
            cores=cores,
            **{
                "jobs with the GPU at once, at most": watcher.most,
                "processes that had it": len(watcher.seen),
                "memory at most, MiB": watcher.memory,
                "memory between jobs at most, MiB": watcher.between - idle,
                "memory left afterwards, MiB": left,
            },
        )
        part.notes.append(
            "Jobs with the GPU are the processes that nvidia-smi lists. Where it lists none, as in some "
            "containers, their number is 0, says nothing, and only the memory counts."
        )
        most = float(watcher.most) if watcher.seen else None
        part.goal("jobs with the GPU at once", 1, most, most=True)
        part.goal("memory left after the last job", 64, float(left), unit="MiB", most=True)
        if status:
            raise RuntimeError(f"snakemake ended with {status}: {(place / 'output.txt').read_text()[-400:]}")


class Watcher(threading.Thread):
    """Looks at the GPU until it is stopped.

    Attributes:
        most: processes that had it at once.
        seen: all processes that had it.
        memory: MiB that were in use at most.
        between: MiB that were in use at most while no process had it.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.memory, self.between = 0, 0, used()
        self.seen: set[int] = set()
        self._own, self._end = {os.getpid()}, threading.Event()

    def run(self) -> None:
        """See `threading.Thread.run`."""
        while not self._end.wait(0.5):
            found, memory, after = processes() - self._own, used(), processes() - self._own
            self.seen |= found
            self.most, self.memory = max(self.most, len(found)), max(self.memory, memory)
            if not found | after:
                self.between = max(self.between, memory)

    def stop(self) -> None:
        """Look no more."""
        self._end.set()
        self.join()


def processes() -> set[int]:
    """Process numbers that nvidia-smi lists."""
    return {int(line) for line in asked("--query-compute-apps=pid") if line.isdigit()}


def used() -> int:
    """MiB in use on the first GPU."""
    found = asked("--query-gpu=memory.used")
    return int(found[0]) if found and found[0].isdigit() else 0


def asked(query: str) -> list[str]:
    """Lines of nvidia-smi; none where it is absent."""
    try:
        found = subprocess.run(
            ["nvidia-smi", query, "--format=csv,noheader,nounits"], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in found.stdout.splitlines() if line.strip()]
