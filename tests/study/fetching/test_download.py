"""Each fault of a server or network ends in the right bytes or in a one-line cause, never in half a file."""

from __future__ import annotations

import hashlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from opus_server import OpusServer

from orthoglot.errors import DataError, OfflineError
from orthoglot.study.fetching import download as module
from orthoglot.study.fetching.download import ask, download

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


def _get(server: OpusServer, folder: Path, **options: Any) -> str:
    return download(f"{server.address}/file.bin", folder / "got" / "file.bin", **options)


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
    assert _get(server, tmp_path, size=len(BODY) // 1024 * 1024, sha256=DIGEST) == DIGEST
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


@pytest.mark.parametrize(
    "faults", [[], ["cut", "cut"], ["cut", "changed"], ["cut", "503", "cut_without_length"]]
)
def test_progress_ends_at_the_bytes_of_the_file(
    faults: list[str], server: OpusServer, tmp_path: Path
) -> None:
    server.faults["file.bin"] = faults
    steps: list[int] = []
    assert _get(server, tmp_path, size=len(BODY), done=steps.append) == DIGEST
    assert sum(steps) == len(BODY)


def test_another_size_than_the_known_one_is_refused_before_the_bytes(
    server: OpusServer, tmp_path: Path
) -> None:
    steps: list[int] = []
    for wrong in (len(BODY) - 1, len(BODY) + 1):
        with pytest.raises(DataError, match=rf"has {len(BODY)} bytes, expected {wrong}"):
            _get(server, tmp_path, exact=wrong, done=steps.append)
    assert not steps
    assert _left(tmp_path) == []
    server.faults["file.bin"] = ["cut"]  # the length of the rest is not that of the file
    assert _get(server, tmp_path, exact=len(BODY)) == DIGEST
    server.faults["file.bin"] = ["too_short"]
    with pytest.raises(DataError, match=rf"has {len(BODY) - 999} bytes, expected {len(BODY)}"):
        _get(server, tmp_path, exact=len(BODY))


def test_a_killed_process_leaves_bytes_that_the_next_one_goes_on_from(
    server: OpusServer, tmp_path: Path
) -> None:
    server.faults["file.bin"] = ["cut_and_stall"]
    code = "import sys; from pathlib import Path; from orthoglot.study.fetching.download import download\n"
    code += "download(sys.argv[1], Path(sys.argv[2]))"
    path = tmp_path / "got" / "file.bin"
    process = subprocess.Popen([sys.executable, "-c", code, f"{server.address}/file.bin", str(path)])
    part = path.with_name("file.bin.part")
    while not part.exists() or part.stat().st_size < len(BODY) // 2:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert _left(tmp_path) == ["file.bin.part", "file.bin.part.version"]
    assert _get(server, tmp_path) == DIGEST
    assert server.requests[-1][1] == f"bytes={len(BODY) // 2}-"
    assert path.read_bytes() == BODY


def test_a_disk_without_room_is_an_error_and_no_file(server: OpusServer, tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from orthoglot.study.fetching.download import download\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "download(sys.argv[1], Path(sys.argv[2]))"
    )
    path = tmp_path / "got" / "file.bin"
    ended = subprocess.run(
        [sys.executable, "-c", code, f"{server.address}/file.bin", str(path)], capture_output=True, text=True
    )
    assert ended.returncode == 1
    assert "File too large" in ended.stderr
    assert not path.exists()
    assert _get(server, tmp_path) == DIGEST


def test_a_stall_ends_after_the_timeout_and_is_retried(server: OpusServer, tmp_path: Path) -> None:
    server.faults["file.bin"] = ["stall"]
    assert _get(server, tmp_path, timeout=0.2) == DIGEST


@pytest.mark.parametrize(
    ("faults", "options", "error", "message", "requests"),
    [
        (["404"], {}, DataError, r"/file\.bin: HTTP 404", 1),
        (["cut", "404"], {}, DataError, "HTTP 404", 2),
        (["cut", "416", "416"], {}, DataError, r"file\.bin: HTTP 416, although the whole file was asked", 3),
        (["too_long"] * 2, {"attempts": 2}, OfflineError, "gave up after 2 attempts", 2),
        (["stall"] * 2, {"attempts": 2, "timeout": 0.2}, OfflineError, "after 2 attempts: timed out", 2),
        (
            ["wrong_bytes"],
            {"sha256": DIGEST},
            DataError,
            rf"SHA-256 is (?!{DIGEST})\w{{64}}, expected {DIGEST}",
            1,
        ),
    ],
)
def test_a_failed_download_leaves_the_earlier_file(
    faults: list[str],
    options: dict[str, Any],
    error: type[Exception],
    message: str,
    requests: int,
    server: OpusServer,
    tmp_path: Path,
) -> None:
    (tmp_path / "got").mkdir()
    (tmp_path / "got" / "file.bin").write_bytes(b"earlier")
    server.faults["file.bin"] = faults
    with pytest.raises(error, match=message):
        _get(server, tmp_path, **options)
    assert (tmp_path / "got" / "file.bin").read_bytes() == b"earlier"
    assert len(server.requests) == requests
    if "wrong_bytes" in faults:
        assert _left(tmp_path) == ["file.bin"]


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


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [
        ("7", 7, 7),
        ("100000", 120, 120),
        ("1e9", 0, 1),
        ("soon", 0, 1),
        ("-5", 0, 1),
        ("a date", 50, 60),
        ("a past date", 0, 1),
    ],
)
def test_a_server_is_asked_again_after_the_pause_that_it_wants_but_not_after_hours(
    asked: str, least: float, most: float, server: OpusServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(module.time, "sleep", pauses.append)
    dates = {"a date": 60, "a past date": -86400}
    asked = formatdate(time.time() + dates[asked], usegmt=True) if asked in dates else asked
    server.faults["file.bin"] = [f"429 after {asked}"]
    assert _get(server, tmp_path) == DIGEST
    assert len(pauses) == 1
    assert least <= pauses[0] <= most


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ('{"corpora": ' + "[" * 200_000, "is not JSON"),
        ('{"corpora": [1' + "0" * 9_000 + "]}", "is not JSON"),
        ('{"corpora": ["' + "x" * 40_000_000 + '"]}', "longer than 32 MiB"),
    ],
    ids=["deep", "long number", "long"],
)
def test_an_answer_without_end_is_refused(answer: str, cause: str, server: OpusServer) -> None:
    (server.folder / "answer").write_text(answer)
    with pytest.raises(DataError, match=cause):
        ask(f"{server.address}/answer", {})
