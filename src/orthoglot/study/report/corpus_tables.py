"""Tables of the text of a run: what was read, dropped and kept."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from orthoglot.study.report.table import EMPTY, Cell, Table

SPLITS = ("train", "valid", "test")
Counts = Mapping[str, Any]


def corpus_tables(
    pairs: Sequence[Counts],
    texts: Sequence[Counts],
    languages: Sequence[str],
    known: Mapping[str, Sequence[str]],
) -> dict[str, Table]:
    """The tables that a run has something for: of its pairs, of its text, of benchmarks in both, of its languages."""
    shown = {}
    if pairs:
        shown["corpora"] = corpus_table(pairs)
    if texts:
        shown["text"] = text_table(texts)
    if any(entry.get("benchmarks") for entry in (*pairs, *texts)):
        shown["overlaps"] = overlap_table([*pairs, *texts])
    if known and languages:
        shown["languages"] = language_table(
            languages, {encoder: seen(languages, stated) for encoder, stated in known.items()}
        )
    return shown


def corpus_table(counts: Sequence[Counts]) -> Table:
    """Language pair by sentence pairs read, dropped by reason, kept by split."""
    columns = {"Pair": [entry["pair"] for entry in counts], **_read_and_dropped(counts)}
    columns |= {split.capitalize(): [entry["kept"][split] for entry in counts] for split in SPLITS}
    return _counted(
        "Corpora", "Sentence pairs. Read = dropped by each reason + train + valid + test.", columns
    )


def text_table(counts: Sequence[Counts]) -> Table:
    """Language by corpora, sentences read, dropped by reason, kept."""
    columns = {
        "Language": [entry["language"] for entry in counts],
        "Corpora": [", ".join(sorted(entry["in"])) for entry in counts],
        **_read_and_dropped(counts),
        "Kept": [sum(entry["shards"]) for entry in counts],
    }
    note = (
        "Sentences without translations. Read = dropped by each reason + kept; held out are held-out sentences of "
        "the pairs."
    )
    return _counted("Text", note, columns)


def overlap_table(counts: Sequence[Counts]) -> Table:
    """Language pair or language by what was dropped for a sentence of a benchmark: in all, and by benchmark."""
    names = sorted({name for entry in counts for name in entry.get("benchmarks", {})})
    columns: dict[str, list[Any]] = {
        "Text": [entry["pair"] for entry in counts],
        "− benchmark": [entry["dropped"].get("benchmark", 0) for entry in counts],
    }
    columns |= {name: [entry.get("benchmarks", {}).get(name, 0) for entry in counts] for name in names}
    note = (
        "Sentence pairs, and sentences without translations, that were dropped because benchmarks have one of their "
        "sentences (letters and digits alone), by benchmark. What two benchmarks have counts in both."
    )
    return _counted("Benchmarks in the text", note, columns)


def language_table(languages: Collection[str], known: Mapping[str, Mapping[str, bool]]) -> Table:
    """Language by encoder: whether it was trained on the language; grey where that is not stated."""
    grey = EMPTY._replace(small="not stated", tone="absent")
    marks = {True: Cell("✓"), False: EMPTY}
    return Table(
        "Languages of the encoders",
        "✓: trained on the language, as the encoder's settings state; –: on others; grey: not stated.",
        ["Language", *known],
        [
            [Cell(code), *(marks[stated[code]] if code in stated else grey for stated in known.values())]
            for code in languages
        ],
    )


def seen(languages: Collection[str], stated: Collection[str]) -> dict[str, bool]:
    """Whether an encoder that states languages was trained on each of these; empty if it states none."""
    return {code: code in stated for code in languages if stated}


def read_counts(path: Path) -> dict[str, Any]:
    """The counts of a prepared folder, or those of a counts.json; `pair` is the folder's name unless they state it."""
    file = path / "counts.json" if path.is_dir() else path
    return {"pair": file.parent.name, **json.loads(file.read_text(encoding="utf-8"))}


def _read_and_dropped(counts: Sequence[Counts]) -> dict[str, list[int]]:
    reasons = sorted({reason for entry in counts for reason in entry["dropped"]})
    dropped = {
        f"− {reason.replace('_', ' ')}": [entry["dropped"].get(reason, 0) for entry in counts]
        for reason in reasons
    }
    return {"Read": [sum(entry["in"].values()) for entry in counts], **dropped}


def _counted(heading: str, note: str, columns: Mapping[str, Sequence[str | int]]) -> Table:
    table = [
        [Cell(value if isinstance(value, str) else f"{value:,}") for value in row]
        for row in zip(*columns.values(), strict=True)
    ]
    return Table(heading, note, list(columns), table)
