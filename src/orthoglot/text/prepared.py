"""Prepared folders, read: the pairs of a language pair by split, and the text of one language."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, starmap
from pathlib import Path
from typing import Any

from orthoglot.text.bitext import SentencePair, read_lines, read_rows
from orthoglot.text.splitting import Split


def read_split(folder: Path, split: Split) -> list[SentencePair]:
    """The pairs of one split of a prepared folder; a held-out split may be empty."""
    return list(stream_split(folder, split))


def stream_split(folder: Path, split: Split) -> Iterator[SentencePair]:
    """The same pairs, one at a time."""
    sizes = json.loads((folder / "counts.json").read_text())["kept"]
    paths = shards(folder, split) if sizes[split] else []
    return starmap(SentencePair, chain.from_iterable(read_rows(path, 2) for path in paths))


def describe_bitext(folder: Path) -> dict[str, Any]:
    """What a prepared folder's training text is: its `corpora` by name, and `pairs`, how many were kept."""
    counts = json.loads((folder / "counts.json").read_text())
    return {"corpora": sorted(counts["in"]), "pairs": counts["kept"]["train"]}


def stream_text(folder: Path) -> Iterator[str]:
    """The sentences of a prepared text folder, shard by shard."""
    for path in shards(folder, "text"):
        yield from read_lines(path)


def describe_text(folder: Path) -> dict[str, object]:
    """What a prepared text folder holds: its `corpora` by name, and `sentences`."""
    counts = json.loads((folder / "counts.json").read_text())
    return {"corpora": sorted(counts["in"]), "sentences": sum(counts["shards"])}


def shards(folder: Path, name: str) -> list[Path]:
    """The files NAME-00000 and so on of a prepared folder, in order."""
    return sorted(folder.glob(f"{name}-[0-9]*.zst"))
