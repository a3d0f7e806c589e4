"""Every file of a finished run, damaged in every way: the planner, the next job and doctor notice it.

A fault that is not noticed would be a wrong number without a word: the job would read other bytes than were written.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from faults import Count
from job_texts import job_text
from once import made_once
from workspace import Workspace, programs

from orthoglot import receipts
from orthoglot.errors import DataError
from orthoglot.study import config
from orthoglot.study.jobs.job import Job
from plan import Plan


def flip(file: Path, *, keep_time: bool = False) -> None:
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    if keep_time:
        os.utime(file, ns=times)


def become_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def become_link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/etc/hostname")


FAULTS: dict[str, Callable[[Path], object]] = {
    "delete": Path.unlink,
    "empty": lambda file: file.write_bytes(b""),
    "truncate": lambda file: os.truncate(file, file.stat().st_size // 2),
    "folder": become_folder,
    "link": become_link,
    "flip, new time": flip,
    "flip, old time": lambda file: flip(file, keep_time=True),
    "extra file": lambda file: file.with_name("extra.json").write_text("{}"),
}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plan]:
    """The plan of a finished miniature run, whose folder is the working directory."""

    def run(folder: Path) -> None:
        workspace = Workspace.make(folder / "w", programs(folder / "bin", "stub_verb.py"))
        workspace.run("snakemake", "--cores", "2")

    made = made_once(tmp_path_factory, "faults", run)
    workspace = Workspace(made / "w").copy(tmp_path_factory.mktemp("faults") / "w")
    with chdir(workspace.folder):
        yield Plan(config.load(Path("params.yaml")))


def files(folder: Path) -> dict[Path, bytes]:
    """The content of every file of a result; what is no file has none."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def read_by_a_job(folder: Path, key: str) -> dict[Path, bytes] | None:
    """What the next job reads of a folder; None if it refuses to read."""
    text = job_text("gather", {}, inputs={"fine_tuned": {str(folder): key}})
    read: dict[Path, bytes] = {}
    try:
        Job("gather", text).run(lambda output: read.update(files(folder)))
    except DataError:
        return None
    return read


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_goes_unnoticed(fault: str, plan: Plan) -> None:
    folders = [Path(folder) for folder in sorted(plan.default)]
    # The record knows every file, as after an ordinary run.
    time.sleep(receipts.SETTLED / 1e9 + 0.1)
    assert all(Plan.done.__wrapped__(plan, str(folder)) for folder in folders)
    count = Count(f"fault matrix, {fault}")
    for folder in folders:
        key = plan.jobs[str(folder)].key
        good = files(folder)
        results = {path: content for path, content in good.items() if path.parent.name != receipts.NAME}
        for file in good:
            shutil.copytree(folder, "aside", symlinks=True)
            FAULTS[fault](file)
            planned = Plan.done.__wrapped__(plan, str(folder))
            read = read_by_a_job(folder, key)
            reported = folder in receipts.problems(Path(folder.parts[0])) or not (folder / "receipt").is_dir()
            wrong = (
                read is not None
                and {path: content for path, content in read.items() if path.parent.name != receipts.NAME}
                != results
            )
            count.add(refused=not planned, wrong=wrong)
            assert not wrong, f"a job read {file} after {fault}"
            assert not planned or files(folder) == good, f"the planner takes {file} for whole after {fault}"
            assert reported or not any(folder.glob("receipt/*")), f"doctor does not see {fault} of {file}"
            shutil.rmtree(folder)
            Path("aside").rename(folder)
            shutil.rmtree("out", ignore_errors=True)
    count.save()
