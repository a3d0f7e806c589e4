"""What commits changed, as `measurements/many-jobs/jobs_due.py` counts it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import jobs_due
import pytest


def test_commits_count_by_the_code_that_they_changed_under_the_names_of_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_due, "ROOT", tmp_path)

    def commit(file: str, text: str, gone: str = "") -> None:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if gone:
            (tmp_path / gone).unlink()
        for words in (("add", "-A"), ("commit", "-q", "-m", "some")):
            named = "-c", "user.name=t", "-c", "user.email=t@t"
            subprocess.run(("git", *named, *words), cwd=tmp_path, check=True)

    subprocess.run(("git", "init", "-q"), cwd=tmp_path, check=True)
    code = "".join(f"def f{number}(x):\n    return x + {number}\n\n\n" for number in range(9))
    commit("src/package/a.py", code)
    commit("src/package/a.py", f"# a comment\n{code}")
    commit("src/package/a.py", code + "NEW = 1\n")
    commit("src/package/room/b.py", code + "NEW = 1\n", gone="src/package/a.py")
    commit("src/package/room/b.py", code + "NEW = 2\n")
    place = "package.room.b:NEW"
    assert jobs_due.changes("HEAD", "HEAD", 4) == [{place}, set(), {place}, set()]
    # A revision from before the move has its own name for it.
    assert jobs_due.changes("HEAD~2", "HEAD~2", 2) == [{"package.a:NEW"}, set()]
    # A definition that moves, and one that goes.
    commit("src/package/room/b.py", code.replace("x + 8", "x - 8"))
    commit("src/package/c.py", "def f8(x):\n    return x - 8\n")
    commit("src/package/room/b.py", code.partition("def f8")[0])
    gone, moved = {"package.room.b", place}, "package.c:f8"
    assert jobs_due.changes("HEAD", "HEAD", 4) == [{moved}, set(), {moved, *gone}, gone]
