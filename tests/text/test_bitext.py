"""Line n stays line n through every packing, and broken files say what is wrong where."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from orthoglot.errors import DataError
from orthoglot.text.bitext import (
    SentencePair,
    decoded,
    read_json,
    read_lines,
    read_pairs,
    write_lines,
    write_pairs,
)

Pack = Callable[[bytes], bytes]
PACKINGS: dict[str, Pack] = {
    "plain": lambda data: data,
    "gz": lambda data: gzip.compress(data, mtime=0),
    "two gz members": lambda data: gzip.compress(data[:9], mtime=0) + gzip.compress(data[9:], mtime=0),
    "zst": lambda data: zstandard.ZstdCompressor().compress(data),
    "two zst frames": lambda data: b"".join(
        zstandard.ZstdCompressor().compress(part) for part in (data[:9], data[9:])
    ),
}
# A byte order mark at the start of a cell is no part of a sentence.
SENTENCES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r")).map(
    lambda text: text.lstrip("\ufeff")
)


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=PACKINGS)
def test_every_packing_gives_the_same_pairs_whatever_the_name(pack: Pack, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(pack("one\n\nthrée\u2028still three\r".encode()))
    (tmp_path / "b").write_bytes(pack(b"eins\nzwei\ndrei\x0c\n"))
    (tmp_path / "c").write_bytes(pack(b"one\teins\n\tzwei\n"))
    assert list(read_pairs([tmp_path / "a", tmp_path / "b"])) == [
        ("one", "eins"),
        ("", "zwei"),
        ("thrée\u2028still three\r", "drei\x0c"),
    ]
    assert list(read_pairs([tmp_path / "c"])) == [("one", "eins"), ("", "zwei")]


@pytest.mark.parametrize("name", ["gz", "zst"])
@pytest.mark.parametrize("kept", [0.5, 0.99])
def test_a_cut_file_is_refused(name: str, kept: float, tmp_path: Path) -> None:
    packed = PACKINGS[name]("".join(f"{n}\t{n * n}\n" for n in range(5000)).encode())
    path = tmp_path / "cut"
    path.write_bytes(packed[: int(len(packed) * kept)])
    with pytest.raises(DataError, match="cut is truncated or corrupt"):
        list(read_pairs([path]))


def test_unequal_moses_files_are_refused_with_both_counts(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n3\n")
    (tmp_path / "b").write_text("1\n2\n3\n4\n5\n")
    with pytest.raises(DataError, match=r"a has 3 lines but .*b has 5"):
        list(read_pairs([tmp_path / "a", tmp_path / "b"]))


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"a\tb\nc\n", "line 2 has 1 columns, not 2"),
        (b"1.04\ta\tb\n", "line 1 has 3 columns, not 2"),
        (b"a\tb\nc\td\n\xff\te\n", "line 3 is not UTF-8"),
        (b"a\tb\nc\t\xe2\x82", "line 2 is not UTF-8"),
    ],
)
def test_a_broken_file_tells_path_and_line(content: bytes, cause: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.tsv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"bad\.tsv.*{cause}"):
        list(read_pairs([path]))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.tsv does not exist"):
        list(read_pairs([tmp_path / "absent.tsv"]))


@given(pairs=st.lists(st.builds(SentencePair, SENTENCES, SENTENCES), min_size=1))
def test_what_is_written_is_read(pairs: list[SentencePair], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("written") / "pairs.tsv.gz"
    assert write_pairs(path, pairs) == len(pairs)
    assert list(read_pairs([path])) == pairs


def test_equal_pairs_give_equal_bytes_and_no_sentence_breaks_a_line(tmp_path: Path) -> None:
    pairs = [SentencePair("a\tb", "c\r\nd"), SentencePair("e", "f")]
    for name in ("one.tsv.gz", "two.tsv.gz"):
        write_pairs(tmp_path / name, pairs)
    written = (tmp_path / "one.tsv.gz").read_bytes()
    assert written == (tmp_path / "two.tsv.gz").read_bytes()
    assert written[3:8] == bytes(5), "no file name and no time in the header (RFC 1952)"
    assert list(read_pairs([tmp_path / "one.tsv.gz"])) == [("a b", "c  d"), ("e", "f")]


@given(
    text=st.text(st.characters(exclude_categories=["Cs"])) | st.text("a\r\n\t\ufeff"), size=st.integers(1, 7)
)
def test_lines_do_not_depend_on_where_chunks_end(text: str, size: int) -> None:
    data = text.encode()
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    if "\n" not in text:
        text = text.replace("\r", "\n")
    lines = re.sub("\r+\n", "\n", text).split("\n")
    lines = ["\t".join(cell.lstrip("\ufeff") for cell in line.split("\t")) for line in lines]
    assert list(decoded(chunks, "text")) == (lines if text and not text.endswith("\n") else lines[:-1])


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_no_flipped_bit_of_a_packed_file_changes_its_text(suffix: str, tmp_path: Path) -> None:
    lines = [f"sentence {n} of a text" for n in range(200)]
    path = tmp_path / f"text.{suffix}"
    write_lines(path, lines)
    content = path.read_bytes()
    for n in range(0, 8 * len(content), 7):
        damaged = bytearray(content)
        damaged[n // 8] ^= 1 << n % 8
        path.write_bytes(damaged)
        with suppress(DataError):
            assert list(read_lines(path)) == lines


def test_a_file_without_line_feeds_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "one.gz", "wb") as file:
        for _ in range(64):
            file.write(b"x" * (1 << 20))
    with pytest.raises(DataError, match=r"one\.gz: line 1 is longer than 16 MiB"):
        list(read_lines(tmp_path / "one.gz"))


@pytest.mark.parametrize("line", ["[" * 100_000, "1" * 5_000])
def test_json_that_python_cannot_read_is_one_line(line: str, tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text(f"{{}}\n{line}\n")
    with pytest.raises(DataError, match="line 2 is no JSON"):
        list(read_json(tmp_path / "lines.jsonl"))


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffone\ntwo\n".encode(),
        "\ufeffone\r\n\ufefftwo\r\n".encode(),  # two files of Notepad, one after the other
        "one\ntwo\n".encode("utf-16"),
        "\ufeffone\ntwo".encode("utf-16-be"),
        "\ufeffone\ntwo".encode("utf-16-le"),
        "one\r\ntwo\r\n".encode("utf-32"),
        gzip.compress("\ufeffone\ntwo\n".encode("utf-16-le"), mtime=0),
    ],
)
def test_a_byte_order_mark_is_no_text(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    assert list(read_lines(tmp_path / "a.txt")) == ["one", "two"]


@given(
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff\0")),
    size=st.integers(1, 7),
)
def test_wide_text_does_not_depend_on_where_chunks_end(text: str, size: int) -> None:
    data = text.encode("utf-16")
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert list(decoded(chunks, "text")) == list(decoded([text.encode()], "text"))


def test_half_a_wide_character_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("one\n".encode("utf-16") + b"\x00")
    with pytest.raises(DataError, match=r"a\.txt begins as UTF-16 and is not"):
        list(read_lines(tmp_path / "a.txt"))


def test_a_document_of_an_office_is_no_text_of_latin1(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"PK\x03\x04\x14\0word/document.xml\xff")
    with pytest.raises(DataError, match=r"a\.txt is an Office file: save it as text"):
        list(read_lines(tmp_path / "a.txt"))
    (tmp_path / "a.txt").write_bytes(b"one\ncaf\xe9\n")
    with pytest.raises(
        DataError, match=r"line 2 is not UTF-8 .*: correct it, or convert .* no line of a text is left"
    ):
        list(read_lines(tmp_path / "a.txt"))


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("kind", [Terminal, StringIO])
def test_a_terminal_gets_no_control_characters(kind: type[StringIO], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["0.5\t\x1b]0;title\x07a\u202eb\x00", "plain ä\n<p>"]
    monkeypatch.setattr("sys.stdout", out := kind())
    write_lines(Path("-"), lines)
    escaped = ["0.5\t\\x1b]0;title\\x07a\\u202eb\\x00", "plain ä\n<p>"]
    assert out.getvalue() == "\n".join(escaped if kind is Terminal else lines) + "\n"
