"""From a zip to clean text: ours, OpusTools' opus_read, OpusFilter; and our peak memory by size.

    python measurements/speed-of-preparing/corpora.py  # 200,000 pairs, twice at once, 5 rounds
    python measurements/speed-of-preparing/corpora.py --opusfilter VENV/bin/opusfilter
    python measurements/speed-of-preparing/corpora.py --memory 100000 1000000 5000000
    python measurements/speed-of-preparing/corpora.py --parts 1 2 --pairs 5000000  # one process, and parts
    # ours against an earlier one, CPU seconds
    python measurements/speed-of-preparing/corpora.py --before CHECKOUT/src --texts FOLDER

The text is drawn from a seed: words of 2 to 11 Latin or Cyrillic letters, 4 to 24 a sentence; of a hundred pairs two
are repeated, one is a copy, one has a side that is far too long. Each way gets the same text, in processes of its own,
two at once (`--jobs`), and the ways take turns within a round. Printed are medians over rounds.

- ours: `orthoglot.corpora.prepare.prepare`, from a Moses zip to shards: tidied, filtered, without duplicates, in three
  splits, in hash order, compressed.
- opus_read, XML: `opus_read -wm moses` from zips of OPUS's XML with its alignments, to two plain files, unfiltered.
- opus_read, Moses: the same from a Moses zip, which it unpacks.
- OpusFilter: from plain files the filters `LengthFilter` and `LengthRatioFilter` by characters and its step
  `remove_duplicates`, to two plain files. It needs an environment of its own (`pip install opusfilter`).
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

WAYS = ("ours", "opus_read, XML", "opus_read, Moses", "OpusFilter")
ALPHABETS = {"en": "abcdefghijklmnopqrstuvwxyz", "ru": "абвгдежзиклмнопрстуфхцчшыэюя"}
DOCUMENT = 1_000
CLEANING = {"min_characters": 2, "max_characters": 400, "max_ratio": 4.0}
MORE_CLEANING = {"min_script": 0.5, "min_numbers": 0.5}
SPLITS = {"seed": 1, "valid": 0.01, "test": 0.02, "max_train": 0, "max_valid": 500, "max_test": 1000}


def pairs(count: int) -> Iterator[tuple[str, str]]:
    """English and Russian lookalikes."""
    drawn = random.Random(1)
    words = {
        code: ["".join(drawn.choices(letters, k=drawn.randint(2, 11))) for _ in range(20_000)]
        for code, letters in ALPHABETS.items()
    }
    last = ("first", "первый")
    for number in range(count):
        kind = number % 100
        if kind not in (17, 59):
            length = drawn.randint(4, 24)
            last = tuple(" ".join(drawn.choices(own, k=length)).capitalize() + "." for own in words.values())
        if kind == 31:
            yield last[0], last[0]
        elif kind == 83:
            yield last[0], " ".join([last[1]] * 12)
        else:
            yield last


def write(count: int, folder: Path) -> None:
    """A Moses zip, plain files, and OPUS's XML with alignments."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "complete").exists():
        return
    with (folder / "plain.en").open("w") as en, (folder / "plain.ru").open("w") as ru:
        for source, target in pairs(count):
            en.write(f"{source}\n")
            ru.write(f"{target}\n")
    with zipfile.ZipFile(folder / "X_v1_moses_en-ru.txt.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for code in ("en", "ru"):
            archive.write(folder / f"plain.{code}", f"X.en-ru.{code}")
    for code in ("en", "ru"):
        with zipfile.ZipFile(folder / f"{code}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, rows in documents(folder / f"plain.{code}"):
                body = "".join(f'<s id="{number}">{line}</s>\n' for number, line in enumerate(rows, 1))
                text = f'<?xml version="1.0" encoding="utf-8"?>\n<text>\n{body}</text>\n'
                archive.writestr(f"X/raw/{code}/{name}.xml", text)
    with gzip.open(folder / "links.xml.gz", "wt") as file:
        file.write('<?xml version="1.0" encoding="utf-8"?>\n<cesAlign version="1.0">\n')
        for name, rows in documents(folder / "plain.en"):
            file.write(f'<linkGrp fromDoc="en/{name}.xml.gz" toDoc="ru/{name}.xml.gz" targType="s">\n')
            for number in range(1, len(rows) + 1):
                file.write(f'<link xtargets="{number};{number}" id="SL{number}" />\n')
            file.write("</linkGrp>\n")
        file.write("</cesAlign>\n")
    (folder / "complete").touch()


def documents(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Name and lines of each document of a plain file."""
    rows: list[str] = []
    number = 0
    with path.open() as file:
        for line in file:
            rows.append(line.rstrip("\n"))
            if len(rows) == DOCUMENT:
                yield f"{number:06d}", rows
                rows, number = [], number + 1
    if rows:
        yield f"{number:06d}", rows


def ours(folder: Path, output: Path) -> int:
    """The pairs that stay."""
    from orthoglot.corpora.prepare import prepare
    from orthoglot.study.jobs.prepare import PrepareSettings

    archive = str(folder / "X_v1_moses_en-ru.txt.zip")
    sources = [{"name": "X", "kind": "opus", "paths": [archive]}]
    settings = {"pair": "en-ru", "sources": sources, "cleaning": CLEANING, "splits": SPLITS}
    prepare(PrepareSettings.model_validate(settings), output)
    return sum(json.loads((output / "counts.json").read_text())["kept"].values())


def command(way: str, folder: Path, output: Path, opusfilter: str) -> list[str]:
    """What another program is called with."""
    here = str(Path(sys.executable).with_name("opus_read"))
    given = [here, "-d", "X", "-s", "en", "-t", "ru", "-r", "v1", "-dl", str(folder), "-q"]
    files = ["-wm", "moses", "-w", str(output / "en"), str(output / "ru")]
    match way:
        case "opus_read, XML":
            zips = [
                "-af",
                str(folder / "links.xml.gz"),
                "-sz",
                str(folder / "en.zip"),
                "-tz",
                str(folder / "ru.zip"),
            ]
            return [*given, "-p", "raw", *zips, *files]
        case "opus_read, Moses":
            return [*given, "-p", "moses", *files]
    config = {
        "common": {"output_directory": str(output)},
        "steps": [
            {
                "type": "filter",
                "parameters": {
                    "inputs": [str(folder / "plain.en"), str(folder / "plain.ru")],
                    "outputs": ["filtered.en", "filtered.ru"],
                    "filters": [
                        {"LengthFilter": {"unit": "char", "min_length": 2, "max_length": 400}},
                        {"LengthRatioFilter": {"unit": "char", "threshold": 4}},
                    ],
                },
            },
            {
                "type": "remove_duplicates",
                "parameters": {"inputs": ["filtered.en", "filtered.ru"], "outputs": ["en", "ru"]},
            },
        ],
    }
    (output / "config.yaml").write_text(json.dumps(config))
    return [opusfilter, "--overwrite", str(output / "config.yaml")]


def run(way: str, folder: Path, jobs: int, opusfilter: str) -> dict[str, float]:
    """Seconds of `jobs` processes at once, their CPU seconds, the most memory of one, and pairs written by one."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        outputs = [Path(place) / str(number) for number in range(jobs)]
        for output in outputs:
            output.mkdir()
        if way == "ours":
            commands = [[sys.executable, __file__, "--ours", str(folder), str(output)] for output in outputs]
        else:
            commands = [command(way, folder, output, opusfilter) for output in outputs]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        processes = [
            subprocess.Popen(
                ["/usr/bin/env", *one], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=output
            )
            for one, output in zip(commands, outputs, strict=True)
        ]
        ended = [process.communicate() for process in processes]
        seconds = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        for process, (_, error) in zip(processes, ended, strict=True):
            if process.returncode:
                raise SystemExit(f"{way}: {error[-1000:]}")
        if way == "ours":
            written = int(ended[0][0])
        else:
            with (outputs[0] / "en").open("rb") as file:
                written = sum(1 for _ in file)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"seconds": seconds, "cpu": cpu, "pairs": written}


def compared(count: int, ways: list[str], rounds: int, jobs: int, folder: Path, opusfilter: str) -> None:
    """Print a row of a Markdown table for each way."""
    write(count, folder / str(count))
    found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            found[way].append(run(way, folder / str(count), jobs, opusfilter))
    middle: Callable[[str, str], float] = lambda way, what: statistics.median(one[what] for one in found[way])  # noqa: E731
    for way in ways:
        seconds, cpu = middle(way, "seconds"), middle(way, "cpu")
        ratios = [
            f"{middle(way, what) / middle('ours', what):.1f}" if way != "ours" else "1"
            for what in ("seconds", "cpu")
        ]
        cells = [
            way,
            f"{count * jobs / seconds:,.0f}",
            f"{seconds:.1f}",
            f"{cpu:.1f}",
            *ratios,
            f"{middle(way, 'pairs'):,.0f}",
        ]
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
        sys.stdout.flush()


def timed(folder: Path, more: bool) -> None:
    """Print CPU seconds, pairs and a digest of what is written, for a folder with a Moses zip or NAME.en-de.tsv.gz."""
    import zstandard

    from orthoglot.corpora.prepare import prepare
    from orthoglot.study.jobs.prepare import PrepareSettings

    sources = defaultdict(list)
    for path in sorted(folder.glob("*.tsv.gz")):
        name, pair, *_ = path.name.split(".")
        sources[pair].append({"name": name, "kind": "local", "paths": [str(path)]})
    for path in folder.glob("*_moses_*.zip"):
        sources["en-ru"].append({"name": "X", "kind": "opus", "paths": [str(path)]})
    seconds, count, digest = 0.0, 0, hashlib.sha256()
    for pair, some in sources.items():
        cleaning = CLEANING | MORE_CLEANING if more else CLEANING
        values = {"pair": pair, "sources": some, "cleaning": cleaning, "splits": SPLITS}
        settings = PrepareSettings.model_validate(values)
        with tempfile.TemporaryDirectory() as place:
            started = time.process_time()
            prepare(settings, Path(place))
            seconds += time.process_time() - started
            count += sum(json.loads((Path(place) / "counts.json").read_text())["in"].values())
            for path in sorted(Path(place).iterdir()):
                with zstandard.open(path) if path.suffix == ".zst" else path.open("rb") as file:
                    digest.update(path.name.encode() + file.read())
    sys.stdout.write(json.dumps([seconds, count, digest.hexdigest()]))


def against(before: Path, folders: list[Path], rounds: int) -> None:
    """Print microseconds of CPU for a pair, least and median, by an earlier source and by this one, in turns."""
    now = Path(__file__).resolve().parents[2] / "src"
    for folder in folders:
        for more in (False, True):
            found: dict[Path, list[float]] = {before: [], now: []}
            digests = set()
            for _ in range(rounds):
                for source, times in found.items():
                    given = [sys.executable, __file__, "--timed", str(folder), *["--more"][: int(more)]]
                    environment = os.environ | {"PYTHONPATH": str(source.resolve())}
                    printed = subprocess.run(given, check=True, capture_output=True, env=environment).stdout
                    seconds, count, digest = json.loads(printed)
                    times.append(seconds / count * 1e6)
                    digests.add(digest)
            cells = [folder.name, f"{count:,}", "script and numbers too" if more else "five filters"]
            cells += [f"{min(times):.1f}, {statistics.median(times):.1f}" for times in found.values()]
            least, middle = (what(found[before]) / what(found[now]) for what in (min, statistics.median))
            cells += [f"{least:.2f}, {middle:.2f}", "same" if len(digests) == 1 else "DIFFERENT"]
            sys.stdout.write(f"| {' | '.join(cells)} |\n")
            sys.stdout.flush()


def zipped(count: int, folder: Path) -> Path:
    """The folder of a Moses zip with so many pairs."""
    place = folder / f"memory-{count}"
    place.mkdir(parents=True, exist_ok=True)
    archive = place / "X_v1_moses_en-ru.txt.zip"
    if not archive.exists():
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
            for side, code in enumerate(("en", "ru")):
                with packed.open(f"X.en-ru.{code}", "w", force_zip64=True) as file:
                    file.writelines(f"{pair[side]}\n".encode() for pair in pairs(count))
    return place


def step(name: str, number: int, parts: int, archive: Path, home: Path) -> None:
    """What a job of the workflow does for a pair in parts, without receipts; `prepare` is all of it at once."""
    from collections import Counter

    from orthoglot.corpora.pair_spool import PairSpool, write
    from orthoglot.corpora.prepare import add_pairs, choose_pairs, prepare, write_counts
    from orthoglot.study.corpora.tally_file import load_tally, save_tally
    from orthoglot.study.jobs.prepare import PrepareSettings

    sources = [{"name": "X", "kind": "opus", "paths": [str(archive)]}]
    values = {"pair": "en-ru", "sources": sources, "cleaning": CLEANING, "splits": SPLITS}
    settings = PrepareSettings.model_validate(values)
    folders = [home / f"part{part}" for part in range(parts)]
    chosen, output = home / "chosen", home / "out"
    spools = [PairSpool(folder, settings.splits, keep=True) for folder in folders]
    for folder in (*folders, chosen, output):
        folder.mkdir(exist_ok=True)
    match name:
        case "prepare":
            prepare(settings, output)
        case "clean":
            save_tally(add_pairs(settings, spools[number], (), {}, number, parts), folders[number])
            spools[number].lines.save()
            spools[number].rows.save()
        case "choose":
            tallies = [*map(load_tally, folders)]
            save_tally(choose_pairs(settings, spools, tallies, chosen), chosen)
        case "pack":
            written = write(spools, chosen, settings.splits, output, number, parts)
            (chosen / f"{number}.json").write_text(json.dumps(written))
        case "put together":
            counts: Counter[str] = Counter()
            for part in range(parts):
                counts.update(json.loads((chosen / f"{part}.json").read_text()))
            write_counts(settings, load_tally(chosen), counts, output)
        case "read":
            from orthoglot.formats.sources import read_source

            for source in settings.sources:
                sum(1 for _ in read_source(source, "en", "ru"))


def in_parts(numbers: list[int], count: int, folder: Path) -> None:
    """Print wall and CPU seconds, and peak memory, of each step of so many parts; 1 is one process."""
    archive = zipped(count, folder) / "X_v1_moses_en-ru.txt.zip"
    digests = set()
    for parts in numbers:
        with tempfile.TemporaryDirectory(dir=folder) as home:
            for name in ("prepare",) if parts == 1 else ("read", "clean", "choose", "pack", "put together"):
                jobs = parts if name in ("clean", "pack") else 1
                started, usages = time.perf_counter(), []
                processes = [
                    subprocess.Popen(
                        [sys.executable, __file__, "--step", name, str(job), str(parts), str(archive), home]
                    )
                    for job in range(jobs)
                ]
                for process in processes:
                    _, status, usage = os.wait4(process.pid, 0)
                    if status:
                        raise SystemExit(f"{name}: status {status}")
                    usages.append(usage)
                wall = time.perf_counter() - started
                cpu = " + ".join(f"{usage.ru_utime + usage.ru_stime:.1f}" for usage in usages)
                peak = max(usage.ru_maxrss for usage in usages) / 1024
                disk = sum(path.stat().st_size for path in Path(home).rglob("*") if path.is_file()) / 2**20
                cells = [str(parts), name, f"{wall:.0f}", cpu, f"{peak:,.0f}", f"{disk:,.0f}"]
                sys.stdout.write(f"| {' | '.join(cells)} |\n")
                sys.stdout.flush()
            digest = hashlib.sha256()
            for path in sorted((Path(home) / "out").iterdir()):
                with path.open("rb") as file:  # in pieces: a child's peak counts that of its parent
                    digest.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
            digests.add(digest.hexdigest())
    sys.stdout.write(f"{len(digests)} different results\n")


def memory(counts: list[int], folder: Path) -> None:
    """Print our peak resident size, and seconds, for each number of pairs."""
    for count in counts:
        place = zipped(count, folder)
        archive = place / "X_v1_moses_en-ru.txt.zip"
        with tempfile.TemporaryDirectory(dir=place) as output:
            given = [sys.executable, __file__, "--ours", str(place), output]
            started = time.perf_counter()
            process = subprocess.Popen(given, stdout=subprocess.PIPE, text=True)
            kept = int(process.stdout.read())
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - started
        if status:
            raise SystemExit(f"{count} pairs: status {status}")
        size = archive.stat().st_size / 2**20
        cells = [
            f"{count:,}",
            f"{size:,.0f}",
            f"{kept:,}",
            f"{seconds:.0f}",
            f"{usage.ru_maxrss / 1024:,.0f}",
        ]
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
        sys.stdout.flush()


def main() -> None:
    """Read the command line, print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--opusfilter", default="", help="its executable; left out if not given")
    parser.add_argument("--memory", type=int, nargs="*", help="numbers of pairs; nothing else is measured")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "corpora-benchmark")
    parser.add_argument(
        "--before", type=Path, help="the folder src of an earlier checkout; nothing else is measured"
    )
    parser.add_argument(
        "--texts", type=Path, nargs="*", default=[], help="folders of NAME.en-de.tsv.gz, with --before"
    )
    parser.add_argument("--ours", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--parts", type=int, nargs="*", help="numbers of parts; nothing else is measured")
    parser.add_argument("--step", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--timed", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--more", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.ours:
        sys.stdout.write(str(ours(*given.ours)))
    elif given.step:
        name, number, parts, archive, home = given.step
        step(name, int(number), int(parts), Path(archive), Path(home))
    elif given.parts:
        in_parts(given.parts, given.pairs, given.folder)
    elif given.timed:
        timed(given.timed, given.more)
    elif given.before:
        write(given.pairs, given.folder / str(given.pairs))
        against(given.before, [given.folder / str(given.pairs), *given.texts], given.rounds)
    elif given.memory is not None:
        memory(given.memory, given.folder)
    else:
        ways = [way for way in given.ways if way != "OpusFilter" or given.opusfilter]
        compared(given.pairs, ways, given.rounds, given.jobs, given.folder, given.opusfilter)


if __name__ == "__main__":
    main()
