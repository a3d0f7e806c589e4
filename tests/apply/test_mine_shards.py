"""Mining by jobs that share a folder gives the bytes of one command, or says which job to run again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_checkpoint import make_pairs
from typer.testing import CliRunner

from orthoglot.apply import mine_shards as shards
from orthoglot.apply import text_vectors
from orthoglot.apply.mine import distinct
from orthoglot.cli import app
from orthoglot.decomposers import own_mean
from orthoglot.errors import ConfigError, DataError

PAIRS = make_pairs(90)
Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def _short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts begin at multiples of 8 sentences."""
    monkeypatch.setattr(shards, "BLOCK", 8)
    monkeypatch.setattr(own_mean, "BLOCK", 8)
    for function in (text_vectors.text_vectors, text_vectors.write_vectors):
        monkeypatch.setitem(function.__kwdefaults__, "block", 8)  # type: ignore[attr-defined]


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path]:
    """Two thirds of either side translate each other; blank lines, repeated ones, and sentences of equal vectors."""
    sides = [one for one, _ in PAIRS[:60]], [other for _, other in PAIRS[:30:-1]]
    paths = tmp_path / "en.txt", tmp_path / "gn.txt"
    for path, lines in zip(paths, sides, strict=True):
        # The tokenizer takes any white space for one blank.
        equal = [line.replace(" ", " " * blanks) for blanks in range(2, 9) for line in lines[:3]]
        path.write_text("\n".join([lines[4], "", *lines, f" {lines[7]}\t", *equal, "\u2028"]) + "\r\n")
    return paths


@pytest.fixture
def run(encoder: Path, texts: tuple[Path, Path], tmp_path: Path) -> Run:
    """The command with a folder for all jobs; what stopped it, if anything did."""

    def run(*options: object, model: Path = encoder, output: str = "merged.tsv") -> Any:
        words = [
            "mine",
            *texts,
            "--model",
            model,
            "-o",
            tmp_path / output,
            "--threads",
            1,
            "--numbers",
            *options,
        ]
        done = CliRunner().invoke(app, [*map(str, words)])
        return done.exception

    return run


def all_jobs(run: Run, shape: str, folder: Path, *options: object) -> None:
    source, target = map(int, shape.split("x"))
    every = [("--encode", range(1, source + target + 1)), ("--search", range(1, source * target + 1))]
    for option, numbers in every:
        for number in numbers:
            assert run("--shards", shape, "--checkpoint", folder, option, number, *options) is None


@pytest.mark.parametrize("shape", ["1x1", "2x2", "3x2", "1x14"])  # the last has empty parts
@pytest.mark.parametrize("name", ["encoder", "plda"])  # without and with a text's own mean
def test_shards_give_the_bytes_of_one_command(
    name: str, shape: str, run: Run, encoder: Path, models: dict[str, Path], tmp_path: Path
) -> None:
    run = partial(run, model=models["plda"] if name == "plda" else encoder)
    assert run(output="one.tsv") is None
    all_jobs(run, shape, tmp_path / "work")
    assert not (tmp_path / "merged.tsv").exists()
    assert run("--shards", shape, "--checkpoint", tmp_path / "work") is None
    assert not [*(tmp_path / "work").glob("*.own-mean.npy")]
    assert len((tmp_path / "one.tsv").read_text().splitlines()) > 40
    assert (tmp_path / "merged.tsv").read_bytes() == (tmp_path / "one.tsv").read_bytes()
    about, expected = (json.loads((tmp_path / f"{name}.tsv.json").read_text()) for name in ("merged", "one"))
    assert about.pop("shards") == shape
    assert about == expected
    assert [*(tmp_path / "work").glob("merge.*.npy")] == []


def test_there_may_be_more_parts_than_sentences(run: Run, texts: tuple[Path, Path], tmp_path: Path) -> None:
    for path, (one, other) in zip(texts, (PAIRS[0], PAIRS[1][::-1]), strict=True):
        path.write_text(f"{one}\n{other}\n")
    assert run(output="one.tsv") is None
    all_jobs(run, "3x4", tmp_path / "work")
    assert run("--shards", "3x4", "--checkpoint", tmp_path / "work") is None
    assert (tmp_path / "merged.tsv").read_bytes() == (tmp_path / "one.tsv").read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        ("--retrieval", "intersection", "--margin", "distance", "-k", 2),
        ("--retrieval", "backward", "--threshold", 1.01),
        ("--retrieval", "forward", "--best", 3),
        ("-k", 500),
    ],
)
def test_options_of_margins_do_the_same(options: tuple[object, ...], run: Run, tmp_path: Path) -> None:
    assert run(*options, output="one.tsv") is None
    all_jobs(run, "2x3", tmp_path / "work", *options)
    assert run("--shards", "2x3", "--checkpoint", tmp_path / "work", *options) is None
    assert (tmp_path / "merged.tsv").read_bytes() == (tmp_path / "one.tsv").read_bytes()


def test_by_cells_the_recall_is_stated(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(output="one.tsv") is None
    monkeypatch.setattr(shards, "limit", lambda device: 0)
    all_jobs(run, "2x2", tmp_path / "work")
    assert run("--shards", "2x2", "--checkpoint", tmp_path / "work") is None
    about = json.loads((tmp_path / "merged.tsv.json").read_text())
    assert (about["search"], about["recall"]) == ("cells", 1)  # so few sentences that all cells are looked up
    margins = [
        [float(row.split("\t")[0]) for row in (tmp_path / name).read_text().splitlines()[1:]]
        for name in ("merged.tsv", "one.tsv")
    ]
    np.testing.assert_allclose(sorted(margins[0])[:20], sorted(margins[1])[:20], atol=1e-2)


@pytest.fixture
def work(run: Run, tmp_path: Path) -> Path:
    """All jobs of 2x2 are done."""
    all_jobs(run, "2x2", tmp_path / "work")
    return tmp_path / "work"


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def more_distinct(path: Path) -> None:
    seal = json.loads(path.read_text())
    seal["facts"]["distinct"] += 1
    path.write_text(json.dumps(seal, indent=1))


@pytest.mark.parametrize(
    ("name", "harm", "cause"),
    [
        (
            "search-3-of-2x2.json",
            Path.unlink,
            "search-3-of-2x2 is absent; first run, or run again: --search 3",
        ),
        ("search-3-of-2x2.json", lambda path: path.write_text("[]"), "search-3-of-2x2.json is damaged"),
        ("search-3-of-2x2.json", lambda path: path.write_text("{"), "search-3-of-2x2.json is damaged"),
        ("target-1-of-2.json", more_distinct, "target-1-of-2.json is damaged; .*: --encode 3"),
        ("search-2-of-2x2.target.npy", damage, "search-2-of-2x2.target.npy is damaged; .*: --search 2"),
        ("search-2-of-2x2.source.npy", Path.unlink, "search-2-of-2x2.source.npy is damaged; .*: --search 2"),
        ("target-1-of-2.txt", damage, "target-1-of-2.txt is damaged; .*: --encode 3"),
        ("source-2-of-2.places.npy", damage, "source-2-of-2.places.npy is damaged; .*: --encode 2"),
    ],
)
def test_a_merge_refuses_a_shard_that_is_absent_or_damaged(
    name: str, harm: Callable[[Path], object], cause: str, run: Run, work: Path, tmp_path: Path
) -> None:
    assert run(output="one.tsv") is None
    harm(work / name)
    with pytest.raises(DataError, match=cause):
        raise run("--shards", "2x2", "--checkpoint", work)
    assert not (tmp_path / "merged.tsv").exists()
    option, number = (
        ("--search", name[7]) if name.startswith("search") else ("--encode", 2 if "source" in name else 3)
    )
    assert run("--shards", "2x2", "--checkpoint", work, option, number) is None
    assert run("--shards", "2x2", "--checkpoint", work) is None
    assert (tmp_path / "merged.tsv").read_bytes() == (tmp_path / "one.tsv").read_bytes()


def test_damaged_vectors_are_not_searched_and_are_made_again(run: Run, work: Path) -> None:
    whole = (work / "source-1-of-2.npy").read_bytes()
    damage(work / "source-1-of-2.npy")
    (work / "search-1-of-2x2.json").unlink()
    with pytest.raises(DataError, match=r"source-1-of-2\.npy is damaged; .*: --encode 1"):
        raise run("--shards", "2x2", "--checkpoint", work, "--search", 1)
    assert run("--shards", "2x2", "--checkpoint", work, "--encode", 1) is None
    assert (work / "source-1-of-2.npy").read_bytes() == whole


def test_what_was_made_of_something_else_is_refused(
    run: Run, work: Path, texts: tuple[Path, Path], models: dict[str, Path]
) -> None:
    shards_of = ("--shards", "2x2", "--checkpoint", work)
    with pytest.raises(
        DataError, match=r"search-1-of-2x2 was made with another neighborhood; .*: --search 1"
    ):
        raise run(*shards_of, "-k", 3)
    with pytest.raises(
        DataError, match=r"source-1-of-2 was made with another model; .*--encode 4, --search 1"
    ):
        raise run(*shards_of, model=models["encoder"])
    with pytest.raises(DataError, match=r"source-1-of-3 is absent; .*, --search 1, "):
        raise run("--shards", "3x2", "--checkpoint", work)
    texts[1].write_text(texts[1].read_text() + "b01\n")
    for job in ((), ("--search", 4)):
        with pytest.raises(DataError, match=r"target-[12]-of-2 was made with another text"):
            raise run(*shards_of, *job)


def test_a_text_that_changes_while_it_is_read_is_noticed(
    run: Run, texts: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = shards.text_vectors

    def changed(*given: Any, **options: Any) -> Any:
        texts[0].write_text("a01\n")
        return encode(*given, **options)

    monkeypatch.setattr(shards, "text_vectors", changed)
    with pytest.raises(DataError, match=r"en\.txt has changed while it was read"):
        raise run("--shards", "2x2", "--checkpoint", tmp_path / "work", "--encode", 1)
    assert not (tmp_path / "work/source-1-of-2.json").exists()


def test_a_part_begins_where_a_block_of_one_command_does(run: Run, tmp_path: Path) -> None:
    """So that each batch of the encoder holds the same sentences."""
    jobs = ("--shards", "3x1", "--checkpoint", tmp_path / "work")
    assert [run(*jobs, "--encode", number) for number in (1, 2, 3)] == [None] * 3
    whole = tmp_path / "one"
    assert run("--checkpoint", whole) is None
    parts = [np.load(tmp_path / f"work/source-{number}-of-3.npy") for number in (1, 2, 3)]
    assert [len(part) % 8 for part in parts[:2]] == [0, 0]
    assert np.concatenate(parts).tobytes() == np.load(whole / "source.npy").tobytes()


def test_a_job_that_is_done_does_nothing(run: Run, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.stat().st_mtime_ns for path in work.glob("*.npy")}
    monkeypatch.setattr(shards, "kept_lines", None)
    monkeypatch.setattr(shards, "search_tile", None)
    all_jobs(run, "2x2", work)
    assert {path: path.stat().st_mtime_ns for path in work.glob("*.npy")} == before


def test_killed_jobs_go_on(encoder: Path, tmp_path: Path) -> None:
    """By SIGKILL, as a cluster does."""
    words = np.random.default_rng(2).integers(80, size=(30_000, 3))
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(
            "".join(" ".join(f"{name}{w:02}" for w in row) + "\n" for row in words)
        )
    given = ["mine", "a.txt", "b.txt", "--model", encoder, "-o", "out.tsv", "--threads", "1"]
    command = [sys.executable, "-m", "orthoglot", *map(str, given), "--shards", "2x1", "--checkpoint", "work"]
    note = tmp_path / "work/source-2-of-2.npy.json"
    process = subprocess.Popen([*command, "--encode", "2"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 240
    while not note.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "work/source-2-of-2.json").exists()
    again = subprocess.run(
        [*command, "--encode", "2"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "encode: resumed with" in again.stderr
    whole = shutil.copy(tmp_path / "work/source-2-of-2.npy", tmp_path / "resumed.npy")
    (tmp_path / "work/source-2-of-2.json").write_text("{}")
    subprocess.run([*command, "--encode", "2"], cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / "work/source-2-of-2.npy").read_bytes() == Path(whole).read_bytes()


def test_the_same_lines_are_kept_as_in_one_process() -> None:
    rng = np.random.default_rng(4)
    lines = [
        f"{' ' * int(number % 2)}s{number}" if number % 7 else " " for number in rng.integers(900, size=3000)
    ]
    side, kept = distinct(lines, "text"), shards.kept_lines(lines)
    assert (kept.rows + 1).tolist() == side.lines
    assert (kept.lines, kept.blank) == (side.total, side.blank)
    assert shards.kept_lines(["", " "]).rows.tolist() == shards.kept_lines([]).rows.tolist() == []


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (("--shards", "4"), "write the parts of both texts, e.g. 4x4"),
        (("--shards", "0x4"), "write the parts of both texts"),
        (("--shards", "2x2"), "a --checkpoint folder that all jobs share"),
        (("--encode", 1), "need --shards"),
        (
            ("--shards", "2x3", "--checkpoint", "work", "--encode", 6),
            "--encode 6: --shards 2x3 has 5 of them",
        ),
        (
            ("--shards", "2x3", "--checkpoint", "work", "--search", 7),
            "--search 7: --shards 2x3 has 6 of them",
        ),
        (("--shards", "2x3", "--checkpoint", "work", "--search", 1, "--encode", 1), "are two jobs"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: tuple[object, ...], cause: str, run: Run) -> None:
    with pytest.raises(ConfigError, match=cause):
        raise run(*options)


@pytest.mark.parametrize("name", ["search-1-of-2x2.source.npy", "search-1-of-2x2.json", "source-1-of-2.txt"])
def test_a_folder_in_the_place_of_a_file_is_named_with_what_removes_it(
    name: str, run: Run, work: Path
) -> None:
    (work / name).unlink()
    (work / name).mkdir()
    option = "--search" if name.startswith("search") else "--encode"
    for options in ((), (option, 1)):
        error = run("--shards", "2x2", "--checkpoint", work, *options)
        assert isinstance(error, DataError | OSError)
        assert name in str(error)
        assert "rm -r" in str(error)
    (work / name).rmdir()
    if option == "--encode":
        assert run("--shards", "2x2", "--checkpoint", work, "--encode", 1) is None
    assert run("--shards", "2x2", "--checkpoint", work, "--search", 1) is None
    assert run("--shards", "2x2", "--checkpoint", work) is None
