"""What a server sends is the file, whole, or it is refused in one line: a table of lies, and of honest answers.

Each answer is given to a download that knows nothing of the file ("plain"), its SHA-256, its exact size, or a check of
its format; the file is a zip. The outcome is one letter for each:

- W: the file has the right bytes.
- S: it has other ones, which nobody could know to be wrong: all that the server states.
- R: refused in one line, without a file, and after a bounded number of bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import random
import re
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from lying_server import Answer, LyingServer, chunked, endless, head

from orthoglot.errors import DataError, OfflineError, one_line
from orthoglot.study.corpora.archives import check_zip
from orthoglot.study.fetching import download as module
from orthoglot.study.fetching.download import ask, download


def _zip(seed: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", random.Random(seed).randbytes(200_000))
    return packed.getvalue()


BODY, OTHER = _zip(1), _zip(2)
SIZE, HALF = len(BODY), len(BODY) // 2
DIGEST = hashlib.sha256(BODY).hexdigest()
MODES: dict[str, dict[str, Any]] = {
    "plain": {},
    "digest": {"sha256": DIGEST},
    "exact": {"exact": SIZE},
    "check": {"check": check_zip},
}
LENGTH = f"Content-Length: {SIZE}"
CHUNKED = "Transfer-Encoding: chunked"
TAG, OTHER_TAG = 'ETag: "a"', 'ETag: "b"'
DATE, OTHER_DATE = (f"Last-Modified: Mon, 01 Jun 2026 00:00:0{second} GMT" for second in (0, 1))
LOGIN = b"\n<!DOCTYPE html>\n<html><body>Sign in</body></html>\n"
BOMB = gzip.compress(bytes(50_000_000))
# As the servers of the catalogue answer, by their headers.
OPUS = ("Content-Type: application/zip", DATE, 'ETag: "0cc1-1"', "Accept-Ranges: bytes", "x-trans-id: tx00")
GITHUB = (
    "Content-Type: text/plain; charset=utf-8",
    'ETag: "5f2a"',
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Vary: Authorization,Accept-Encoding",
    "Accept-Ranges: bytes",
    "X-Cache: HIT",
)
STORAGE = ("Content-Type: application/x-gzip", "x-goog-stored-content-encoding: identity", DATE, TAG)


def ok(*headers: str, body: bytes = BODY) -> Callable[[], Answer]:
    return lambda: [head("200 OK", *headers), body]


def in_chunks(*headers: str, body: bytes = BODY, **options: Any) -> Callable[[], Answer]:
    return lambda: chain([head("200 OK", CHUNKED, *headers)], chunked(body, **options))


def status(line: str, *headers: str, body: bytes = BODY) -> Callable[[], Answer]:
    return lambda: [head(line, LENGTH, *headers), body]


def part(start: int, *headers: str, body: bytes = BODY, span: str = "") -> Callable[[], Answer]:
    """The bytes of a body from one on, with a Content-Range."""
    rest = body[start:]
    stated = f"Content-Range: bytes {span or f'{start}-{len(body) - 1}/{len(body)}'}"
    return lambda: [
        head("206 Partial Content", stated, f"Content-Length: {len(rest)}", *headers),
        rest,
    ]


def raw(*parts: bytes) -> Callable[[], Answer]:
    return lambda: parts


def to(place: str, line: str = "302 Found") -> Callable[[], Answer]:
    return lambda: [head(line, f"Location: {place}", "Content-Length: 0")]


HONEST = {
    "length": (ok(LENGTH), "WWWW"),
    "of OPUS": (ok(LENGTH, *OPUS), "WWWW"),
    "of GitHub": (ok(LENGTH, *GITHUB), "WWWW"),
    "of a storage": (in_chunks(*STORAGE), "WWWW"),
    "names of headers in small letters": (ok(LENGTH.lower(), "content-encoding: identity"), "WWWW"),
    "version 1.0 with a length": (lambda: [head("200 OK", LENGTH, version="1.0"), BODY], "WWWW"),
    "one length twice": (ok(LENGTH, LENGTH), "WWWW"),
    "one length twice in a line": (ok(f"Content-Length: {SIZE}, {SIZE}"), "WWWW"),
    "chunks": (in_chunks(), "WWWW"),
    "small chunks": (in_chunks(size=1000), "WWWW"),
    "chunks with a name, and a trailer": (
        in_chunks(last=b'0;last="yes"\r\nDigest: none\r\n\r\n'),
        "WWWW",
    ),
    "weak version": (ok(LENGTH, 'ETag: W/"a"'), "WWWW"),
    "a header without a name": (ok(": a", LENGTH), "WWWW"),
    "a header without a colon": (ok("no colon", LENGTH), "RWWW"),
    "no reason": (lambda: [head("200", LENGTH), BODY], "WWWW"),
    # By the end of the connection: a digest, a size or a check say whether that is the end of the file.
    "no length": (ok(), "RWWW"),
    "no length, version 1.0": (lambda: [head("200 OK", version="1.0"), BODY], "RWWW"),
    "a zip called a page": (ok(LENGTH, "Content-Type: text/html; charset=utf-8"), "RWRW"),
}
LIES = {
    "part that nobody asked for": (part(5), "RRRR"),
    "whole file as a part that nobody asked for": (part(0), "RRRR"),
    "part without a range": (status("206 Partial Content"), "RRRR"),
    **{
        f"status {line}": (status(line), "RRRR")
        for line in (
            "103 Early Hints",
            "201 Created",
            "202 Accepted",
            "203 Non-Authoritative Information",
            "204 No Content",
            "205 Reset Content",
            "207 Multi-Status",
            "226 IM Used",
            "299 ",
            "300 Multiple Choices",
            "302 Found",
            "304 Not Modified",
            "399 ",
            "401 Unauthorized",
            "416 Range Not Satisfiable",
        )
    },
    "nothing": (ok("Content-Length: 0", body=b""), "RRRR"),
    "nothing in chunks": (in_chunks(body=b""), "RRRR"),
    "nothing without a length": (ok(body=b""), "RRRR"),
    "page": (ok(f"Content-Length: {len(LOGIN)}", "Content-Type: text/html", body=LOGIN), "RRRR"),
    "page in chunks": (in_chunks("Content-Type: Text/HTML", body=LOGIN), "RRRR"),
    "page in XML": (ok(LENGTH, "Content-Type: application/xhtml+xml", body=LOGIN.ljust(SIZE)), "RRRR"),
    "page called a zip": (ok(f"Content-Length: {len(LOGIN)}", *OPUS, body=LOGIN), "RRRR"),
    "page as long as the file": (ok(LENGTH, body=LOGIN.ljust(SIZE)), "RRRR"),
    "page after a redirect": (ok(f"Content-Length: {len(LOGIN)}", *GITHUB, body=LOGIN), "RRRR"),
    "other bytes": (ok(LENGTH, body=OTHER[: SIZE // 2] + BODY[SIZE // 2 :]), "SRSR"),
    "less than stated": (ok(f"Content-Length: {SIZE + 999}"), "RRRR"),
    "half of what is stated": (ok(LENGTH, body=BODY[:HALF]), "RRRR"),
    "more than stated": (ok(f"Content-Length: {SIZE - 999}"), "SRRR"),
    "half without a length": (ok(body=BODY[:HALF]), "RRRR"),
    "more without a length": (ok(body=BODY + bytes(500)), "RRRS"),
    "half in chunks": (in_chunks(body=BODY[:HALF]), "SRRR"),
    "more in chunks": (in_chunks(body=BODY + b"more"), "SRRS"),
    "chunks without the last one": (in_chunks(last=b""), "RRRR"),
    "a chunk cut": (in_chunks(body=BODY[:HALF], last=b"100\r\nabc"), "RRRR"),
    **{
        f"chunk of {size!r} bytes": (in_chunks(body=BODY[:HALF], last=size + b"\r\nabc\r\n"), "RRRR")
        for size in (b"-5", b"-1", b"zz", b"\xc2\xb2", b"", b"0x")
    },
    "a chunk of a million terabytes": (in_chunks(last=b"f" * 15 + b"\r\n" + BODY), "RRRR"),
    "chunks without end": (
        lambda: chain([head("200 OK", CHUNKED)], endless(b"10000\r\n" + bytes(1 << 16) + b"\r\n")),
        "RRRR",
    ),
    "no length and no end": (lambda: chain([head("200 OK")], endless(bytes(1 << 16))), "RRRR"),
    "page without end": (
        lambda: chain([head("200 OK", "Content-Type: text/html", CHUNKED)], endless(bytes(1 << 16))),
        "RRRR",
    ),
    "another length than that of the chunks": (in_chunks(f"Content-Length: {SIZE - 1}"), "RRRR"),
    "a greater length than that of the chunks": (in_chunks(f"Content-Length: {SIZE + 1}"), "RRRR"),
    "two lengths": (ok(LENGTH, "Content-Length: 5"), "RRRR"),
    "two lengths in a line": (ok(f"Content-Length: 5, {SIZE}"), "RRRR"),
    **{
        f"length {length!r}": (ok(f"Content-Length: {length}"), "RRRR")
        for length in (
            "²",
            "-1",
            "",
            "0x10",
            "2_00",
            "+5",
            "5.0",
            "1e3",
            "many",
            "9" * 18,
            "9" * 40,
            "9" * 5000,
        )
    },
    "packed though identity was asked for": (
        ok(f"Content-Length: {len(gzip.compress(BODY))}", "Content-Encoding: gzip", body=gzip.compress(BODY)),
        "RRRR",
    ),
    "packed and cut": (in_chunks("Content-Encoding: gzip", body=gzip.compress(BODY)[:-5000]), "RRRR"),
    "a bomb": (ok(f"Content-Length: {len(BOMB)}", "Content-Encoding: gzip", body=BOMB), "RRRR"),
    "deflated": (in_chunks("Content-Encoding: deflate", body=zlib.compress(BODY)), "RRRR"),
    "in an unknown code": (ok(LENGTH, "Content-Encoding: br"), "RRRR"),
    "in two codes": (ok(LENGTH, "Content-Encoding: gzip, gzip"), "RRRR"),
    "packed on the way": (
        lambda: chain([head("200 OK", "Transfer-Encoding: gzip, chunked")], chunked(gzip.compress(BODY))),
        "RRRR",
    ),
    "an unknown transfer": (ok("Transfer-Encoding: none"), "RRRR"),
    **{
        f"redirect to {place}": (to(place), "RRRR")
        for place in (
            "http://[::1/",
            "http://[/",
            "//[",
            "http://",
            "http:///",
            "http://a:99999999/",
            "http://a:²/",
            "http://%zz/",
            "http://.../",
            "http://" + "a" * 300 + "/",
            "http://\xff\xfe/",
            "file:///etc/passwd",
            "ftp://127.0.0.1/a",
            "data:text/plain,a",
            "gopher://127.0.0.1/",
            "javascript:alert(1)",
            "/again",
        )
    },
    "a long header": (ok(LENGTH, "X-Long: " + "a" * 100_000), "RRRR"),
    "many headers": (ok(LENGTH, *(f"X-{number}: a" for number in range(1000))), "RRRR"),
    "headers without end": (lambda: chain([b"HTTP/1.1 200 OK\r\n"], endless(b"X-A: b\r\n" * 1000)), "RRRR"),
    "no status": (raw(BODY), "RRRR"),
    "nothing at all": (raw(), "RRRR"),
    "half a status": (raw(b"HTTP/1.1 20"), "RRRR"),
    **{
        f"status line {line!r}": (raw(line + b"\r\n" + LENGTH.encode() + b"\r\n\r\n", BODY), "RRRR")
        for line in (
            b"HTTP/1.1 two",
            b"HTTP/1.1 -200 OK",
            b"HTTP/1.1 2000 OK",
            b"HTTP/7 200 OK",
            b"ICY 200 OK",
            b"\0",
        )
    },
}
# After half of the file, the second answer; then the server has another version of the file and says so.
RESUMED = {
    "no version": part(HALF, body=OTHER),
    "the new version": part(HALF, OTHER_TAG, body=OTHER),
    "a weak version": part(HALF, 'ETag: W/"a"', body=OTHER),
    "no range": lambda: [head("206 Partial Content", TAG, f"Content-Length: {SIZE - HALF}"), OTHER[HALF:]],
    "the first bytes": part(HALF, TAG, body=OTHER, span=f"0-{HALF - 1}/{SIZE}"),
    "bytes before those that lack": part(HALF, TAG, body=OTHER, span=f"{HALF - 5}-{SIZE - 1}/{SIZE}"),
    "bytes after those that lack": part(HALF, TAG, body=OTHER, span=f"{HALF + 5}-{SIZE - 1}/{SIZE}"),
    "not all bytes that lack": part(HALF, TAG, body=OTHER, span=f"{HALF}-{SIZE - 2}/{SIZE}"),
    "a file of unknown length": part(HALF, TAG, body=OTHER, span=f"{HALF}-{SIZE - 1}/*"),
    "a longer file": part(HALF, TAG, body=OTHER + bytes(999)),
    "a shorter file": part(HALF, TAG, body=OTHER[:-999]),
    "another unit": lambda: [
        head(
            "206 Partial Content",
            TAG,
            f"Content-Range: lines {HALF}-{SIZE - 1}/{SIZE}",
            f"Content-Length: {HALF}",
        ),
        OTHER[HALF:],
    ],
    "a length that is not that of the range": lambda: [
        head(
            "206 Partial Content", TAG, f"Content-Range: bytes {HALF}-{SIZE - 1}/{SIZE}", "Content-Length: 5"
        ),
        OTHER[HALF:],
    ],
    "many parts": lambda: [
        head(
            "206 Partial Content",
            TAG,
            "Content-Type: multipart/byteranges; boundary=x",
            f"Content-Length: {HALF}",
        ),
        OTHER[:HALF],
    ],
    "no bytes": status("416 Range Not Satisfiable", body=b""),
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(module, "LARGEST_UNSTATED_BYTES", 1 << 20)


def _cut(*headers: str) -> Callable[[], Answer]:
    """Half of the file, though all of it is stated."""
    return ok(LENGTH, *headers, body=BODY[:HALF])


def _outcome(server: LyingServer, path: Path, **options: Any) -> str:
    """W, S or R, as above; the file is as its digest says, and a refusal leaves none."""
    refused = None
    try:
        digest = download(f"{server.address}/a/file.zip", path, attempts=2, timeout=2, **options)
    except (DataError, OfflineError) as error:
        refused = error
    if refused:
        assert len(one_line(refused)) < 1000
        assert "\n" not in str(refused)
        assert not path.exists()
        return "R"
    assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    return "W" if digest == DIGEST else "S"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("answer", [*HONEST, *LIES])
def test_an_answer_is_the_whole_file_or_is_refused(answer: str, mode: str, tmp_path: Path) -> None:
    answers, outcomes = (HONEST | LIES)[answer]
    with LyingServer(answers) as server:
        outcome = _outcome(server, tmp_path / "got" / "file.zip", **MODES[mode])
        assert outcome == outcomes[[*MODES].index(mode)]
        assert server.sent < 80_000_000  # of two attempts, and what the operating system holds on the way
    if outcome == "R":  # nothing of it spoils the next try
        with LyingServer(ok(LENGTH, TAG)) as server:
            assert _outcome(server, tmp_path / "got" / "file.zip", **MODES[mode]) == "W"


@pytest.mark.parametrize("mode", ["plain", "check"])
@pytest.mark.parametrize("answer", RESUMED)
def test_two_versions_are_never_joined(answer: str, mode: str, tmp_path: Path) -> None:
    new = ok(f"Content-Length: {len(OTHER)}", OTHER_TAG, body=OTHER)
    with LyingServer(_cut(TAG), RESUMED[answer], new) as server:
        path = tmp_path / "got" / "file.zip"
        download(f"{server.address}/file.zip", path, **MODES[mode])
        assert path.read_bytes() == OTHER
        assert server.asked("Range") == [None, f"bytes={HALF}-", None]


@pytest.mark.parametrize(
    ("first", "rest", "condition"),
    [
        ((TAG,), (TAG,), '"a"'),
        ((TAG, DATE), (TAG,), '"a"'),
        ((DATE,), (DATE,), DATE.partition(": ")[2].lower()),
        ((DATE, 'ETag: W/"a"'), (DATE, 'ETag: W/"a"'), DATE.partition(": ")[2].lower()),
        (OPUS, OPUS, '"0cc1-1"'),
        (GITHUB, GITHUB, '"5f2a"'),
    ],
)
def test_a_version_that_the_server_names_is_gone_on_with(
    first: tuple[str, ...], rest: tuple[str, ...], condition: str, tmp_path: Path
) -> None:
    with LyingServer(_cut(*first), part(HALF, *rest)) as server:
        assert _outcome(server, tmp_path / "got" / "file.zip") == "W"
        assert server.asked("If-Range") == [None, condition]
        assert server.asked("Accept-Encoding") == ["identity"] * 2


@pytest.mark.parametrize(
    "headers",
    [
        (),
        ('ETag: W/"a"',),
        ("ETag: a",),
        ('ETag: "a',),
        ('ETag: "a"\r\n "b"',),
        ('ETag: "\xb2"',),
        ("Last-Modified: yesterday",),
        ("Last-Modified: 2026-06-01",),
    ],
)
def test_bytes_of_a_version_without_a_sound_name_are_fetched_again(
    headers: tuple[str, ...], tmp_path: Path
) -> None:
    with LyingServer(_cut(*headers), ok(LENGTH)) as server:
        assert _outcome(server, tmp_path / "got" / "file.zip") == "W"
        assert server.asked("Range") == [None, None]


@pytest.mark.parametrize("known", [b"", b"\xff\xfe", b'"a', b'"a"\nmany', b"a\r\nX: b", b'"a"\r\nHost: b'])
def test_a_damaged_name_of_a_version_is_no_version(known: bytes, tmp_path: Path) -> None:
    path = tmp_path / "got" / "file.zip"
    path.parent.mkdir()
    path.with_name("file.zip.part").write_bytes(OTHER[:HALF])
    path.with_name("file.zip.part.version").write_bytes(known)
    with LyingServer(ok(LENGTH, OTHER_TAG)) as server:
        assert _outcome(server, path) == "W"


@pytest.mark.parametrize("line", ["301 Moved Permanently", "302 Found", "303 See Other", "307 a", "308 b"])
@pytest.mark.parametrize("place", ["/b", "b?X-Signature=1&Expires=2", "{address}/objects/ab/cd#part"])
def test_a_redirect_is_followed_as_by_the_model_hub(line: str, place: str, tmp_path: Path) -> None:
    hub = ("X-Repo-Commit: 12", f"X-Linked-Size: {SIZE}", f'X-Linked-Etag: "{DIGEST}"', "Content-Length: 9")
    with LyingServer() as server:
        leads = head(line, f"Location: {place.format(address=server.address)}", *hub) + b"Found. Re"
        server.answers = (lambda: [leads], ok(LENGTH, TAG, "Content-Type: binary/octet-stream"))
        assert _outcome(server, tmp_path / "got" / "file.zip") == "W"
        assert len(server.requests) == 2


def test_a_redirect_with_a_body_without_end_is_followed(tmp_path: Path) -> None:
    leads = head("302 Found", "Location: /b", CHUNKED)
    with LyingServer(lambda: chain([leads], endless(b"4\r\nabcd\r\n" * 10_000)), ok(LENGTH)) as server:
        assert _outcome(server, tmp_path / "got" / "file.zip") == "W"
        assert server.sent < 80_000_000


def test_a_redirect_to_a_page_to_sign_in_is_refused(tmp_path: Path) -> None:
    page = ok(f"Content-Length: {len(LOGIN)}", "Content-Type: text/html; charset=utf-8", body=LOGIN)
    with (
        LyingServer(to("/login?next=file.zip"), page) as server,
        pytest.raises(DataError, match="a web page in place of the file; open the address in a browser"),
    ):
        download(f"{server.address}/file.zip", tmp_path / "file.zip")


def test_a_page_that_is_asked_for_is_a_file(tmp_path: Path) -> None:
    with LyingServer(ok(f"Content-Length: {len(LOGIN)}", "Content-Type: text/html", body=LOGIN)) as server:
        download(f"{server.address}/a.html", tmp_path / "a.html")
    assert (tmp_path / "a.html").read_bytes() == LOGIN


def test_a_packed_file_that_a_server_calls_encoded_stays_packed(tmp_path: Path) -> None:
    packed = gzip.compress(b"one\n")
    headers = f"Content-Length: {len(packed)}", "Content-Encoding: x-gzip", "Content-Type: text/plain"
    with LyingServer(ok(*headers, body=packed)) as server:
        download(f"{server.address}/a.txt.gz", tmp_path / "a.txt.gz")
    assert (tmp_path / "a.txt.gz").read_bytes() == packed


def test_an_empty_file_that_is_known_to_be_empty_is_one(tmp_path: Path) -> None:
    with LyingServer(ok("Content-Length: 0", body=b"")) as server:
        for known in ({"exact": 0}, {"sha256": hashlib.sha256(b"").hexdigest()}):
            download(f"{server.address}/a", tmp_path / "a", **known)
            assert (tmp_path / "a").read_bytes() == b""


def test_each_refusal_says_what_is_wrong(tmp_path: Path) -> None:
    causes = {
        "no length": "does not state how long the file is",
        "status 203 Non-Authoritative Information": "HTTP 203 Non-Authoritative",
        "part that nobody asked for": "HTTP 206, although the whole file was asked for",
        "nothing": "sent an empty file",
        "length '²'": "no number of bytes",
        "chunks without end": "sent more than 1048576 bytes, and states no length",
        "another length than that of the chunks": f"more than {SIZE - 1} bytes, the length that it states",
        "a bomb": "encoded as 'gzip', which was not asked for",
        "packed on the way": "encoded as 'gzip, chunked'",
        "redirect to http://[::1/": "Invalid IPv6 URL",
    }
    for answer, cause in causes.items():
        with (
            LyingServer((HONEST | LIES)[answer][0]) as server,
            pytest.raises(DataError, match=re.escape(cause)),
        ):
            download(f"{server.address}/file.zip", tmp_path / "file.zip", attempts=1)


@pytest.mark.parametrize("answer", [*LIES])
def test_no_lie_is_an_answer_to_a_question(answer: str) -> None:
    with LyingServer(LIES[answer][0]) as server:
        with pytest.raises((DataError, OfflineError)) as caught:
            ask(f"{server.address}/api", {"corpus": "a"}, attempts=1, timeout=2)
        assert len(one_line(caught.value)) < 1000
        assert server.sent < 80_000_000


def test_a_header_without_a_colon_shows_no_traceback() -> None:
    answer = b'{"corpora": []}'
    with LyingServer(ok("no colon", f"Content-Length: {len(answer)}", body=answer)) as server:
        command = [sys.executable, "-m", "orthoglot", "study", "opus", "--corpus", "Tatoeba"]
        ended = subprocess.run(
            command, env={**os.environ, "ORTHOGLOT_OPUS_API": server.address}, capture_output=True, text=True
        )
        assert server.requests
    assert "Traceback" not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    "address",
    [
        "http://[::1/",
        "http://[",
        "http://²:²/",
        "http://a:99999999/",
        "http://\0/",
        "http://a b/",
        "http://\udcff/",
        "http://" + "a" * 300 + "/",
        "http://..",
        "//a",
        "",
        "file:///etc/passwd",
        "data:,a",
        "http:",
    ],
)
def test_no_address_is_a_traceback(address: str, tmp_path: Path) -> None:
    with pytest.raises((DataError, OfflineError)) as caught:
        download(address, tmp_path / "a", attempts=1, timeout=2)
    assert len(one_line(caught.value)) < 1000


def test_headers_in_any_order_of_faults_give_the_file_or_a_line(tmp_path: Path) -> None:
    """Random answers, of random sound and unsound parts."""
    draw = random.Random(1)
    lines = ["200 OK", "200 OK", "200 OK", "206 Partial Content", "203 a", "302 Found", "416 a", "500 a"]
    headers = [LENGTH, f"Content-Length: {HALF}", CHUNKED, TAG, OTHER_TAG, DATE, "Content-Encoding: gzip"]
    headers += [f"Content-Range: bytes {HALF}-{SIZE - 1}/{SIZE}", "Content-Type: text/html", "Location: /b"]
    bodies = [BODY, BODY[:HALF], BODY[HALF:], b"".join(chunked(BODY)), LOGIN, b""]

    def answers() -> Iterator[Callable[[], Answer]]:
        for _ in range(3):
            top = head(draw.choice(lines), *draw.sample(headers, draw.randrange(4)))
            yield raw(top, draw.choice(bodies))

    for number in range(100):
        with LyingServer(*answers()) as server:
            path = tmp_path / str(number) / "file.zip"
            assert _outcome(server, path, **draw.choice([MODES["digest"], MODES["check"]])) in "WR"
