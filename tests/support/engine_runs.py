"""What the tests of the engines ask of a workspace, and do to it."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from pathlib import Path

from workspace import Running, Workspace

SNAKEMAKE = "snakemake", "--cores", "2"
VECTORS = "embeddings/mini/ems-mini/content"


def digests(workspace: Workspace) -> dict[str, str]:
    """SHA-256 of every result file."""
    return {
        str(path.relative_to(workspace.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for top in ("data", "models", "embeddings", "evaluations", "results")
        for path in sorted((workspace.folder / top).rglob("*"))
        if path.is_file() and path.name != ".gitignore"
    }


def folders(workspace: Workspace) -> list[str]:
    """Every folder with a receipt."""
    receipts = workspace.folder.rglob("receipt/*.json")
    return sorted(str(receipt.parents[1].relative_to(workspace.folder)) for receipt in receipts)


def everything(workspace: Workspace) -> dict[str, tuple[int, int]]:
    """Size and time of every file but Snakemake's own."""
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in workspace.folder.rglob("*")
        if path.is_file() and not {".snakemake", ".git", ".dvc"} & set(path.parts)
    }


def flip(path: Path, *, keep_time: bool = False) -> None:
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)
    if keep_time:
        os.utime(path, ns=times)


def failing_log(folder: Path, script: str) -> str:
    """For PATH: `tee`, which writes a job's log, does this and fails, and the job with it."""
    tee = folder / "bin/tee"
    tee.parent.mkdir()
    tee.write_text(f"#!/bin/sh\n{script}\nexit 1\n")
    tee.chmod(0o755)
    return str(tee.parent)


def start_waiting(workspace: Workspace, folder: str, *command: str) -> Running:
    """Start a command and return when the job of `folder` is running; it waits for the end of `release`."""
    wait = workspace.folder / ".cache/wait" / folder
    wait.parent.mkdir(parents=True, exist_ok=True)
    wait.touch()
    process = workspace.start(*command)
    started = workspace.folder / f"{folder}.partial/started"
    deadline = time.monotonic() + 120
    while not started.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert started.exists(), f"{command} never ran {folder}"
    return process


def release(workspace: Workspace) -> None:
    shutil.rmtree(workspace.folder / ".cache/wait")
