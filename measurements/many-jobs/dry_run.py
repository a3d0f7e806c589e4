"""What thousands of jobs cost before, between and after them: planning, `why`, DVC and the scheduler.

    python measurements/many-jobs/dry_run.py                      # about 1,000, 10,000 and 50,000 jobs
    python measurements/many-jobs/dry_run.py --encoders 10 --run  # also the scheduler, with jobs that do nothing

copies the workflow into a temporary folder and gives a preset like `mini` 10, 100 and 500 encoders like `ems-mini` and
the first 48 methods of the catalogue. It prints a row of a table for each command. No job runs: for the rows *done*,
each folder gets three small files and its receipt. With `--run`, Snakemake runs all jobs but the report with a program
in place of `orthoglot` that writes an empty receipt.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "workflow", "catalogue", "profiles", "texts", "Snakefile", "dvc.yaml", ".dvcignore")
METHODS = 48  # besides the baselines of `mini`
DRY = ("snakemake", "--dry-run", "--cores", "2")
WHY = ("orthoglot", "study", "why", "results")
EMPTY_JOB = r"""#!/bin/bash
read -r job
[[ $job =~ \"key\":\ \"([0-9a-f]+)\" ]] && key=${BASH_REMATCH[1]}
[[ $job =~ \"output\":\ \"([^\"]+)\" ]] && mkdir -p "${BASH_REMATCH[1]}/receipt"
: > "${BASH_REMATCH[1]}/receipt/$key.json"
"""


def many(folder: Path, encoders: int) -> None:
    """A copy of the workflow whose preset `many` has so many encoders."""
    folder.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder)
    names = [f"many-{number}" for number in range(encoders)]
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


def finish(folder: Path) -> None:
    """Write what looks like the result of every job; in a process of its own, as the plan reads the code there."""
    os.chdir(folder)
    sys.path[:0] = ["src", "workflow"]
    from orthoglot import receipts
    from orthoglot.study import config
    from plan import FILES, Plan

    plan = Plan(config.load(Path("params.yaml")))
    for place in map(Path, plan.default):  # named now, as an input is made after its reader here
        place.mkdir(parents=True)
    contents: dict[str, str] = {}
    for name, job in plan.jobs.items():
        if name not in plan.default:
            continue
        place = Path(name)
        for number, file in enumerate(FILES.get(job.verb, "one.json two.json three.json").split()):
            (place / file).parent.mkdir(exist_ok=True)
            (place / file).write_text(f"{name} {number}\n")
        inputs = {one: (plan.jobs[one].key, contents[one]) for one in job.folders}
        receipts.write(place, job.key, inputs, job.parts)
        contents[name] = receipts.contents(place, job.key)
    for empty in (f"models/{plan.name}/tokens", "tables", f"ablation/{plan.name}", "exported"):
        Path(empty).mkdir(parents=True, exist_ok=True)


def measured(folder: Path, command: Sequence[str], **environment: str) -> tuple[str, str]:
    """What a command prints, and its elapsed seconds, processor seconds and peak of resident memory as cells."""
    started = time.monotonic()
    with open(folder / "printed", "w+", encoding="utf-8") as printed:
        process = subprocess.Popen(
            command, cwd=folder, stdout=printed, stderr=subprocess.STDOUT, env={**os.environ, **environment}
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - started
        printed.seek(0)
        text = printed.read()
    if status:
        raise SystemExit(f"{shlex.join(command)} failed:\n{text[-2000:]}")
    return text, f"{seconds:.1f} | {used.ru_utime + used.ru_stime:.1f} | {used.ru_maxrss / 1024:.0f}"


def say(jobs: int, state: str, command: Sequence[str], cells: str) -> None:
    """A row of the table."""
    sys.stdout.write(f"| {jobs:,} | {state} | `{shlex.join(command)}` | {cells} |\n")
    sys.stdout.flush()


def plan_and_record(folder: Path, encoders: int) -> None:
    """The rows of so many encoders: before any job has run, and after all."""
    many(folder, encoders)
    text, cells = measured(folder, DRY)
    total = re.search(r"^total +(\d+)", text, re.MULTILINE)
    if total is None:
        raise SystemExit("snakemake printed no number of jobs")
    jobs = int(total[1])
    say(jobs, "nothing has run", DRY, cells)
    say(jobs, "nothing has run", WHY, measured(folder, WHY)[1])
    subprocess.run([sys.executable, __file__, "--finish", str(folder)], check=True)
    for command in (["git", "init", "-q"], ["dvc", "init", "-q"]):
        subprocess.run(command, cwd=folder, check=True)
    time.sleep(3)  # until files are old enough for their digests to be remembered (receipts.SETTLED)
    for state in ("done, first time", "done"):
        text, cells = measured(folder, DRY)
        if "Nothing to be done" not in text:
            raise SystemExit(f"jobs are due:\n{text[-2000:]}")
        say(jobs, state, DRY, cells)
    say(jobs, "done", WHY, measured(folder, WHY)[1])
    record = ("dvc", "commit", "--force", "--quiet")
    say(jobs, "done", record, measured(folder, record)[1])
    status = ("dvc", "status")
    text, cells = measured(folder, status)
    if "up to date" not in text:
        raise SystemExit(text)
    say(jobs, "done", status, cells)


def run_empty(folder: Path, encoders: int) -> None:
    """The row of the scheduler."""
    many(folder, encoders)
    (folder / "bin").mkdir()
    program = folder / "bin/orthoglot"
    program.write_text(EMPTY_JOB)
    program.chmod(0o755)
    command = ("snakemake", "--cores", "2", "--until", "evaluate")
    _, cells = measured(folder, command, PATH=f"{program.parent}:{os.environ['PATH']}")
    say(len([*folder.glob("*/many/**/receipt/*.json")]), "run, each empty", command, cells)


def main() -> None:
    """Plan, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoders", type=int, nargs="+", default=[10, 100, 500], help="101 jobs each")
    parser.add_argument("--run", action="store_true", help="also run them, with nothing to do")
    parser.add_argument("--finish", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.finish:
        finish(chosen.finish)
        return
    sys.stdout.write("| Jobs | State | Command | Elapsed s | CPU s | Peak MiB |\n|---|---|---|---|---|---|\n")
    for encoders in chosen.encoders:
        with TemporaryDirectory() as place:
            plan_and_record(Path(place) / "planned", encoders)
            if chosen.run:
                run_empty(Path(place) / "run", encoders)


if __name__ == "__main__":
    main()
