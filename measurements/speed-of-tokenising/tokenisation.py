"""Words by Moses' rules against sacremoses line by line, and the memory of tokenising text on disk.

# speed; language, file, column
python measurements/speed-of-tokenising/tokenisation.py en=anki.en-fr.tsv.gz:1 fr=anki.en-fr.tsv.gz:2 ...
# memory of its training
python measurements/speed-of-tokenising/tokenisation.py --sentencepiece en=anki.en-fr.tsv.gz:1 ...
# peak memory, on so many generated sentence pairs
python measurements/speed-of-tokenising/tokenisation.py --memory 100000 5000000

Speed: rounds of every way in turn, on the same lines; a row has lines a second (median, least, most), times as fast as
sacremoses, and the same by CPU time. In this process ours begins each time with nothing remembered; workers keep what
they remember. sacremoses and ours give the same words (checked). Ids are those of a SentencePiece model that is trained
on a part of the lines. --sentencepiece: the estimate of the memory of its training, and what it took (Linux). --memory:
each step in a process of its own, less what the process held before it.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np

from orthoglot.encoders import moses
from orthoglot.encoders.pretokenization import moses_words
from orthoglot.encoders.token_lists import Ragged
from orthoglot.encoders.tokenization import MOSES_MODEL, MosesTokenizer
from orthoglot.study.pretraining import sentencepiece_training
from orthoglot.study.pretraining.settings import TokenizerSettings
from orthoglot.study.pretraining.tokenised import monolingual, text_of_bitext, write_bitext, write_text
from orthoglot.study.pretraining.tokenizer_training import RESERVED, train_tokenizer
from orthoglot.text.bitext import read_lines, write_pairs

MIB = 2**20
Text = dict[str, list[str]]


class Lines(list[str]):
    """Sentences in memory, as `train_tokenizer` reads them."""

    def at(self, rows: np.ndarray) -> Iterator[str]:
        """The sentences of these numbers."""
        return (self[row] for row in rows)


def read(sources: list[str], most: int) -> Text:
    """Lower-cased lines of files that are written LANGUAGE=FILE or LANGUAGE=FILE:COLUMN."""
    found = {}
    for source in sources:
        language, _, place = source.partition("=")
        path, _, column = place.partition(":")
        lines = islice(read_lines(Path(path)), most)
        found[language] = [line.split("\t")[int(column or 1) - 1].lower() for line in lines]
    return found


def sacremoses_words(text: Text) -> list[str]:
    """Line by line, as sacremoses' users do."""
    from sacremoses import MosesTokenizer

    found = []
    for language, lines in text.items():
        rules = MosesTokenizer(language)
        found += [rules.tokenize(line, escape=False, return_str=True) for line in lines]
    return found


def our_words(text: Text) -> list[str]:
    """In this process, nothing remembered from before."""
    moses.moses_rules.cache_clear()
    return [words for language, lines in text.items() for words in moses_words(lines, language)]


def words_in_processes(text: Text, pool: ProcessPoolExecutor) -> list[str]:
    """Of every language half the lines in each of two processes."""
    parts = [{name: lines[n::2] for name, lines in text.items()} for n in range(2)]
    return [words for part in pool.map(our_words, parts) for words in part]


def sacremoses_ids(text: Text, tokenizer: MosesTokenizer) -> list[list[int]]:
    """sacremoses and SentencePiece, line by line."""
    return [tokenizer._pieces.encode(words) for words in sacremoses_words(text)]


def our_ids(text: Text, tokenizer: MosesTokenizer) -> list[Ragged]:
    """As `orthoglot tokenise` does."""
    moses.moses_rules.cache_clear()
    return [tokenizer.encode(lines, language, 120) for language, lines in text.items()]


def speed(arguments: argparse.Namespace) -> None:
    """Print a row of a table for each way."""
    text = read(arguments.files, arguments.lines)
    count = sum(map(len, text.values()))
    with tempfile.TemporaryDirectory() as folder:
        settings = TokenizerSettings(vocabulary=arguments.vocabulary, sentences=20_000)
        train_tokenizer(settings, {name: Lines(lines) for name, lines in text.items()}, 120, Path(folder))
        one, two = (MosesTokenizer(Path(folder) / MOSES_MODEL) for _ in range(2))
        if sacremoses_words(text) != our_words(text):
            raise SystemExit("the words differ")
        with two.in_processes(2), ProcessPoolExecutor(2) as pool:
            ways: dict[str, Callable[[], object]] = {
                "words, sacremoses": lambda: sacremoses_words(text),
                "words, ours, 1 process": lambda: our_words(text),
                "words, ours, 2 processes": lambda: words_in_processes(text, pool),
                "ids, sacremoses": lambda: sacremoses_ids(text, one),
                "ids, ours, 1 process": lambda: our_ids(text, one),
                "ids, ours, 2 processes": lambda: our_ids(text, two),
            }
            for way in ("words, ours, 2 processes", "ids, ours, 2 processes"):
                ways[way]()  # starts the processes
            found = measured(ways, arguments.rounds)
    sys.stdout.write(
        f"{count} lines, {sum(len(line) for lines in text.values() for line in lines) / count:.0f} "
    )
    sys.stdout.write(f"characters each, {len(text)} languages\n")
    for way, runs in found.items():
        wall, cpu = np.array(runs).T
        first = np.median(found[f"{way.split(',')[0]}, sacremoses"], axis=0)
        # The time of other processes is not that of this one.
        less = "" if "processes" in way else f"{first[1] / np.median(cpu):.1f}"
        rates = " | ".join(f"{count / seconds:,.0f}" for seconds in (np.median(wall), wall.max(), wall.min()))
        sys.stdout.write(f"| {way} | {rates} | {first[0] / np.median(wall):.1f} | {less} |\n")


def measured(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds, and seconds of this process's CPU time, of every way in every round, the ways in turn."""
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, work in ways.items():
            wall, cpu = time.perf_counter(), time.process_time()
            work()
            found[way].append((time.perf_counter() - wall, time.process_time() - cpu))
    return found


def sentencepiece(arguments: argparse.Namespace) -> None:
    """Print the text's size, the estimate of training's memory, and what it took."""
    text = read(arguments.files, arguments.lines)
    words = [words for language, lines in text.items() for words in moses_words(lines, language)]
    settings = TokenizerSettings(vocabulary=arguments.vocabulary)
    with tempfile.TemporaryFile() as file:
        estimate = sentencepiece_training._written(words, file, settings.vocabulary)
        size = file.tell()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what is held now
    before = status("VmRSS")
    sentencepiece_training._trained(settings, iter(words), RESERVED)
    taken = status("VmHWM") - before
    sys.stdout.write(
        f"| {len(words):,} | {size / MIB:.1f} MiB | {settings.vocabulary:,} | {estimate / MIB:.0f} MiB | "
        f"{taken / MIB:.0f} MiB |\n"
    )


def status(kind: str) -> int:
    """Bytes that this process holds (VmRSS) or has held at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(kind))


STEPS = ("generate", "sample", "bitext", "text", "apart")


def memory(arguments: argparse.Namespace) -> None:
    """Print a row of a table for each number of pairs."""
    sys.stdout.write(f"| pairs | {' | '.join(STEPS[1:])} |\n")
    for pairs in arguments.memory:
        with tempfile.TemporaryDirectory() as folder:
            taken = []
            for step in STEPS:
                command = [
                    sys.executable,
                    __file__,
                    "--step",
                    step,
                    "--pairs",
                    str(pairs),
                    "--folder",
                    folder,
                ]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
                taken.append(json.loads(done.stdout))
        cells = " | ".join(f"{one['bytes'] / MIB:,.0f} MiB, {one['seconds']:.0f} s" for one in taken[1:])
        sys.stdout.write(f"| {pairs:,} | {cells} |\n")
        sys.stdout.flush()


def step(arguments: argparse.Namespace) -> None:
    """In a process of its own: print the bytes that a step takes at most, and its seconds."""
    folder = Path(arguments.folder)
    bitext, tokens = [folder / "en-de", folder / "en-fr"], folder / "tokens"
    steps: dict[str, Callable[[], object]] = {
        "generate": lambda: [
            generate(place, arguments.pairs // 2, seed) for seed, place in enumerate(bitext)
        ],
        "sample": lambda: sample(bitext),
        "bitext": lambda: write_bitext(bitext, "train", lengths, tokens),
        "text": lambda: write_text(text_of_bitext(bitext, apart=False), lengths, folder / "both", bitext),
        "apart": lambda: write_text(text_of_bitext(bitext, apart=True), lengths, folder / "apart", bitext),
    }
    before, started = peak(), time.perf_counter()
    steps[arguments.step]()
    sys.stdout.write(json.dumps({"bytes": peak() - before, "seconds": time.perf_counter() - started}) + "\n")


def generate(folder: Path, pairs: int, seed: int) -> None:
    """A prepared pair folder of sentences of about 60 characters; a tenth of the English ones comes twice."""
    folder.mkdir()
    draw = np.random.default_rng(seed)
    numbers = (int(number) for _ in range(0, pairs, 1000) for number in draw.integers(0, 5 * pairs, 1000))
    rows = (
        (f"English sentence {n} of text {n * 7919 % 104729} that says nothing", f"Satz {n}") for n in numbers
    )
    count = write_pairs(folder / "train.tsv.gz", islice(rows, pairs))
    (folder / "counts.json").write_text(json.dumps({"kept": {"train": count}}))


def sample(bitext: list[Path]) -> None:
    """Count and draw 50,000 sentences of each language, as for a tokenizer."""
    for text in monolingual(bitext, "train").values():
        rows = np.random.default_rng(0).choice(len(text), size=min(50_000, len(text)), replace=False)
        for _ in text.at(rows):
            pass


def lengths(sentences: list[str], _: str) -> Ragged:
    """Ids without a tokenizer, whose memory is another matter: one for every four characters."""
    return Ragged.of([[1] * (len(sentence) // 4) for sentence in sentences])


def peak() -> int:
    """Bytes: the most that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="LANGUAGE=FILE[:COLUMN]")
    parser.add_argument("--lines", type=int, default=100_000, help="of a file, at most")
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sentencepiece", action="store_true")
    parser.add_argument("--memory", type=int, nargs="+", metavar="PAIRS")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--pairs", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    gc.freeze()  # as a job of the workflow does
    if arguments.step:
        step(arguments)
    elif arguments.sentencepiece:
        sentencepiece(arguments)
    elif arguments.memory:
        memory(arguments)
    else:
        speed(arguments)


if __name__ == "__main__":
    main()
