"""What one job costs beside its imports and its work: the start of Python, digests of code and inputs, the receipt.

    python measurements/many-jobs/job_overhead.py WORKSPACE      # where a preset of the workflow has run; --preset NAME

makes one result of each verb again, as `orthoglot study job` does, and prints processor seconds: of the imports
before the work, of the work with what it imports itself, and of all that is before and after it: the overhead.
"""

from __future__ import annotations

import argparse
import builtins
import importlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


class Watch:
    """Processor and elapsed seconds of this process, and how much of them imports took."""

    def __init__(self) -> None:
        self.imports = (0.0, 0.0)
        self._depth = 0

    @staticmethod
    def now() -> tuple[float, float]:
        """Processor seconds of this process and of those that it waited for, and a clock."""
        own, others = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime, time.time()

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose outermost calls count as imports."""

        def run(*given: Any, **options: Any) -> Any:
            before = self.now()
            self._depth += 1
            try:
                return function(*given, **options)
            finally:
                self._depth -= 1
                if not self._depth:
                    cpu, clock = self.now()
                    self.imports = self.imports[0] + cpu - before[0], self.imports[1] + clock - before[1]

        return run


def alone(verb: str, report: Path) -> None:
    """Do the job of a verb on standard input, and write when its work began and ended."""
    watch = Watch()
    builtins.__import__ = watch.timed(builtins.__import__)
    importlib.import_module = watch.timed(importlib.import_module)
    from orthoglot.cli import main
    from orthoglot.study.jobs.job import Job

    run = Job.run

    def run_timed(job: Job, work: Callable[[Path], None]) -> None:
        def work_timed(output: Path) -> None:
            imports, began = watch.imports, watch.now()
            work(output)
            report.write_text(json.dumps([imports, began, watch.now()]))

        run(job, work_timed)

    Job.run = run_timed
    sys.argv = ["orthoglot", "study", "job", verb]
    main()


def main() -> None:
    """A row for each verb."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workspace", type=Path)
    parser.add_argument("--preset", help="that of its params.yaml without it")
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.alone:
        alone(chosen.alone[0], Path(chosen.alone[1]))
        return
    place = TemporaryDirectory()  # until the end
    script, report = Path(__file__).resolve(), Path(place.name) / "report"
    os.chdir(chosen.workspace)
    sys.path[:0] = ["src", "workflow"]
    from orthoglot.study import config
    from plan import Plan

    plan = Plan(config.load(Path("params.yaml"), {"preset": chosen.preset} if chosen.preset else {}))
    names = (
        "Verb",
        "Imports, CPU s",
        "Work, CPU s",
        "Before it, CPU s",
        "After it, CPU s",
        "Both, elapsed s",
    )
    sys.stdout.write(f"| {' | '.join(names)} |\n{'|---' * len(names)}|\n")
    verbs = {job.verb: job for job in plan.jobs.values() if plan.done(job.folder)}
    for verb, job in verbs.items():
        started = time.time()
        process = subprocess.Popen(
            [sys.executable, str(script), ".", "--alone", verb, str(report)],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": "src"},
            text=True,
        )
        assert process.stdin
        process.stdin.write(plan.as_json(job.key))
        process.stdin.close()
        _, status, used = os.wait4(process.pid, 0)
        ended = time.time()
        if status:
            raise SystemExit(f"the job of {job.folder} failed")
        (imports, imported), (began, began_at), (done, done_at) = json.loads(report.read_text())
        report.unlink()
        before, after = began - imports, used.ru_utime + used.ru_stime - done
        elapsed = began_at - started - imported + ended - done_at
        sys.stdout.write(
            f"| {verb} | {imports:.2f} | {done - began:.2f} | {before:.2f} | {after:.2f} | {elapsed:.2f} |\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
