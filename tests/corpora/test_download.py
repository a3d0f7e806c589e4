"""Each fault of a server or network ends in the right bytes or in a one-line cause, never in half a file."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from opus_server import OpusServer

from orthoglot.corpora import download as module
from orthoglot.corpora.download import ask, download
from orthoglot.errors import DataError, OfflineError

BODY = bytes(range(256)) * 4096
DIGEST = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpusServer]:
    monkeypatch.setattr(module, "FIRST_PAUSE_SECONDS", 0.001)
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "file.bin").write_bytes(BODY)
    (folder / "opusapi.json").write_text('{"corpora": []}')
    with OpusServer(folder) as running:
        yield running


def _get(server: OpusServer, folder: Path, **options: int | float | str) -> str:
    return download(f"{server.address}/file.bin", folder / "got" / "file.bin", **options)  # type: ignore[arg-type]


def _left(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "got").iterdir())


def test_a_sound_download_has_the_bytes_and_leaves_nothing_else(server: OpusServer, tmp_path: Path) -> None:
    assert _get(server, tmp_path, sha256=DIGEST.upper()) == DIGEST
    assert (tmp_path / "got" / "file.bin").read_bytes() == BODY
    assert _left(tmp_path) == ["file.bin"]


@pytest.mark.parametrize(
    ("faults", "ranges"),
    [
        (["cut"], [None, "bytes=524288-"]),
        (["cut", "cut"], [None, "bytes=524288-", "bytes=786432-"]),
        (["cut", "changed"], [None, "bytes=524288-"]),
        (["cut", "503", "ok"], [None, "bytes=524288-", "bytes=524288-"]),
        (["503", "502"], [None, None, None]),
        (["429"], [None, None]),
    ],
)
def test_faults_that_pass_are_overcome_and_only_missing_bytes_asked_for(
    faults: list[str], ranges: list[str | None], server: OpusServer, tmp_path: Path
) -> None:
    server.faults["file.bin"] = faults
    assert _get(server, tmp_path, sha256=DIGEST) == DIGEST
    assert [asked for _, asked in server.requests] == ranges
    assert _left(tmp_path) == ["file.bin"]


def test_half_of_one_version_is_never_joined_to_half_of_another(server: OpusServer, tmp_path: Path) -> None:
    server.faults["file.bin"] = ["cut", "503"]
    with pytest.raises(OfflineError):
        _get(server, tmp_path, attempts=2)
    other = bytes(reversed(BODY))
    (server.folder / "file.bin").write_bytes(other)
    server.faults["file.bin"] = ["ignore_condition"]
    assert _get(server, tmp_path) == hashlib.sha256(other).hexdigest()


def test_a_cut_without_stated_length_shows_by_the_least_size(server: OpusServer, tmp_path: Path) -> None:
    server.faults["file.bin"] = ["cut_without_length"]
    assert _get(server, tmp_path, size=len(BODY) // 1024 * 1024) == DIGEST
    assert server.requests[1][1] == "bytes=524288-"


def test_a_later_process_goes_on_where_an_earlier_one_stopped(server: OpusServer, tmp_path: Path) -> None:
    server.faults["file.bin"] = ["cut", "503"]
    with pytest.raises(OfflineError, match=r"gave up after 2 attempts: HTTP 503"):
        _get(server, tmp_path, attempts=2)
    assert not (tmp_path / "got" / "file.bin").exists()
    assert _get(server, tmp_path) == DIGEST
    assert server.requests[-1][1] == "bytes=524288-"


def test_a_part_of_unknown_version_is_fetched_again(server: OpusServer, tmp_path: Path) -> None:
    (tmp_path / "got").mkdir()
    (tmp_path / "got" / "file.bin.part").write_bytes(b"left by somebody")
    assert _get(server, tmp_path) == DIGEST
    assert server.requests == [("/file.bin", None)]


def test_a_stall_ends_after_the_timeout_and_is_retried(server: OpusServer, tmp_path: Path) -> None:
    server.faults["file.bin"] = ["stall"]
    assert _get(server, tmp_path, timeout=0.2) == DIGEST
    server.faults["file.bin"] = ["stall", "stall"]
    with pytest.raises(OfflineError, match="gave up after 2 attempts: timed out"):
        _get(server, tmp_path, timeout=0.2, attempts=2)


def test_a_missing_file_is_not_asked_for_again(server: OpusServer, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"/absent\.zip: HTTP 404"):
        download(f"{server.address}/absent.zip", tmp_path / "absent.zip")
    assert len(server.requests) == 1
    assert not (tmp_path / "absent.zip").exists()


def test_wrong_bytes_are_refused_with_both_digests(server: OpusServer, tmp_path: Path) -> None:
    server.faults["file.bin"] = ["wrong_bytes"]
    with pytest.raises(DataError, match=rf"SHA-256 is (?!{DIGEST})[0-9a-f]{{64}}, expected {DIGEST}"):
        _get(server, tmp_path, sha256=DIGEST)
    assert _left(tmp_path) == []


def test_a_failed_download_leaves_the_earlier_file(server: OpusServer, tmp_path: Path) -> None:
    (tmp_path / "got").mkdir()
    (tmp_path / "got" / "file.bin").write_bytes(b"earlier")
    server.faults["file.bin"] = ["cut", "404"]
    with pytest.raises(DataError):
        _get(server, tmp_path)
    assert (tmp_path / "got" / "file.bin").read_bytes() == b"earlier"


def test_no_network_is_told_in_one_line_without_a_retry(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/file.bin"
    with pytest.raises(OfflineError, match=r"cannot be reached: .*refused") as caught:
        download(address, tmp_path / "file.bin")
    assert "\n" not in str(caught.value)
    assert "object at 0x" not in str(caught.value)


@pytest.mark.parametrize("address", ["nothing", "ftp://127.0.0.1/x", "http://"])
def test_what_is_no_address_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"URL|adapters"):
        download(address, tmp_path / "file.bin")


def test_an_answer_that_is_not_json_is_refused(server: OpusServer) -> None:
    with pytest.raises(DataError, match=r"file\.bin: the answer is not JSON"):
        ask(f"{server.address}/file.bin", {})
