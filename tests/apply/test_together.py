"""Commands that run at the same time, in processes of their own, write what each writes alone."""

from __future__ import annotations

import errno
import fcntl
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_checkpoint import make_pairs, write_tsv
from together import Ended, Together

from orthoglot import atomic, load
from orthoglot.apply.text_vectors import text_vectors
from orthoglot.cli import options
from orthoglot.errors import ConfigError
from orthoglot.file_lock import locked

PAIRS = make_pairs(900)


@pytest.fixture(scope="module")
def together() -> Iterator[Together]:
    with Together() as server:
        yield server


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Two pairs of texts of one size, of which half the lines translate each other."""
    folder = tmp_path_factory.mktemp("texts")
    found = {}
    for name, start in (("a", 0), ("b", 450)):
        own = PAIRS[start : start + 450]
        sides = [one for one, _ in own[:300]], [other for _, other in own[:149:-1]]
        found[name] = folder / f"{name}.en.txt", folder / f"{name}.gn.txt"
        for path, lines in zip(found[name], sides, strict=True):
            path.write_text("\n".join(lines) + "\n")
    return found


def bytes_of(place: Path) -> dict[str, bytes]:
    """The files of a file or folder that has nothing else to wait for or to go on with."""
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    return {str(file.relative_to(place)): file.read_bytes() for file in files}


def check(ended: Sequence[Ended]) -> None:
    """All commands went well."""
    assert [one.status for one in ended] == [0] * len(ended), ended


def test_two_texts_are_mined_with_one_checkpoint(
    together: Together, encoder: Path, texts: dict[str, tuple[Path, Path]], tmp_path: Path
) -> None:
    mine = {name: ["mine", *texts[name], "--model", encoder, "--threads", 1, "-o"] for name in "ab"}
    for name in "ab":
        check(together([*mine[name], tmp_path / f"alone.{name}.tsv"]))
    said: list[str] = []
    for number in range(15):
        if number > 2 and said:
            break  # Two fast commands need not meet in the first tries.
        kept = tmp_path / f"kept{number // 2}"
        ended = together(*([*mine[name], tmp_path / f"{name}.tsv", "--checkpoint", kept] for name in "ab"))
        check(ended)
        said += [line for one in ended for line in one.said.splitlines() if "in use by" in line]
        for name in "ab":
            assert bytes_of(tmp_path / f"{name}.tsv") == bytes_of(tmp_path / f"alone.{name}.tsv")
        assert sorted(path.name for path in kept.iterdir()) == [
            f"{side}.npy{end}" for side in ("source", "target") for end in ("", ".json")
        ]
    assert said
    assert all("kept" in line and "give another --checkpoint" in line for line in said)


@pytest.mark.parametrize("command", ["mine", "align", "encode", "calibrate"])
def test_one_command_given_twice(
    command: str,
    together: Together,
    encoder: Path,
    texts: dict[str, tuple[Path, Path]],
    tmp_path: Path,
) -> None:
    for side, path in zip(("en", "gn"), texts["a"], strict=True):
        (tmp_path / side).mkdir()
        lines = path.read_text().splitlines()
        for number in range(3):
            (tmp_path / side / f"{number}.txt").write_text("\n".join(lines[number * 30 :][:30]) + "\n")
    pairs = write_tsv(tmp_path / "dev.tsv", PAIRS[:250])
    words: dict[str, list[object]] = {
        "mine": ["mine", *texts["a"]],
        "align": ["align", tmp_path / "en", tmp_path / "gn"],
        "encode": ["encode", texts["a"][0]],
        "calibrate": ["calibrate", pairs, "--share", 0.5, "--among", *texts["a"]],
    }
    given = [*words[command], "--model", encoder, "--threads", 1, "-o"]
    check(together([*given, tmp_path / "alone"]))
    for _ in range(2):
        check(together(*[[*given, tmp_path / "twice"]] * 2))
        assert bytes_of(tmp_path / "twice") == bytes_of(tmp_path / "alone")
    assert not list(tmp_path.glob("*.checkpoint*"))
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.parametrize("command", ["score", "evaluate", "explore"])
def test_two_commands_with_one_output_leave_that_of_one_of_them(
    command: str,
    together: Together,
    models: dict[str, Path],
    texts: dict[str, tuple[Path, Path]],
    tmp_path: Path,
) -> None:
    model = models["plda"]
    pairs = [
        write_tsv(tmp_path / f"{name}.tsv", own) for name, own in (("a", PAIRS[:100]), ("b", PAIRS[100:200]))
    ]
    words: dict[str, list[list[object]]] = {
        "score": [["score", one, "--model", model, "--no-identify"] for one in pairs],
        "evaluate": [["evaluate", model, "--benchmark", one] for one in pairs],
        "explore": [["explore", *texts[name], "--model", model] for name in "ab"],
    }
    given = [[*one, "--threads", 1, "-o"] for one in words[command]]
    right = []
    for one in given:
        check(together([*one, tmp_path / "alone"]))
        right.append(bytes_of(tmp_path / "alone"))
    assert right[0] != right[1]
    for _ in range(3):
        check(together(*([*one, tmp_path / "both"] for one in given)))
        assert bytes_of(tmp_path / "both") in right
    assert not list(tmp_path.rglob("*.partial"))


@pytest.fixture(scope="module")
def fit(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """The command, but for its method and its output."""
    bitext = write_tsv(tmp_path_factory.mktemp("bitext") / "en-gn.tsv", PAIRS)
    return ["fit", "--bitext", bitext, "--pair", "en-gn", "--encoder", encoder, "--threads", 1]


def test_two_methods_are_fitted_with_one_checkpoint(
    together: Together, fit: list[object], tmp_path: Path
) -> None:
    methods = "plda", "centering"
    for method in methods:
        check(together([*fit, "--method", method, "--output", tmp_path / method]))
    place = tmp_path / "both"
    given = [*fit, "--checkpoint", tmp_path / "kept"]
    check(together(*([*given, "--method", method, "--output", place / method] for method in methods)))
    for method in methods:
        assert bytes_of(place / method) == bytes_of(tmp_path / method)


def test_one_fit_given_twice(together: Together, fit: list[object], tmp_path: Path) -> None:
    check(together([*fit, "--output", tmp_path / "alone"]))
    check(together(*[[*fit, "--output", tmp_path / "twice"]] * 2))
    assert bytes_of(tmp_path / "twice") == bytes_of(tmp_path / "alone")
    assert not list(tmp_path.glob("*.checkpoint"))
    # With folders of their own, the later one finds a model, or that one has come meanwhile.
    ended = together(*([*fit, "--output", tmp_path / "c", "--checkpoint", tmp_path / name] for name in "xy"))
    assert sorted(one.status for one in ended) in ([0, 0], [0, 2]), ended
    assert bytes_of(tmp_path / "c") == bytes_of(tmp_path / "alone")


def test_one_export_given_twice(together: Together, encoder: Path, tmp_path: Path) -> None:
    check(together(["export", encoder, tmp_path / "alone"]))
    ended = together(*[["export", encoder, tmp_path / "twice"]] * 2)
    assert sorted(one.status for one in ended) == [0, 2], ended
    assert any("exists; remove it first" in one.said for one in ended)
    assert bytes_of(tmp_path / "twice").keys() == bytes_of(tmp_path / "alone").keys()


def test_vectors_that_another_process_has_mapped_stay_as_they_are(encoder: Path, tmp_path: Path) -> None:
    model, own = load(encoder, device="cpu"), [one for one, _ in PAIRS[:40]]
    mapped = text_vectors(model, own, tmp_path / "v.npy", part="sentence")
    before = np.array(mapped)
    text_vectors(model, [one for one, _ in PAIRS[40:60]], tmp_path / "v.npy", part="sentence")
    np.testing.assert_array_equal(mapped, before)


def test_a_lock_of_a_killed_process_stops_nobody(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    code = (
        "import sys, time; from pathlib import Path; from orthoglot.cli.options import vectors_folder\n"
        "with vectors_folder(Path(sys.argv[1]), Path('o')):\n    print('in', flush=True); time.sleep(600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    waiter = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert waiter.stdout is not None
    assert waiter.stderr is not None
    said = waiter.stderr.readline().decode()
    assert f"{folder}: in use by process {holder.pid} on " in said
    assert waiter.poll() is None
    holder.kill()
    assert waiter.stdout.readline() == b"in\n"
    waiter.kill()
    for process in (holder, waiter):
        process.communicate()
    assert (folder / ".lock").is_file()
    with options.vectors_folder(folder, Path("o")):
        pass
    assert not list(folder.iterdir())


def test_a_lock_in_a_folder_that_is_removed_goes_to_one_process_alone(tmp_path: Path) -> None:
    inside, most = 0, 0
    output = tmp_path / "o"

    def work(_: int) -> None:
        nonlocal inside, most
        with options.vectors_folder(None, output) as folder:
            inside += 1
            most = max(most, inside)
            assert folder.is_dir()
            (folder / "x").write_text("")
            inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(200)))
    assert most == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_that_another_process_makes_again_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new folder can get the number on the disk that the removed one had."""
    (tmp_path / "kept").mkdir()
    access = os.access

    def made_again(*arguments: Any, **settings: Any) -> bool:
        (tmp_path / "kept").rmdir()
        allowed = access(*arguments, **settings)
        (tmp_path / "kept").mkdir()
        return allowed

    monkeypatch.setattr(os, "access", made_again)
    with options.vectors_folder(tmp_path / "kept", Path("o")) as folder:
        assert (folder / options.LOCK).is_file()


def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(tmp_path / "lock", tmp_path):
        assert "has no locks (No locks available)" in caplog.text
    assert not list(tmp_path.iterdir())


def test_a_folder_that_may_only_be_read_needs_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept").mkdir()
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with options.vectors_folder(tmp_path / "kept", Path("o")) as folder:
        assert not list(folder.iterdir())


def test_a_file_in_the_place_of_the_folder_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "o.checkpoint").write_text("")
    with (
        pytest.raises(
            ConfigError, match=r"o\.checkpoint is a file, and the vectors need a folder: remove it"
        ),
        options.vectors_folder(None, tmp_path / "o"),
    ):
        pass


def test_a_partial_file_has_a_name_of_its_process_and_goes_when_that_is_dead(tmp_path: Path) -> None:
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True
    )
    node = platform.node()
    left, alive, other = (
        tmp_path / f"a.tsv.{machine}-{number}.partial"
        for machine, number in (
            (node, int(dead.stdout)),
            (node, os.getppid()),
            ("elsewhere", int(dead.stdout)),
        )
    )
    for path in (left, alive, other):
        path.write_text("")
    with atomic.replacing(tmp_path / "a.tsv") as partial:
        assert str(os.getpid()) in partial.name
        partial.write_text("whole")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "a.tsv", alive, other])
