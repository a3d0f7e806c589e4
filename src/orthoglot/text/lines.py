"""A text that is read more than once, and never held as a whole."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from orthoglot.text.bitext import read_sentences


@dataclass(frozen=True)
class Lines:
    """The lines of a file, read anew by each loop over them; errors as of `read_sentences`."""

    path: Path

    def __iter__(self) -> Iterator[str]:
        return read_sentences(self.path)


@dataclass(frozen=True)
class Text:
    """Lines, and what one pass over them found."""

    lines: Iterable[str]  # can be read more than once
    count: int  # of all lines
    blank: int  # of those without text
    size: int  # bytes of the others in UTF-8
    digest: str  # SHA-256 of all lines

    @classmethod
    def of(cls, lines: Iterable[str]) -> Text:
        """Read the lines once."""
        count = blank = size = 0
        digest = hashlib.sha256()
        for line in lines:
            content = f"{line}\n".encode()
            digest.update(content)
            count += 1
            if line.strip():
                size += len(content) - 1
            else:
                blank += 1
        return cls(lines, count, blank, size, digest.hexdigest())
