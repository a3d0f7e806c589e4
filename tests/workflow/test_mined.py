"""Mining through Snakemake: killed and resumed, with names that a shell would take for commands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from texts_to_mine import mining_model, write_texts
from workspace import Workspace

SOURCE = "texts/en $(touch taken) 'text'.txt"
TARGET = "texts/gn;&.txt"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The miniature workflow with two texts and a model."""
    workspace = Workspace.make(tmp_path_factory.mktemp("mining") / "w")
    mining_model(workspace.folder / "texts/model")
    write_texts(workspace.folder / SOURCE, workspace.folder / TARGET, 8_500)
    return workspace


def mined(*more: str, source: str = SOURCE, target: str = TARGET) -> tuple[str, ...]:
    """The command."""
    given = f"source={source}", f"target={target}", "parts=2", "model=texts/model", "device=cpu", *more
    return "snakemake", "--cores", "2", "mined", "--config", *given


def test_a_mining_that_is_killed_gives_the_bytes_of_one_command(workspace: Workspace) -> None:
    """Then nothing is due, a threshold has the pairs written anew, and another text is all searched anew."""
    workspace.kill_when("mining/mini/candidates/1-1/receipt/*.json", *mined())
    before = {path.parents[1] for path in workspace.folder.glob("mining/**/receipt/*.json")}
    text = workspace.run(*mined()).stdout
    again = workspace.done_in(text)
    assert not {str(folder.relative_to(workspace.folder)) for folder in before} & {*again}
    assert len(before) + len(again) == 2 + 4 + 1 + 4 + 4 + 1
    assert "\npairs: mined/mini/pairs.tsv\n" in text
    files = SOURCE, TARGET, "--model", "texts/model", "--device", "cpu", "--threads", "1", "-o", "one.tsv"
    workspace.run("orthoglot", "mine", *files)
    pairs = workspace.folder / "mined/mini/pairs.tsv"
    assert pairs.read_bytes() == (workspace.folder / "one.tsv").read_bytes()
    assert len(pairs.read_text().splitlines()) > 6_000
    assert "Nothing to be done" in workspace.run(*mined()).stdout
    assert not (workspace.folder / "taken").exists()

    due = workspace.run(*mined("threshold=1.05"), "-n").stdout
    assert [line for line in due.splitlines() if line.startswith("due: ")] == [
        "due: mined/mini: threshold null -> 1.05"
    ]
    target = workspace.folder / TARGET
    target.write_text(target.read_text() + "b01 b02\n")
    due = workspace.run(*mined(), "-n").stdout
    assert f"due: mining/mini/target/text: {TARGET}\n" in due
    assert "due: mining/mini/candidates/2-2: " in due
    assert "mining/mini/source/vectors" not in due


def test_a_mining_by_cells_that_is_killed_gives_the_bytes_of_one_that_was_not(workspace: Workspace) -> None:
    command = mined("cells=80", "threshold=1.0")
    done = workspace.done_in(workspace.run(*command).stdout)
    assert sum(folder.startswith("mining/mini/blocks/") for folder in done) == 2
    pairs = workspace.folder / "mined/mini/pairs.tsv"
    expected, about = pairs.read_bytes(), json.loads(pairs.with_name("pairs.tsv.json").read_text())
    assert (about["search"], about["options"]["cells"]) == ("cells", 80)
    assert 0.5 < about["recall"] < 1
    for folder in ("mining", "mined"):
        shutil.rmtree(workspace.folder / folder)
    workspace.kill_when("mining/mini/blocks/1/receipt/*.json", *command)
    before = {path.parents[1] for path in workspace.folder.glob("mining/**/receipt/*.json")}
    again = workspace.done_in(workspace.run(*command).stdout)
    assert not {str(folder.relative_to(workspace.folder)) for folder in before} & {*again}
    assert len(before) + len(again) == 7 * 2 + 4
    assert pairs.read_bytes() == expected
    due = workspace.run(*mined("cells=80", "threshold=1.0", "probes=4"), "-n").stdout
    assert "due: mining/mini/source/cells/1: probes 10 -> 4" in due
    assert "due: mining/mini/centre" not in due


@pytest.mark.parametrize(
    ("command", "cause"),
    [
        (mined("cells=2"), "presets.mini.mine: probes 10 is above cells 2"),
        (mined(target=SOURCE), "are the same text"),
        (mined(source="texts/absent.txt"), "presets.mini.mine.source: texts/absent.txt does not exist"),
        (mined("parts=0"), "presets.mini.mine.parts: Input should be greater than or equal to 1"),
        (("snakemake", "--cores", "2", "mined"), "there is nothing to mine: give --config source=en.txt"),
    ],
)
def test_what_cannot_be_mined_is_said_before_any_job(
    command: tuple[str, ...], cause: str, workspace: Workspace
) -> None:
    result = workspace.run(*command, check=False)
    assert result.returncode
    assert cause in result.stdout
    assert "done: " not in result.stdout


def test_a_text_that_is_too_short_says_so_in_the_line_of_its_job(workspace: Workspace) -> None:
    Path(workspace.folder, "texts/short.txt").write_text("a01\n")
    result = workspace.run(*mined(source="texts/short.txt"), check=False)
    assert result.returncode
    (failed,) = (line for line in result.stdout.splitlines() if "mining/mini/source/text;" in line)
    assert failed.endswith(
        "texts/short.txt has fewer distinct sentences (1) than parts (2); give fewer parts"
    )
