"""What grows with the text: memory of near-duplicates, open files, DVC's hash lists.

    # texts, a tenth of them nearly the one before
    python measurements/many-jobs/limits.py near-duplicates 100000 400000
    # pairs, as measurements/speed-of-preparing/corpora.py draws them
    python measurements/many-jobs/limits.py prepare 100000 400000
    python measurements/many-jobs/limits.py dvc 1000 10000 100000            # small files in one folder

prints a row of a table for each size, each measured in a process of its own, on generated text: processor seconds, peak
of resident memory, the most bytes on disk, and the most files that were open at once (`prepare`).
For `dvc` the bytes are those of the list of hashes, and a second row is for `dvc status` when nothing has changed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed-of-preparing"))

import numpy as np

from corpora import CLEANING, SPLITS, pairs, write


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """Print the most bytes below a folder and the most open files, looked at a hundred times a second."""
    most, ended = [0, 0], threading.Event()

    def look() -> None:
        while not ended.wait(0.01):
            sizes = 0
            for file in folder.rglob("*"):
                try:
                    sizes += file.stat().st_size
                except FileNotFoundError:
                    continue
            most[:] = max(most[0], sizes), max(most[1], len(os.listdir("/proc/self/fd")) - 1)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    sys.stdout.write(f" {most[0]:,} | {most[1]} |")


def near_duplicates(count: int, folder: Path) -> None:
    """A tenth of the texts has one word more than the one before."""
    from orthoglot.corpora.near_duplicates import NearDuplicates

    def texts() -> Iterator[str]:
        last = ""
        for number, (source, target) in enumerate(pairs(count)):
            last = f"{last} again" if number % 10 == 9 else f"{source}\t{target}"
            yield last

    similar = NearDuplicates(folder / "bands", 0.8)
    waiting: list[str] = []
    for text in texts():
        waiting.append(text)
        if len(waiting) == 20_000:
            similar.add(waiting)
            waiting.clear()
    similar.add(waiting)
    kept = np.ones(count, dtype=bool)
    disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    similar.clear_similar(kept, texts(), str)
    sys.stdout.write(f" {disk:,} | – |")


def prepare(count: int, folder: Path) -> None:
    """One language pair from its archive to shards."""
    from orthoglot.corpora.prepare import prepare
    from orthoglot.study.jobs.prepare import PrepareSettings

    subprocess.run([sys.executable, __file__, "archive", str(count), str(folder)], check=True)
    sources = [{"name": "X", "kind": "opus", "paths": [str(folder / "archive/X_v1_moses_en-ru.txt.zip")]}]
    settings = {"pair": "en-ru", "sources": sources, "cleaning": CLEANING, "splits": SPLITS}
    (folder / "out").mkdir()
    with watched(folder / "out"):
        prepare(PrepareSettings.model_validate(settings), folder / "out")


def dvc(count: int, folder: Path) -> None:
    """Files of a few bytes; their list of hashes is written anew when one changes."""
    for number in range(count):
        place = folder / f"many/{number // 100:04d}"
        if not number % 100:
            place.mkdir(parents=True)
        (place / f"file-{number:06d}.json").write_text(f"{number}\n")
    for command in ("git init -q", "dvc init -q"):
        subprocess.run(command.split(), cwd=folder, check=True)
    for command in ("dvc add -q many", "dvc status -q"):
        process = subprocess.Popen(command.split(), cwd=folder)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{command} failed")
        (listed,) = folder.glob(".dvc/cache/files/md5/*/*.dir")
        cells = f"{used.ru_utime + used.ru_stime:.1f} | {used.ru_maxrss / 1024:.0f} | {listed.stat().st_size:,} | – |"
        sys.stdout.write(f"| {command} | {count:,} | {cells}\n")


OF_ONE_PROCESS = {"near-duplicates": near_duplicates, "prepare": prepare}


def main() -> None:
    """Each size in its own process: `--alone`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=[*OF_ONE_PROCESS, "dvc"])
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    if sys.argv[1:2] == ["archive"]:  # in a process of its own, whose memory does not count
        write(int(sys.argv[2]), Path(sys.argv[3]) / "archive")
        return
    chosen = parser.parse_args()
    if chosen.alone:
        OF_ONE_PROCESS[chosen.what](chosen.sizes[0], chosen.alone)
        return
    sys.stdout.write(
        "| What | n | CPU s | Peak MiB | Bytes on disk | Open files |\n|---|---|---|---|---|---|\n"
    )
    for size in chosen.sizes:
        with TemporaryDirectory() as place:
            if chosen.what == "dvc":
                dvc(size, Path(place))
                continue
            command = [sys.executable, __file__, chosen.what, str(size), "--alone", place]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert process.stdout
            rest = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{chosen.what} {size} failed")
        cells = f"{used.ru_utime + used.ru_stime:.1f} | {used.ru_maxrss / 1024:.0f} |"
        sys.stdout.write(f"| {chosen.what} | {size:,} | {cells}{rest}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
