"""A server on the loopback address that answers with the very bytes it is given, whether they are HTTP or not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from socketserver import StreamRequestHandler, ThreadingTCPServer

# The parts of an answer: a head, and what follows it.
Answer = Iterable[bytes]


class LyingServer(ThreadingTCPServer):
    """Serves in a thread of its own while the `with` block runs.

    The first request gets the first answer, and so on; the last answer is given again and again. A connection ends
    with its answer.

    Attributes:
        requests: the lines of each request.
        sent: bytes that were sent.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *answers: Callable[[], Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        self.requests: list[list[str]] = []
        self.sent = 0
        self.released = threading.Event()

    def __enter__(self) -> LyingServer:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self.shutdown()
        self.server_close()

    def asked(self, name: str) -> list[str | None]:
        """A header of each request."""
        heads = [dict(line.lower().split(": ", 1) for line in lines[1:]) for lines in self.requests]
        return [head.get(name.lower()) for head in heads]


class _Handler(StreamRequestHandler):
    server: LyingServer

    def handle(self) -> None:
        lines = []
        while line := self.rfile.readline().strip():
            lines.append(line.decode())
        if not lines:
            return
        self.server.requests.append(lines)
        number = min(len(self.server.requests), len(self.server.answers))
        try:
            for part in self.server.answers[number - 1]():
                self.wfile.write(part)
                self.server.sent += len(part)
        except OSError:
            """The client has seen enough."""


def head(status: str, *headers: str, version: str = "1.1") -> bytes:
    """A status line and headers."""
    return "\r\n".join([f"HTTP/{version} {status}", *headers, "", ""]).encode("latin-1")


def chunked(body: bytes, size: int = 50_000, last: bytes = b"0\r\n\r\n") -> Iterator[bytes]:
    """The chunks of a body, and the last one."""
    for start in range(0, len(body), size):
        chunk = body[start : start + size]
        yield b"%x\r\n%b\r\n" % (len(chunk), chunk)
    yield last


def endless(part: bytes) -> Iterator[bytes]:
    """The same bytes without end; two GB, so that a test that fails ends."""
    return iter(repeat(part, (2 << 30) // len(part)))
