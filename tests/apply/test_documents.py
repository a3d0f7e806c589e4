"""Alignment of two folders of documents, from files to pairs."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from small_checkpoint import make_pairs
from typer.testing import CliRunner

from orthoglot.apply.align import Link
from orthoglot.apply.documents import Document, links_of, read_folders, row_of
from orthoglot.apply.model import Model
from orthoglot.cli import app
from orthoglot.decomposers.base import unit
from orthoglot.errors import ConfigError, DataError

PAIRS = make_pairs(24)
SOURCES, TARGETS = [source for source, _ in PAIRS], [target for _, target in PAIRS]


@pytest.fixture
def run(encoder: Path, tmp_path: Path) -> Callable[..., Any]:
    """The command on the folders en and gn; (exit status or error, rows of the output)."""

    def run(*options: str) -> tuple[Any, list[list[str]]]:
        output = tmp_path / "pairs.tsv"
        output.unlink(missing_ok=True)
        given = [str(tmp_path / "en"), str(tmp_path / "gn"), "--model", str(encoder), "-o", str(output)]
        result = CliRunner().invoke(app, ["align", *given, "--threads", "1", *options])
        if not output.exists():
            return result.exception or result.exit_code, []
        names, *rows = (line.split("\t") for line in output.read_text().splitlines())
        lines = ["document", "source_line", "target_line"] if "--numbers" in options else []
        assert names == ["margin", "source", "target", *lines]
        return result.exception or result.exit_code, rows

    return run


def write(folder: Path, name: str, lines: list[str]) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(line + "\n" for line in lines).encode()
    packed = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}.get(path.suffix, bytes)
    path.write_bytes(packed(data))
    return path


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Two documents: in one the target side has two sentences in one line and lacks one, the other has all."""
    en, gn = tmp_path / "en", tmp_path / "gn"
    write(en, "b/one.txt", [*SOURCES[:4], "", *SOURCES[4:12]])
    joined = [*TARGETS[:2], " ".join(TARGETS[2:4]), *TARGETS[4:8], *TARGETS[9:12]]
    write(gn, "b/one.txt.gz", joined)
    write(en, "a.txt.zst", SOURCES[12:])
    write(gn, "a.txt", TARGETS[12:])
    write(en, "only\there.txt", SOURCES)
    write(gn, "there.txt", TARGETS)
    write(en, "empty.txt", [])
    write(gn, "empty.txt", TARGETS)
    write(en, ".hidden", SOURCES)
    return tmp_path


def test_documents_are_aligned_in_their_order(run: Callable[..., Any], folders: Path) -> None:
    status, rows = run("--numbers")
    assert status == 0
    assert all(len(row) == 6 for row in rows)
    assert [row[3] for row in rows] == ["a.txt"] * 12 + ["b/one.txt"] * 10
    assert [tuple(row[1:3]) for row in rows[:12]] == PAIRS[12:]
    # Line 5 is blank; sentence 9 in line 10 has no translation.
    one = {row[4]: (row[5], row[1], row[2]) for row in rows[12:]}
    assert one["3,4"] == ("3", " ".join(SOURCES[2:4]), " ".join(TARGETS[2:4]))
    assert one["6"] == ("4", SOURCES[4], TARGETS[4])
    assert "10" not in one
    assert one["13"] == ("10", SOURCES[11], TARGETS[11])
    about = json.loads((folders / "pairs.tsv.json").read_text())
    assert about["documents"] == 2
    assert about["empty"] == ["empty.txt"]
    assert about["paragraphs_not_matching"] == ["b/one.txt"]
    assert about["source"] == {"sentences": 24, "left_out": 1, "unmatched": ["only\\there.txt"]}
    assert about["target"] == {"sentences": 22, "left_out": 0, "unmatched": ["there.txt"]}
    assert about["kinds"] == {"1-1": 21, "2-1": 1}
    assert about["pairs"] == 22 == sum(about["margins"]["counts"])
    assert not (folders / "pairs.tsv.checkpoint").exists()
    assert run() == (0, [row[:3] for row in rows])


def test_lines_are_split_into_sentences(run: Callable[..., Any], tmp_path: Path) -> None:
    ends = (3, 4, 9, 12)
    for side, code, signs in ((0, "en", "!!!!"), (1, "gn", "!!,!")):
        texts = [f"{pair[side]}{signs[n % 4]}" for n, pair in enumerate(PAIRS[:12])]
        write(tmp_path / code, "a.txt", [" ".join(texts[i:j]) for i, j in pairwise((0, *ends))])
    languages = ["--source-language", "en", "--target-language", "gn"]
    status, rows = run("--split", "--numbers", *languages)
    assert status == 0
    links = {row[1]: (row[2], row[4], row[5]) for row in rows}
    assert links[f"{SOURCES[0]}!"] == (f"{TARGETS[0]}!", "1", "1")
    assert links[f"{SOURCES[3]}!"] == (f"{TARGETS[3]}!", "2", "2")
    # A comma in place of the seventh exclamation mark: one sentence of two.
    assert links[f"{SOURCES[6]}! {SOURCES[7]}!"] == (f"{TARGETS[6]}, {TARGETS[7]}!", "3", "3")
    error, rows = run("--split")
    assert isinstance(error, ConfigError)
    assert str(error) == "--split needs --source-language and --target-language"
    assert rows == []


@pytest.mark.parametrize(
    ("starts", "matching", "crossing"),
    [
        (([0, 10], [0, 11]), True, False),
        (([0, 5], [0, 15]), False, True),
        (([0, 10], [0]), False, True),
        (([0], [0]), True, True),
    ],
)
def test_paragraphs_count_unless_fewer_sentences_are_linked(
    starts: tuple[list[int], list[int]], matching: bool, crossing: bool
) -> None:
    """20 sentences that are the same on both sides; in the first case, the eleventh is in another paragraph."""
    vectors = [unit(0.3 + np.eye(20, dtype=np.float32))]
    sides = [Document(["word"] * 20, range(20), paragraphs) for paragraphs in starts]
    links, found = links_of((sides[0], sides[1]), vectors, vectors)
    assert found == matching
    assert [(link.source, link.target) for link in links] == [
        (i, i) for i in range(20) if crossing or i != 10
    ]


def test_joined_chinese_sentences_have_no_blank_between_them() -> None:
    both = Document(["今天下雨。", "我在家。"], [1, 2]), Document(["It rains.", "I stay."], [1, 2])
    assert [side.joined(2) for side in both] == [["今天下雨。我在家。"], ["It rains. I stay."]]
    row = row_of("a", both, Link(0, 0, 2, 2, 1.5))
    assert row == (1.5, "今天下雨。我在家。", "It rains. I stay.", "a", "1,2", "1,2")


def test_options_of_the_alignment(run: Callable[..., Any], folders: Path) -> None:
    _, every = run()
    cut = sorted(float(row[0]) for row in every)[5]
    _, kept = run("--threshold", str(cut))
    assert len(kept) < len(every)
    assert all(float(row[0]) > cut for row in kept)
    _, single = run("--join", "1")
    assert json.loads((folders / "pairs.tsv.json").read_text())["kinds"] == {"1-1": len(single)}
    status, _ = run("--join", "3", "--margin", "distance")
    assert status == 0


def test_an_interrupted_run_goes_on(
    run: Callable[..., Any], folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, expected = run()
    encode, encoded = Model.encode, []

    def fragile(self: Model, rows: list[str], **options: Any) -> Any:
        encoded.append(len(rows))
        if len(encoded) == 3:
            raise KeyboardInterrupt
        return encode(self, rows, **options)

    monkeypatch.setattr(Model, "encode", fragile)
    assert run()[1] == []
    assert run() == (0, expected)
    # Sentences and joined neighbours of either side: the first two were stored before the interruption.
    assert encoded == [24, 22, 20, 20, 22, 20, 18]


def test_documents_of_one_sentence(run: Callable[..., Any], tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / "en", f"{number}.txt", [SOURCES[number]])
        write(tmp_path / "gn", f"{number}.txt", [TARGETS[number]])
    status, rows = run("--threshold", "0.5")
    assert status == 0
    assert [tuple(row[1:]) for row in rows] == PAIRS[:3]


def test_a_margin_without_a_neutral_value_needs_a_threshold(run: Callable[..., Any], folders: Path) -> None:
    error, rows = run("--margin", "absolute")
    assert isinstance(error, ConfigError)
    assert "needs a --threshold" in str(error)
    assert rows == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("mine here there", "here is a folder: orthoglot align pairs the documents of two folders"),
        ("mine text there", "there is a folder: orthoglot align pairs the documents of two folders"),
        ("align here text", "text is a file: orthoglot mine finds translations in two files"),
        ("align absent there", "absent does not exist"),
    ],
)
def test_files_and_folders_name_the_command_that_is_for_them(
    command: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("here", "there"):
        write(tmp_path / folder, "a.txt", SOURCES)
    Path("text").write_text("Mba'éichapa\n")
    error = CliRunner().invoke(app, [*command.split(), "--model", "model", "-o", "pairs.tsv"]).exception
    assert isinstance(error, ConfigError | DataError)
    assert str(error) == message


@pytest.mark.parametrize(
    ("files", "lines", "message"),
    [
        ("en/a.txt gn/b.txt", SOURCES, "no file has the same name"),
        ("en/a.txt en/a.txt.gz gn/a.txt", SOURCES, "have one name"),
        ("en/a.txt gn/a.txt", ["", " "], "no document has text on both sides"),
    ],
)
def test_folders_without_documents_are_refused(
    files: str, lines: list[str], message: str, tmp_path: Path
) -> None:
    for name in files.split():
        write(tmp_path, name, lines)
    with pytest.raises(DataError, match=message):
        read_folders(tmp_path / "en", tmp_path / "gn")


@pytest.mark.parametrize(
    ("name", "shown"), [(b"a\xff\t\nb c.txt", "a\\udcff\\t\\nb c.txt"), ("año 1.txt".encode(), "año 1.txt")]
)
def test_files_with_odd_names_are_aligned(
    name: bytes, shown: str, tmp_path: Path, run: Callable[..., Any]
) -> None:
    for side, lines in (("en", SOURCES), ("gn", TARGETS)):
        write(tmp_path / side, os.fsdecode(name), lines)
    status, rows = run("--numbers")
    assert status == 0
    assert {row[3] for row in rows} == {shown}


def test_a_name_in_another_case_comes_before_another_ending(tmp_path: Path) -> None:
    for side, names, lines in (("en", "a.txt a.md", SOURCES), ("gn", "a.TXT", TARGETS)):
        for name in names.split():
            write(tmp_path / side, name, lines)
    found = read_folders(tmp_path / "en", tmp_path / "gn")
    assert ([*found.pairs], found.unmatched) == (["a.txt"], (["a.md"], []))


@pytest.mark.parametrize(
    ("ours", "theirs", "matched"),
    [
        ("cafe\u0301.txt", "café.txt", ["café.txt"]),
        ("b/cafe\u0301.txt.GZ", "b/café.txt", ["b/café.txt"]),
        ("a.txt", "a.TXT", ["a.txt"]),
        ("a.txt.gz", "a.md", ["a.txt"]),
        ("a", "a.txt", ["a"]),
        ("a.txt a.md", "a.md a.html", ["a.md", "a.txt"]),
        ("a.txt a.md", "a.html", []),  # which of them is not guessed
        ("b/a.txt", "c/a.txt", []),
        ("a.txt Thumbs.db .DS_Store", "a.txt Thumbs.db ._a.txt", ["a.txt"]),
    ],
)
def test_documents_match_by_normalised_name_and_then_by_stem(
    ours: str, theirs: str, matched: list[str], tmp_path: Path
) -> None:
    for side, names, lines in (("en", ours, SOURCES), ("gn", theirs, TARGETS)):
        for name in names.split():
            if name.lower().endswith(".gz"):
                (tmp_path / side / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / side / name).write_bytes(gzip.compress("\n".join(lines).encode()))
            else:
                write(tmp_path / side, name, lines)
    if not matched:
        with pytest.raises(DataError, match="no file has the same name in both"):
            read_folders(tmp_path / "en", tmp_path / "gn")
        return
    found = read_folders(tmp_path / "en", tmp_path / "gn")
    assert [*found.pairs] == matched
    assert all(pair[0].sentences[0] == SOURCES[0] for pair in found.pairs.values())
    assert found.unmatched == ([], [])


def test_litter_is_passed_over_and_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    for side, lines in (("en", SOURCES), ("gn", TARGETS)):
        write(tmp_path / side, "a.txt", lines)
        for name in (".DS_Store", "._a.txt", "b/Thumbs.db", "desktop.ini", "__MACOSX/a.txt"):
            (tmp_path / side / name).parent.mkdir(exist_ok=True)
            (tmp_path / side / name).write_bytes(b"\0\xff")
    assert [*read_folders(tmp_path / "en", tmp_path / "gn").pairs] == ["a.txt"]
    said = [record.getMessage() for record in caplog.records if "passed over" in record.getMessage()]
    assert said == [
        f"{tmp_path / side}: passed over 5 files that are no documents: .DS_Store, ._a.txt, __MACOSX/a.txt, ..."
        for side in ("en", "gn")
    ]
