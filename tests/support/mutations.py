"""Damaged copies of a file's content, the same ones for the same seed."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

# How many of each reader; `make chaos` asks for more.
COUNT = int(os.environ.get("ORTHOGLOT_MUTATIONS", "500"))
# What readers stumble over: ends, escapes, brackets, numbers out of range, invalid and long UTF-8.
PIECES = [
    *(bytes([code]) for code in b'\x00\x01\t\n\r\x1b "#%&\',/0:;<=>[\\]{|}\x7f\x80\xc0\xff'),
    b"\r\n", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\\u0000", b"\\ud800",
    b"-1", b"1e999", b"NaN", b"-Infinity", b"null", b"true", b"9" * 400, b"99999999999999999999",
    b"[" * 5000, b"{" * 5000, b"<a>" * 2000, b"../" * 4, b"/etc/hostname", b"%s%n", b"\x1b[31m", b"'\"",
]  # fmt: skip


def mutations(content: bytes, count: int = COUNT) -> Iterator[bytes]:
    """Copies of a sound file's content with one to four changes each; none equals it."""
    draw = random.Random(1)
    made = 0
    while made < count:
        changed = bytearray(content)
        for _ in range(draw.choice((1, 1, 1, 2, 4))):
            draw.choice(CHANGES)(changed, draw)
        if changed != content:
            made += 1
            yield bytes(changed)


def _flip(content: bytearray, draw: random.Random) -> None:
    if content:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)


def _set(content: bytearray, draw: random.Random) -> None:
    if content:
        content[draw.randrange(len(content))] = draw.randrange(256)


def _delete(content: bytearray, draw: random.Random) -> None:
    start, end = _span(content, draw)
    del content[start:end]


def _insert(content: bytearray, draw: random.Random) -> None:
    place = draw.randrange(len(content) + 1)
    content[place:place] = draw.choice(PIECES)


def _replace(content: bytearray, draw: random.Random) -> None:
    start, end = _span(content, draw)
    content[start:end] = draw.choice(PIECES)


def _repeat(content: bytearray, draw: random.Random) -> None:
    start, end = _span(content, draw)
    content[end:end] = content[start:end] * draw.choice((1, 2, 20))


def _move(content: bytearray, draw: random.Random) -> None:
    start, end = _span(content, draw)
    block = content[start:end]
    del content[start:end]
    place = draw.randrange(len(content) + 1)
    content[place:place] = block


def _truncate(content: bytearray, draw: random.Random) -> None:
    del content[draw.randrange(len(content) + 1) :]


def _span(content: bytearray, draw: random.Random) -> tuple[int, int]:
    start = draw.randrange(len(content) + 1)
    return start, min(len(content), start + draw.choice((1, 2, 4, 16, 256)))


CHANGES = (_flip, _flip, _set, _delete, _insert, _replace, _repeat, _move, _truncate)
