"""How many jobs commits would make due by their code, by kind of job: the width of the digests of code.

    python measurements/many-jobs/jobs_due.py              # for the modules that jobs count now
    python measurements/many-jobs/jobs_due.py v1.0 HEAD    # the commits until v1.0, for both revisions, side by side

takes the jobs of a preset and the modules that the code of each counts (orthoglot.study.jobs.digests), and the last
commits to src/. A commit makes a job due if it changed the code of one of these modules; comments, docstrings and
annotations do not count, and a module that has moved since counts under its present name. That a job is due because an
earlier one is does not count, nor do entries of registries.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from orthoglot.study.jobs.digests import shape

ROOT = Path(__file__).resolve().parents[2]
# Run in a copy of a revision: the kind of each job, and its modules.
JOBS = """
import json, sys
from pathlib import Path
sys.path[:0] = ["src", "workflow"]
try:
    from orthoglot.study import config
except ImportError:  # before the study had a floor of its own
    from orthoglot import config
from plan import Plan

def kind(job):
    if job.verb == "decompose":
        return "decompose, trained" if job.settings["decomposition"] else "decompose, closed form"
    return f"pretrain, {job.settings['encoder']['kind']}" if job.verb == "pretrain" else job.verb

plan = Plan(config.load(Path("params.yaml"), {"preset": sys.argv[1]}))
print(json.dumps([(kind(job), sorted(job.code)) for job in plan.jobs.values()]))
"""


def git(*words: str) -> str:
    """What git prints."""
    return subprocess.run(("git", *words), cwd=ROOT, capture_output=True, text=True, check=True).stdout


def jobs(revision: str, preset: str) -> list[tuple[str, list[str]]]:
    """The kind of each job of a revision, and the modules that its code counts."""
    archive = subprocess.run(("git", "archive", revision), cwd=ROOT, capture_output=True, check=True).stdout
    with TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(folder, filter="data")
        command = [sys.executable, "-c", JOBS, preset]
        # Without this checkout on its path.
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env={})
    return [(kind, names) for kind, names in json.loads(done.stdout)]


@cache
def code(blob: str) -> str:
    """The code of a file."""
    return shape(ast.parse(git("cat-file", "blob", blob)))


def changes(revision: str, until: str, count: int) -> list[set[str]]:
    """The modules whose code each of the last commits to src/ changed, by their names in a revision.

    Args:
        revision: that has these commits.
        until: the last of them.
        count: how many.
    """
    counted = git("log", f"-{count}", "--format=%H", until, "--", "src").split()
    shown = ("--raw", "--no-abbrev", "-M", "--format=commit %H")
    log = git("log", *shown, f"{counted[-1]}^..{revision}", "--", "src").splitlines()
    later: dict[str, str] = {}  # the names that files have now, by earlier names
    edited: dict[str, set[str]] = {commit: set() for commit in counted}
    commit = ""
    for line in log:
        if line.startswith("commit "):
            commit = line.split()[1]
        if not line.startswith(":"):
            continue
        about, *paths = line.split("\t")
        *_, before, after, status = about.split()
        path = later.get(paths[-1], paths[-1])
        if status[0] == "R":
            later[paths[0]] = path
        if status[0] in "MR" and path.endswith(".py") and commit in edited and code(before) != code(after):
            name = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
            edited[commit].add(name.replace("/", "."))
    return list(edited.values())


def main() -> None:
    """Print a row for each kind of job."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revisions", nargs="*", default=["HEAD"], help="whose jobs count")
    parser.add_argument("--preset", default="mini")
    parser.add_argument("--commits", type=int, default=143)
    parser.add_argument("--until", help="the last of the commits; the first revision without it")
    chosen = parser.parse_args()
    revisions = chosen.revisions
    until = chosen.until or revisions[0]
    table: dict[str, list[list[str]]] = defaultdict(lambda: [["", "", "", ""] for _ in revisions])
    sums = []
    for place, revision in enumerate(revisions):
        edits = changes(revision, until, chosen.commits)
        planned = jobs(revision, chosen.preset)
        sizes, due, commits = Counter[str](), Counter[str](), defaultdict[str, set[int]](set)
        for kind, names in planned:
            hits = [number for number, edited in enumerate(edits) if edited & set(names)]
            sizes[kind] += sum(":" not in name for name in names)
            due[kind] += len(hits)
            commits[kind] |= set(hits)
        number = Counter(kind for kind, _ in planned)
        for kind in sorted(number):
            row = number[kind], round(sizes[kind] / number[kind]), len(commits[kind]), due[kind]
            table[kind][place] = list(map(str, row))
        sums.append(due.total())
    headings = ["Jobs", "Modules of each", "Commits that make one due", "Jobs due in all"] * len(sums)
    sys.stdout.write(f"| Kind | {' | '.join(headings)} |\n{'|---' * (1 + len(headings))}|\n")
    for kind, cells in sorted(table.items()):
        sys.stdout.write(f"| {kind} | {' | '.join(chain(*cells))} |\n")
    for revision, total in zip(revisions, sums, strict=True):
        sys.stdout.write(f"\n{revision}: {total} jobs due in {chosen.commits} commits until {until}\n")


if __name__ == "__main__":
    main()
