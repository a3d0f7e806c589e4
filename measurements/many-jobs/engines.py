"""What Ray Data and Spark add to `orthoglot filter`, and whether they keep its rows.

    python engines.py WEB MODEL SOURCE TARGET --threshold 0.75

WEB is a folder of Parquet files with a column of sentences for each of the two languages. The engines run the programs
of examples/ on this machine; one that is not installed is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import pyarrow.parquet as pq

EXAMPLES = Path(__file__).parents[2] / "examples"
# Of prctl: processes whose parent has ended become children of this one, so that their time counts.
PR_SET_CHILD_SUBREAPER = 36
Rows = list[tuple[str, str]]


def run(words: list[object]) -> tuple[float, float]:
    """Elapsed seconds, and processor seconds of a command and all that it started."""
    before, began = _processor_seconds(), time.perf_counter()
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0", "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([*map(str, words)], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    elapsed = time.perf_counter() - began
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    return elapsed, _processor_seconds() - before


def _processor_seconds() -> float:
    spent = getrusage(RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def rows_of(folder: Path, source: str, target: str) -> Rows:
    """The pairs of a folder."""
    table = pq.read_table(folder)
    return list(zip(table[source].to_pylist(), table[target].to_pylist(), strict=True))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("web", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--threshold", type=float, default=0.75)
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    web, model, threshold = given.web.resolve(), given.model.resolve(), str(given.threshold)
    languages = given.source, given.target
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        pairs = rows_of(web, *languages)
        (place / "web.tsv").write_text(
            "".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8"
        )
        command: list[object] = [sys.executable, "-m", "orthoglot", "-q", "filter", place / "web.tsv"]
        command += ["-o", place / "kept.tsv", "--model", model, "--threshold", threshold, "--threads", 2]
        command += ["--source-language", given.source, "--target-language", given.target]
        commands = {"orthoglot filter": command}
        for engine, package in (("ray", "ray"), ("spark", "pyspark")):
            if find_spec(package):
                program = EXAMPLES / f"filter_with_{engine}.py"
                arguments = [web, place / engine, model, *languages, threshold]
                commands[engine] = [sys.executable, program, *arguments, *([2] if engine == "ray" else [])]
        kept: Rows = []
        say(f"{len(pairs)} pairs\n| | Elapsed s | Processor s | Rows kept | Equal |\n|---|---|---|---|---|")
        for name, words in commands.items():
            elapsed, spent = run(words)
            if words is command:
                lines = (place / "kept.tsv").read_text(encoding="utf-8").splitlines()
                rows = kept = sorted(
                    (source, target) for source, target in (line.split("\t") for line in lines)
                )
            else:
                rows = sorted(rows_of(place / name, *languages))  # an engine may change their order
            say(f"| `{name}` | {elapsed:.1f} | {spent:.1f} | {len(rows)} | {rows == kept} |")


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
