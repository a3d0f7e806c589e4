"""Files out of zip and tar archives of other people."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from isal import isal_zlib

from orthoglot.errors import DataError
from orthoglot.study.corpora.archives import MAX_MEMBERS, extract, opened

TEXT = "".join(f"line {number} of a text\n" for number in range(500)).encode()


def zipped(path: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def tarred(mode: str) -> Callable[[Path, dict[str, bytes]], None]:
    def write(path: Path, files: dict[str, bytes]) -> None:
        with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))

    return write


PACKERS = {
    "zip": zipped,
    "tar": tarred("w"),
    **{f"tar.{kind}": tarred(f"w:{kind}") for kind in ("gz", "bz2", "xz")},
}


@pytest.mark.parametrize("kind", PACKERS)
def test_one_file_of_an_archive_is_written(kind: str, tmp_path: Path) -> None:
    path, target = tmp_path / f"x.{kind}", tmp_path / "out"
    PACKERS[kind](path, {"a/one.txt": b"1\n", "a/two.txt": TEXT, "three.txt": b"3\n"})
    extract(path, "a/two.txt", target)
    assert target.read_bytes() == TEXT
    with pytest.raises(DataError, match=r"has no file a/four\.txt"):
        extract(path, "a/four.txt", tmp_path / "none")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out", path.name]


def test_members_of_a_zip_are_inflated_by_isal(tmp_path: Path) -> None:
    zipped(tmp_path / "x.zip", {"one.txt": TEXT})
    with opened(tmp_path / "x.zip") as archive, archive.open("one.txt") as file:
        assert isinstance(vars(file)["_decompressor"], type(isal_zlib.decompressobj()))
        assert file.read() == TEXT


def test_an_end_that_names_two_disks_is_damage(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("text", "a")
    content = bytearray((tmp_path / "a.zip").read_bytes())
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 2)
    end = content.index(b"PK\x05\x06")
    (tmp_path / "a.zip").write_bytes(content[:end] + locator + content[end:])
    with pytest.raises(DataError, match=r"a\.zip"):
        extract(tmp_path / "a.zip", "text", tmp_path / "out")


def test_names_in_tar_may_begin_with_a_dot(tmp_path: Path) -> None:
    PACKERS["tar.gz"](tmp_path / "x.tar.gz", {"./a/two.txt": TEXT})
    extract(tmp_path / "x.tar.gz", "a/two.txt", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == TEXT


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "tar.bz2", "tar.xz"])
def test_no_damage_gives_another_text(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{kind}"
    PACKERS[kind](path, {"one.txt": TEXT, "two.txt": b"2\n"})
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        target = tmp_path / "out"
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]):
            path.write_bytes(damaged)
            refused = ""
            try:
                extract(path, "one.txt", target)
            except DataError as error:
                refused = str(error)
            assert "\n" not in refused
            assert target.exists() != bool(refused)
            assert refused or target.read_bytes() == TEXT
            target.unlink(missing_ok=True)


@pytest.mark.parametrize(("first", "second"), [("a.txt", "a.txt"), ("./a.txt", "a.txt"), ("b.txt", "b.txt")])
def test_a_tar_with_two_members_of_one_name_is_refused(first: str, second: str, tmp_path: Path) -> None:
    path = tmp_path / "two.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in (
            (first, b"one"),
            (second, b"two"),
            ("a.txt" if "b" in first else "c", b"three"),
        ):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    with pytest.raises(DataError, match=r"member '[ab]\.txt' is there twice"):
        extract(path, "a.txt", tmp_path / "a.txt")
    assert [file.name for file in tmp_path.iterdir()] == ["two.tar.gz"]


def test_a_link_is_no_file(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        entry = tarfile.TarInfo("one.txt")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    with pytest.raises(DataError, match=r"has no file one\.txt"):
        extract(tmp_path / "x.tar", "one.txt", tmp_path / "out")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"one.txt": bytes(1 << 23)}, "a bomb"),
        ({str(number): b"" for number in range(MAX_MEMBERS + 1)}, f"more than {MAX_MEMBERS}"),
    ],
)
@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_what_no_corpus_has_is_refused(
    kind: str, files: dict[str, bytes], message: str, tmp_path: Path
) -> None:
    PACKERS[kind](tmp_path / f"x.{kind}", files)
    with pytest.raises(DataError, match=message):
        extract(tmp_path / f"x.{kind}", "one.txt", tmp_path / "out")


def test_what_is_no_archive_or_absent_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_text("404: not found\n")
    with pytest.raises(DataError, match="truncated or corrupt"):
        extract(tmp_path / "x.tar.gz", "one.txt", tmp_path / "out")
    with pytest.raises(DataError, match="does not exist"):
        extract(tmp_path / "y.tar.gz", "one.txt", tmp_path / "out")
