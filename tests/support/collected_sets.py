"""Benchmarks as `collect` writes them into a new folder."""

from __future__ import annotations

from pathlib import Path

from orthoglot.study.benchmarks.collect import collect
from orthoglot.study.config import BenchmarkSettings


def collected(settings: BenchmarkSettings, output: Path, raw: Path | None = None) -> Path:
    """Write the benchmark into `output`, which may be absent; returns it."""
    output.mkdir(parents=True, exist_ok=True)
    collect(settings, raw, output)
    return output
