"""The distinct sentences of a preset, cut into shards on disk: as many as there are, memory stays the same."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

SENTENCES = 4096


@dataclass(frozen=True)
class Shard:
    """Distinct sentences of one language and similar length, encoded and saved together.

    Attributes:
        number: its place among all shards.
        language: of all its sentences.
        count: how many sentences it has.
        longest: characters of its longest sentence.
        digest: of language and sentences.
        path: where the sentences are.
    """

    number: int
    language: str
    count: int
    longest: int
    digest: str
    path: Path

    def sentences(self) -> list[str]:
        """Read them, longest first."""
        return json.loads(self.path.read_text(encoding="utf-8"))


def cut(texts: Iterable[tuple[str, str]], folder: Path) -> list[Shard]:
    """Shards of at most 4096 sentences, by language, longest first, each sentence once.

    Sentences of like length waste little padding. The order follows from the sentences alone, whatever order
    they come in.

    Args:
        texts: (language, sentence), as often as they occur.
        folder: emptied, then holds a file per shard.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shards: list[Shard] = []
    for language, sentences in _distinct(texts, folder / "distinct.db"):
        while some := list(islice(sentences, SENTENCES)):
            path = folder / f"{len(shards):06d}.json"
            text = json.dumps(some, ensure_ascii=False)
            path.write_text(text, encoding="utf-8")
            digest = hashlib.sha256(f"{language}\n{text}".encode()).hexdigest()
            shards.append(Shard(len(shards), language, len(some), len(some[0]), digest, path))
    return shards


def _distinct(texts: Iterable[tuple[str, str]], path: Path) -> Iterator[tuple[str, Iterator[str]]]:
    """Languages in order, and the distinct sentences of each, longest first; sorted on disk."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        # A killed run starts anew from the text: nothing here has to outlive it.
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute(
            "CREATE TABLE sentence (language TEXT, characters INTEGER, sentence TEXT,"
            " PRIMARY KEY (language, characters DESC, sentence)) WITHOUT ROWID"
        )
        rows = ((language, len(sentence), sentence) for language, sentence in texts)
        database.execute("BEGIN")
        database.executemany("INSERT OR IGNORE INTO sentence VALUES (?, ?, ?)", rows)
        database.execute("COMMIT")
        found = database.execute(
            "SELECT language, sentence FROM sentence ORDER BY language, characters DESC, sentence"
        )
        for language, group in groupby(found, key=lambda row: row[0]):
            yield language, (sentence for _, sentence in group)
    path.unlink()
