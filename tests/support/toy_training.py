"""A toy language pair, and an encoder that is trained on it in a second."""

from __future__ import annotations

import json
import random
from pathlib import Path

from cut_text import tokens_of

from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.kinds.ems import EmsSettings
from orthoglot.study.pretraining.settings import ScratchNetwork, TokenizerSettings
from orthoglot.study.pretraining.trainings.ems import pretrain_ems
from orthoglot.text.bitext import SentencePair, write_pairs

SETTINGS = EmsSettings(
    kind="ems",
    network=ScratchNetwork(
        start="scratch",
        tokenizer=TokenizerSettings(
            words="unicode", vocabulary=90, sentences=1000, character_coverage=1.0, threads=1, seed=1
        ),
        layers=1,
        width=32,
        heads=2,
        feed_forward=64,
        max_tokens=24,
        embedding_spread=0.02,
        dropout=0.1,
        attention_dropout=0.1,
    ),
    target="xtr",
    bag="counts",
    release_mask=False,
    language_width=8,
    head_norm=True,
    tied_output=False,
    projection_width=16,
    temperature=0.1,
    margin=0.0,
    negatives="local",
    xtr_weight=1.0,
    contrastive_weight=1.0,
    batch_size=32,
    chunk_tokens=64,
    processes=1,
    precision="float32",
    learning_rate=5e-3,
    amsgrad=True,
    warmup_steps=10,
    schedule="cosine",
    steps=80,
    validate_every=20,
    validation_dropout=False,
    sampling_temperature=1.0,
    threads=1,
    seed=1,
)
WORDS = {"tree": "baum", "house": "haus", "dog": "hund", "red": "rot", "small": "klein", "sees": "sieht"}
WORDS |= {"water": "wasser", "old": "alt", "bread": "brot", "eats": "isst", "night": "nacht", "my": "mein"}


def write_folder(folder: Path, splits: dict[str, list[SentencePair]]) -> Path:
    """A prepared pair of languages."""
    folder.mkdir(parents=True)
    for split, rows in splits.items():
        write_pairs(folder / f"{split}-00000.tsv.zst", rows)
    kept = {split: len(rows) for split, rows in splits.items()}
    (folder / "counts.json").write_text(json.dumps({"in": {"invented": 1}, "kept": kept}))
    return folder


def word_for_word(count: int, seed: int) -> list[SentencePair]:
    """Four English words and their German ones in reverse order."""
    draw = random.Random(seed)
    rows = {tuple(draw.sample(sorted(WORDS), 4)) for _ in range(count)}
    return [SentencePair(" ".join(row), " ".join(WORDS[w] for w in row[::-1])) for row in sorted(rows)]


def write_toy_bitext(folder: Path, train: int = 400) -> list[Path]:
    """The toy pair in a new folder, with some 60 pairs for validation."""
    return [write_folder(folder, {"train": word_for_word(train, 0), "valid": word_for_word(60, 1)})]


def train_ems(
    bitext: list[Path], place: Path, settings: EmsSettings = SETTINGS, start: Path | None = None
) -> Path:
    """The encoder `toy`, trained in `place`, where the training keeps its state, too."""
    output = place / "encoder"
    output.mkdir(parents=True)
    tokens = tokens_of(settings, bitext, place, start)
    inputs = Inputs(bitext, tokens=tokens, encoders={"start": start} if start else {})
    pretrain_ems(settings, "toy", inputs, RunOptions("cpu", place / "state"), output)
    return output


def history_of(folder: Path) -> list[dict[str, float]]:
    """What an encoder's training wrote after each epoch."""
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
