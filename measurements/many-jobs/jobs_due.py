"""How many jobs commits would make due by their code, by kind of job: the width of the digests of code.

    python measurements/many-jobs/jobs_due.py              # for the code that jobs count now
    python measurements/many-jobs/jobs_due.py v1.0 HEAD    # the commits until v1.0, for both revisions, side by side

takes the jobs of a preset, the code that each counts (orthoglot.study.jobs.digests), and the last commits to src/. A
commit makes a job due if it changed a definition that the job counts; at a revision whose jobs count whole modules, if
it changed any definition of one. Comments, docstrings, annotations and what is only logged do not count. A definition
that has moved since counts where it is now. One that is gone counts for every job that counts anything of its module.
That a job is due because an earlier one is does not count, nor do entries of registries.
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

from orthoglot.study.jobs.definitions import shape

ROOT = Path(__file__).resolve().parents[2]
# Run in a copy of a revision: the kind of each job, and the definitions or modules that it counts.
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

def counted(job):
    try:
        from orthoglot.study.jobs.digests import reached
    except ImportError:  # before jobs counted definitions
        return sorted(job.code)
    return reached(job.verb, job.settings, job.selects).definitions

plan = Plan(config.load(Path("params.yaml"), {"preset": sys.argv[1]}))
print(json.dumps([(kind(job), counted(job)) for job in plan.jobs.values()]))
"""


def git(*words: str) -> str:
    """What git prints."""
    return subprocess.run(("git", *words), cwd=ROOT, capture_output=True, text=True, check=True).stdout


def jobs(revision: str, preset: str) -> list[tuple[str, list[str]]]:
    """The kind of each job of a revision, and the definitions ("module:name") or modules that its code counts."""
    archive = subprocess.run(("git", "archive", revision), cwd=ROOT, capture_output=True, check=True).stdout
    with TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(folder, filter="data")
        command = [sys.executable, "-c", JOBS, preset]
        # Without this checkout on its path.
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env={})
    return [(kind, names) for kind, names in json.loads(done.stdout)]


@cache
def code(blob: str) -> dict[str, str]:
    """The code of each definition of a file, with the imports that it uses; "" has all other statements."""
    body = ast.parse(git("cat-file", "blob", blob)).body
    imports = {
        alias.asname or alias.name: f"{getattr(node, 'module', '')} {alias.name}"
        for node in body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    definitions: dict[str, str] = defaultdict(str)
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        places = [place for target in targets for place in getattr(target, "elts", [target])]
        names = [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
        names = names or [place.id for place in places if isinstance(place, ast.Name)] or [""]
        used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        about = shape([node]) + str(sorted(imports[name] for name in used & imports.keys()))
        for name in names:
            definitions[name] += about
    return definitions


def changes(revision: str, until: str, count: int) -> list[set[str]]:
    """What each of the last commits to src/ changed: definitions, "module:name", where a revision has them.

    Args:
        revision: that has these commits.
        until: the last of them.
        count: how many.
    """
    counted = git("log", f"-{count}", "--format=%H", until, "--", "src").split()
    shown = ("--raw", "--no-abbrev", "-M", "--format=commit %H")
    log = git("log", *shown, f"{counted[-1]}^..{revision}", "--", "src").splitlines()
    now: dict[str, set[str]] = {}  # names of definitions by module
    homes: dict[str, set[str]] = defaultdict(set)  # modules by name of a definition
    for line in git("ls-tree", "-r", revision, "src").splitlines():
        if line.endswith(".py"):
            module = module_of(line.split("\t")[1])
            now[module] = {*code(line.split()[2])}
            for name in now[module]:
                homes[name].add(module)
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
        if status[0] in "MR" and path.endswith(".py") and commit in edited:
            then, since, module = code(before), code(after), module_of(path)
            for name in {*then, *since}:
                if then.get(name) == since.get(name):
                    continue
                here = name in now.get(module, ())
                moved = homes[name] if name and not here else ()
                edited[commit] |= {f"{place}:{name}" for place in moved or [module]}
                if not here and not moved:
                    edited[commit].add(module)
    return list(edited.values())


def module_of(path: str) -> str:
    """The module of a file below src/."""
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


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
            # Of a job that counts whole modules, every definition of them.
            whole = {name for name in names if ":" not in name}
            modules = whole | {name.partition(":")[0] for name in names if not name.endswith(":")}
            wanted = {*names, *modules}
            hits = [
                number
                for number, edited in enumerate(edits)
                if edited & wanted or any(change.partition(":")[0] in whole for change in edited)
            ]
            sizes[kind] += len(modules)
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
