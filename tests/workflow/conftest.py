"""The miniature workflow: with verbs that write fixed bytes, for the situations, and once for real."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from once import made_once
from real_run import run_for_real
from shipped_settings import shipped_values
from workspace import Workspace, programs

from orthoglot.study import config
from orthoglot.study.jobs import digests
from plan import Plan


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The miniature workflow with stub verbs, committed, nothing run but what parses its code."""
    folder = tmp_path_factory.mktemp("workspace")
    workspace = Workspace.make(folder / "fresh", programs(folder / "bin", "stub_verb.py"))
    with chdir(workspace.folder):
        digests.forget()
        Plan(config.load(Path("params.yaml")))
        digests.save_cache()
        digests.forget()
    return workspace


@pytest.fixture(scope="session")
def finished(fresh: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """`fresh` after one `snakemake` run, its dvc.lock and metrics committed."""

    def run(folder: Path) -> None:
        workspace = fresh.copy(folder / "w")
        workspace.run("snakemake", "--cores", "2", "--use-conda")
        workspace.commit("results")

    made = made_once(tmp_path_factory, "finished", run)
    return Workspace(made / "w", fresh.programs).copy(tmp_path_factory.mktemp("finished") / "w")


@pytest.fixture
def done(finished: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the finished workspace for one test to change."""
    return finished.copy(tmp_path / "w")


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The one real run of a test session."""
    return run_for_real(tmp_path_factory.mktemp("real"))


@pytest.fixture
def values() -> dict[str, Any]:
    """All settings as they are shipped."""
    return shipped_values()


@pytest.fixture
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
