"""A language pair that several jobs prepare through Snakemake: killed and resumed, it has the bytes of one job."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from texts_to_divide import FOLDER, write_corpora
from workspace import Workspace

RUN = "snakemake", "--cores", "2"
PARTS = 3


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The miniature workflow with a language pair that is prepared in parts."""
    workspace = Workspace.make(tmp_path_factory.mktemp("divided") / "w")
    write_corpora(workspace, 20_000)
    return workspace


@pytest.fixture(scope="module")
def expected(workspace: Workspace) -> dict[str, bytes]:
    """The files of one job."""
    workspace.run(*RUN, FOLDER)
    files = content(workspace)
    workspace.edit(presets__mini__pair_parts={"en-de": PARTS})
    return files


def content(workspace: Workspace) -> dict[str, bytes]:
    """The files of the result without its receipt."""
    return {path.name: path.read_bytes() for path in (workspace.folder / FOLDER).iterdir() if path.is_file()}


def test_a_run_that_is_killed_gives_the_bytes_of_one_job(
    workspace: Workspace, expected: dict[str, bytes]
) -> None:
    """Then nothing is due, the parts are gone, and a damaged result is made again by all jobs."""
    assert sum(name.startswith("train-") for name in expected) == 1
    parts = Path("preparing/mini/en-de")
    workspace.kill_when(f"{parts}/parts/?/receipt/*.json", *RUN, FOLDER)
    before = {str(path.parents[1]) for path in workspace.folder.glob(f"{parts}/parts/?/receipt/*.json")}
    again = workspace.done_in(workspace.run(*RUN, FOLDER).stdout)
    assert before
    assert not {str(Path(name).relative_to(workspace.folder)) for name in before} & {*again}
    assert len(before) + len(again) == 2 * PARTS + 2
    assert content(workspace) == expected
    assert not (workspace.folder / parts).exists()
    assert "Nothing to be done" in workspace.run(*RUN, FOLDER).stdout
    (workspace.folder / FOLDER / "counts.json").write_text("{}")
    assert len(workspace.done_in(workspace.run(*RUN, FOLDER).stdout)) == 2 * PARTS + 2
    assert content(workspace) == expected


def test_all_of_a_preset_asks_for_no_part_whose_pair_is_done(
    workspace: Workspace, expected: dict[str, bytes]
) -> None:
    workspace.run(*RUN, "stage_corpora")
    assert content(workspace) == expected
    assert "Nothing to be done" in workspace.run(*RUN, "stage_corpora").stdout
    assert "preparing/" not in workspace.run(*RUN, "-n").stdout


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"presets__mini__pair_parts": {"en-fr": 2}}, "presets.mini.pair_parts: unknown name 'en-fr'"),
        ({"presets__mini__pair_parts": {"en-de": 0}}, "pair_parts.en-de: Input should be greater than"),
        (
            {"presets__mini__cleaning__near_duplicates": 0.8},
            "presets.mini: near_duplicates compares all of en-de in one job; set it to 0, or take en-de out of",
        ),
    ],
)
@pytest.mark.usefixtures("expected")
def test_what_cannot_be_divided_is_said_before_any_job(
    changes: dict[str, object], cause: str, workspace: Workspace, tmp_path: Path
) -> None:
    refused = workspace.copy(tmp_path / "w")
    shutil.rmtree(refused.folder / FOLDER, ignore_errors=True)
    refused.edit(**changes)
    result = refused.run(*RUN, FOLDER, check=False)
    assert result.returncode
    assert cause in result.stdout
    assert "done: " not in result.stdout
