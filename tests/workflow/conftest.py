"""The miniature workflow, run once and copied for every test."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from shipped_settings import shipped_values, write_settings
from workspace import ROOT, Workspace, tiny


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The checkout's own files with the miniature parameters, committed, nothing run."""
    folder = tmp_path_factory.mktemp("workspace") / "fresh"
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("docs/", "results/")) and name != "dvc.lock":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    write_settings(tiny(shipped_values()), folder)
    workspace = Workspace(folder)
    workspace.run("git", "init", "-q", "-b", "main")
    workspace.run("git", "config", "user.name", "t")  # dvc exp run commits, too
    workspace.run("git", "config", "user.email", "t@t")
    workspace.commit("miniature")
    return workspace


@pytest.fixture(scope="session")
def finished(fresh: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """`fresh` after one `snakemake` run, its dvc.lock and metrics committed."""
    workspace = fresh.copy(tmp_path_factory.mktemp("finished") / "w")
    workspace.run("snakemake", "--cores", "2", "--use-conda")
    workspace.commit("results")
    return workspace


@pytest.fixture
def done(finished: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the finished workspace for one test to change."""
    return finished.copy(tmp_path / "w")
