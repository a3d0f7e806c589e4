"""How long `snakemake --dry-run` takes for many jobs that have not run.

    python benchmarks/dry_run.py

copies the workflow into a temporary folder, adds 100 encoders like `ems-mini` to the catalogue, gives them to a
preset like `mini` with the first 48 methods of the catalogue, and prints jobs and seconds. No job runs.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "workflow", "catalogue", "profiles")
ENCODERS = 100
METHODS = 48  # besides the baselines of `mini`


def many(folder: Path) -> None:
    """A copy of the workflow whose preset `many` has these encoders and methods."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Snakefile", folder)
    names = [f"many-{number}" for number in range(ENCODERS)]
    with open(folder / "catalogue/encoders.yaml", "a", encoding="utf-8") as file:
        file.writelines(
            f"{name}: {{extends: ems-mini, seed: {seed}}}\n" for seed, name in enumerate(names, 1)
        )
    known = yaml.safe_load((ROOT / "catalogue/methods.yaml").read_text(encoding="utf-8"))
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    chosen = [name for name in known if name not in params["presets"]["mini"]["baselines"]]
    params["presets"]["many"] = {
        "extends": "mini",
        "encoders": names,
        "methods": chosen[:METHODS],
        "ablations": [],
    }
    params["preset"] = "many"
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")


def main() -> None:
    """Plan, and print the figures."""
    with TemporaryDirectory() as place:
        many(Path(place))
        started = time.monotonic()
        ended = subprocess.run(
            ["snakemake", "--dry-run", "--cores", "2"], cwd=place, capture_output=True, text=True, check=True
        )
        seconds = time.monotonic() - started
    total = re.search(r"^total +(\d+)", ended.stdout + ended.stderr, re.MULTILINE)
    if total is None:
        raise SystemExit("snakemake printed no number of jobs")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    sys.stdout.write(
        f"{total[1]} jobs: {seconds:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of CPU, "
        f"{used.ru_maxrss / 1024:.0f} MiB\n"
    )


if __name__ == "__main__":
    main()
