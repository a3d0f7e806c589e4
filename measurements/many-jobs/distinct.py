"""How the distinct sentences of a preset are sorted before they are encoded: ours, SQLite, Polars and GNU sort.

    pip install polars                                                # for that way alone
    python measurements/many-jobs/distinct.py text 1000000 1m.tsv    # generated
    python measurements/many-jobs/distinct.py ours 1m.tsv

prints a row of a table: processor seconds with the reading of the text and the writing of the shards, peak of resident
memory of Python and of the largest other process, the most bytes on disk besides the text, and a digest of all shards,
which is the same of all ways. `nothing` reads, and writes shards of every sentence as it comes.

The text has ten languages of four scripts. A sentence is a piece of a long line of words; its length is drawn from a
logarithmic normal distribution (median 60 characters). Of ten sentences one is an earlier one.
"""

from __future__ import annotations

import hashlib
import os
import random
import resource
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from orthoglot.embeddings import shards
from orthoglot.text.bitext import blocks

LETTERS = {
    "Latin": "abcdefghijklmnopqrstuvwxyz",
    "Cyrillic": "абвгдежзиклмнопрстуфхцчшыэюя",
    "Arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "Devanagari": "कखगघचछजझटठडढणतथदधनपफबभमयरलवशषसह",
}
LANGUAGES = [f"l{number}" for number in range(10)]
Texts = Iterator[tuple[str, str]]


def generated(count: int) -> Texts:
    """A sentence is a function of its number, so that one comes again without being remembered."""
    drawn = random.Random(1)
    lines = []
    for letters in LETTERS.values():
        words = ["".join(drawn.choices(letters, k=drawn.randint(2, 10))) for _ in range(20_000)]
        lines.append(" ".join(drawn.choices(words, k=2_000_000)))
    sizes = [min(400, max(5, round(drawn.lognormvariate(4.1, 0.55)))) for _ in range(4_093)]
    for place in range(count):
        number = place if place % 10 < 9 else place * 7 // 10
        line = lines[number % len(LANGUAGES) % len(lines)]
        start = number * 2_654_435_761 % (len(line) - 400)
        yield LANGUAGES[number % 10], line[start : start + sizes[number % len(sizes)]]


def read(path: Path) -> Texts:
    """The generated text."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            language, _, sentence = line[:-1].partition("\t")
            yield language, sentence


def ours(texts: Texts, folder: Path) -> Texts:
    """In memory below a million texts, else by DuckDB."""
    return OURS(texts, folder)


def nothing(texts: Texts, folder: Path) -> Texts:
    """What reading and writing take."""
    return (("l0", sentence) for _, sentence in texts)


def sqlite(texts: Texts, folder: Path) -> Texts:
    """A tree on disk with 2 MB of memory: orthoglot's way until 2026-11-28."""
    database = sqlite3.connect(folder / "distinct.db", isolation_level=None)
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
    yield from database.execute(
        "SELECT language, sentence FROM sentence ORDER BY language, characters DESC, sentence"
    )
    database.close()


def polars(texts: Texts, folder: Path) -> Texts:
    """Its streaming engine, from a parquet file to another."""
    import polars
    import pyarrow
    from pyarrow.parquet import ParquetFile, ParquetWriter

    columns = pyarrow.schema({"language": pyarrow.string(), "sentence": pyarrow.string()})
    with ParquetWriter(folder / "texts.parquet", columns) as file:
        for rows in blocks(texts):
            arrays = [pyarrow.array(column) for column in zip(*rows, strict=True)]
            file.write_batch(pyarrow.record_batch(arrays, schema=columns))
    query = polars.scan_parquet(folder / "texts.parquet").unique()
    query = query.with_columns(characters=polars.col("sentence").str.len_chars())
    query = query.sort("language", "characters", "sentence", descending=[False, True, False])
    query.sink_parquet(folder / "sorted.parquet", engine="streaming")
    for batch in ParquetFile(folder / "sorted.parquet").iter_batches(4096):
        yield from zip(batch["language"].to_pylist(), batch["sentence"].to_pylist(), strict=True)


def gnu_sort(texts: Texts, folder: Path) -> Texts:
    """By bytes, which is by code points; the text has no zero byte."""
    command = ["sort", "--zero-terminated", "--unique", "--buffer-size=1G", "--parallel=4"]
    process = subprocess.Popen(
        [*command, f"--temporary-directory={folder}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert process.stdin
    assert process.stdout
    for rows in blocks(texts):
        keyed = (f"{language}\t{9_999_999 - len(sentence)}\t{sentence}\0" for language, sentence in rows)
        process.stdin.write("".join(keyed).encode())
    process.stdin.close()
    rest = b""
    while content := process.stdout.read(1 << 22):
        *whole, rest = (rest + content).split(b"\0")
        for record in whole:
            language, _, sentence = record.decode().split("\t", 2)
            yield language, sentence


OURS = shards._distinct
WAYS: dict[str, Callable[[Texts, Path], Texts]] = {
    "nothing": nothing,
    "ours": ours,
    "SQLite": sqlite,
    "Polars": polars,
    "sort": gnu_sort,
}


def measured(way: str, text: Path) -> str:
    """A row of the table."""
    most, ended = [0], threading.Event()

    def look(folder: Path) -> None:
        while not ended.wait(0.2):
            blocks_of_512 = 0
            for file in folder.rglob("*"):
                try:
                    blocks_of_512 += file.stat().st_blocks
                except FileNotFoundError:
                    continue
            most[0] = max(most[0], blocks_of_512 * 512)

    shards._distinct = WAYS[way]
    with TemporaryDirectory(dir=text.parent) as place:
        thread = threading.Thread(target=look, args=[Path(place)])
        thread.start()
        made = shards.make_shards(read(text), Path(place, "text"))
        ended.set()
        thread.join()
    digest = hashlib.sha256("".join(shard.digest for shard in made).encode()).hexdigest()[:8]
    usages = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(used.ru_utime + used.ru_stime for used in usages)
    peaks = [used.ru_maxrss // 1024 for used in usages]
    distinct = sum(shard.count for shard in made)
    return (
        f"| {way} | {text.stem} | {distinct:,} | {seconds:.1f} | {peaks[0]} + {peaks[1]} | "
        f"{most[0] / 1e6:,.0f} | {digest} |"
    )


def main() -> None:
    """One way, or the text."""
    if sys.argv[1] == "text":
        texts, path = generated(int(sys.argv[2])), Path(sys.argv[3])
        with path.open("w", encoding="utf-8") as file:
            while rows := list(islice(texts, 100_000)):
                file.writelines(f"{language}\t{sentence}\n" for language, sentence in rows)
        return
    sys.stdout.write(f"{measured(sys.argv[1], Path(sys.argv[2]))}\n")


if __name__ == "__main__":
    main()
