"""The result of a part: tables, goals and failures, written as JSON when it ends."""

from __future__ import annotations

import functools
import gc
import hashlib
import importlib
import json
import logging
import os
import platform
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import torch

from gpu_parts import PARTS, ROOT
from orthoglot.atomic import replacing

PACKAGES = (
    "torch",
    "transformers",
    "sentence-transformers",
    "faiss-gpu",
    "faiss-gpu-cu12",
    "faiss-cpu",
    "snakemake",
    "numpy",
)
DONE, FAILED, MISSING = "done", "failed", "missing"
T = TypeVar("T")


class MissingError(Exception):
    """What a part needs is not installed."""


class Part:
    """What a part has found so far.

    Attributes:
        device: where it measures.
        tiny: whether it only tries its code.
        tables: each with a title, columns and rows.
        goals: each with a name, what is wanted and what was found.
        notes: sentences for the page, such as tolerances and extrapolations.
        failures: what did not work, and why.
        save: keeps what has been found so far, after each piece.
    """

    def __init__(self, tiny: bool):
        self.device = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
        if self.device.type == "cpu" and not tiny:
            raise MissingError("no GPU here: --tiny tries the parts on a CPU")
        self.tiny = tiny
        self.started = time.monotonic()
        self.tables: dict[str, dict[str, Any]] = {}
        self.goals: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.failures: list[dict[str, str]] = []
        self.save: Callable[[], object] = lambda: None

    @property
    def on_gpu(self) -> bool:
        """Whether there is something to measure."""
        return self.device.type == "cuda"

    @property
    def seconds(self) -> float:
        """Since the part began."""
        return time.monotonic() - self.started

    @property
    def failed(self) -> int:
        """Pieces that did not work and had to."""
        return sum(one["optional"] == "False" for one in self.failures)

    def size(self, full: T, tiny: T) -> T:
        """The size to work with."""
        return tiny if self.tiny else full

    def row(self, table: str, **cells: Any) -> None:
        """Add a row to a table, whose columns are those of its rows in order of appearance."""
        found = self.tables.setdefault(table, {"columns": [], "rows": []})
        found["columns"] += [name for name in cells if name not in found["columns"]]
        found["rows"].append(cells)

    def goal(
        self,
        name: str,
        wanted: float,
        found: float | None,
        *,
        unit: str = "",
        most: bool = False,
        finished: bool = True,
    ) -> None:
        """A goal: at least `wanted`, or at most where `most` is true.

        Args:
            name: what is measured.
            wanted: the goal.
            found: None if it was not measured.
            unit: of both.
            most: whether less is better.
            finished: whether what was measured came to its end. If not, or if a piece of the part has failed before, it
                is missed.
        """
        reached = None
        if found is not None and self.on_gpu and not self.tiny:
            reached = finished and not self.failed and (found <= wanted if most else found >= wanted)
        self.goals.append(
            {
                "name": name,
                "wanted": wanted,
                "most": most,
                "found": found,
                "unit": unit,
                "finished": finished,
                "reached": reached,
            }
        )

    @contextmanager
    def tried(self, what: str, *, optional: bool = False) -> Iterator[None]:
        """Go on where this piece fails; a failure that is not optional fails the part in the end."""
        try:
            yield
        except Exception as error:
            reason = " ".join(str(error).split())[:300]
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            self.failures.append(
                {
                    "what": what,
                    "reason": f"{type(error).__name__}: {reason} ({place})",
                    "optional": str(optional),
                }
            )
            if not optional:
                traceback.print_exc()
        gc.collect()
        if self.on_gpu:
            torch.cuda.empty_cache()
        self.save()

    def content(self, name: str, state: str, reason: str = "") -> dict[str, Any]:
        """The file of a part that has ended."""
        return {
            **identity(name, self.tiny),
            "state": state,
            "reason": reason,
            "environment": environment(self.device),
            "seconds": round(self.seconds, 1),
            "CPU seconds": round(cpu_seconds(), 1),
            "goals": self.goals,
            "tables": self.tables,
            "notes": self.notes,
            "failures": self.failures,
        }


def run_part(name: str, output: Path, tiny: bool) -> None:
    """In a process and a group of its own: measure a part and write its file; exits with 1 if it is not done."""
    os.setsid()
    logging.basicConfig(level=logging.ERROR, force=True)
    torch.set_num_threads(1 if tiny else torch.get_num_threads())
    part, state, reason = None, DONE, ""
    try:
        part = Part(tiny)
        part.save = lambda: write(output, name, part.content(name, FAILED, "not finished"))
        module = importlib.import_module(f"gpu_parts.{name.replace('-', '_')}")
        module.measure(part)
    except (MissingError, ModuleNotFoundError) as error:
        state, reason = MISSING, str(error)
        sys.stdout.write(f"{name}: {reason}\n")
    except Exception as error:
        state, reason = FAILED, f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
        traceback.print_exc()
    if state == DONE and part and part.failed:
        state, reason = FAILED, f"{part.failed} of its pieces failed"
    content = (
        part.content(name, state, reason)
        if part
        else {**identity(name, tiny), "state": state, "reason": reason}
    )
    write(output, name, content)
    sys.stdout.flush()
    sys.exit(int(state != DONE))


def stopped(name: str, output: Path, tiny: bool, reason: str) -> None:
    """The file of a part whose process was ended, with what it had found."""
    try:
        found = json.loads((output / f"{name}.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        found = identity(name, tiny)
    write(output, name, {**found, "state": FAILED, "reason": reason})


def finished(name: str, output: Path, tiny: bool) -> bool:
    """Whether the part's file is there, complete, and of the same code and settings."""
    try:
        found = json.loads((output / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    wanted = identity(name, tiny)
    return found.get("state") == DONE and all(
        found.get(key) == wanted[key] for key in ("code", "tiny", "device")
    )


def write(output: Path, name: str, content: dict[str, Any]) -> None:
    """FOLDER/NAME.json, whole or not at all."""
    with replacing(output / f"{name}.json") as partial:
        partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


@functools.cache
def identity(name: str, tiny: bool) -> dict[str, Any]:
    """What a result depends on, the commit for the reader."""
    return {
        "part": name,
        "title": PARTS[name],
        "tiny": tiny,
        "code": code(),
        "commit": output_of("git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD") or "unknown",
        "device": output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader") or "CPU",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def code() -> str:
    """Digest of the package and of the parts: that of a commit, also where files of it have changed."""
    files = [
        *sorted((ROOT / "src").rglob("*.py")),
        *sorted((ROOT / "measurements/gpu/gpu_parts").glob("*.py")),
    ]
    found = hashlib.sha256()
    for path in [*files, ROOT / "params.yaml", *sorted((ROOT / "catalogue").glob("*.yaml"))]:
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


@functools.cache
def environment(device: torch.device) -> dict[str, str]:
    """Device, driver and versions."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    if device.type == "cuda":
        # Asking PyTorch would make this process one that has the GPU.
        asked = ("GPU", "name"), ("GPU memory", "memory.total"), ("driver", "driver_version")
        found |= {
            what: output_of("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader")
            for what, query in asked
        } | {"CUDA": str(torch.version.cuda)}
    return found


def output_of(*command: Any) -> str:
    """The first line that a command prints; empty where it is absent or fails."""
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return (found.stdout.strip().splitlines() or [""])[0]


def needs(*modules: str) -> None:
    """Raises MissingError if one of the modules cannot be imported."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise MissingError(f"{name} cannot be imported ({error})") from error


def cpu_seconds() -> float:
    """Of this process and those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def median(values: Sequence[float]) -> float:
    """Of an odd or even number of values."""
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
