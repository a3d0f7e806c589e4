"""The pairs of a large corpus on disk, from the filters that judge one pair to shards of three splits in hash order."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np

from orthoglot.atomic import reserve
from orthoglot.corpora.cleaning import drop_dissimilar
from orthoglot.corpora.filters import Sides
from orthoglot.corpora.near_duplicates import NearDuplicates
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.corpora.spool import Column, Parts, Shards, counted, repeated
from orthoglot.text.characters import lengths
from orthoglot.text.hashes import passing_hashes
from orthoglot.text.keys import key_of_line, normalised
from orthoglot.text.splitting import SPLITS, Split, SplitSettings, split_and_order

# What is kept of a pair: where it comes, what its duplicates share, characters of its sides, its split.
ROW = np.dtype([("order", "<u8"), ("key", "<u8"), ("sizes", "<i4", 2), ("split", "u1")])


class PairSpool:
    """Pairs in 256 parts by the first byte of a hash of their sources, within a part in the order of reading.

    Memory holds one block of pairs and a 256th of the corpus; the disk its text and about 50 bytes for each pair.
    """

    def __init__(self, folder: Path, cleaning: CleaningSettings, splits: SplitSettings) -> None:
        self._folder, self._cleaning, self._splits = folder, cleaning, splits
        self._lines, self._rows = Parts(folder / "lines"), Parts(folder / "rows")
        self._count = 0

    def add(self, sides: Sides, keys: Sides) -> None:
        """Add the sides of tidied pairs, with the keys of the sides."""
        rows = np.empty(len(keys[0]), dtype=ROW)
        rows["split"], rows["order"] = split_and_order(keys[0], self._splits)
        rows["key"] = passing_hashes(zip(*keys, strict=True), len(rows))
        rows["sizes"] = np.stack([*map(lengths, sides)], axis=1)
        self._rows.add(rows["order"], rows)
        lines = [f"{source}\t{target}\n" for source, target in zip(*sides, strict=True)]
        self._lines.add(rows["order"], lines)
        self._count += len(rows)

    def choose(self, dropped: Counter[str]) -> np.ndarray:
        """Which pairs stay (N,) bool, part after part, after duplicates, near ones too, and the ratio of lengths."""
        if not self._count:
            return np.zeros(0, dtype=bool)
        kept = np.memmap(self._folder / "kept", dtype=bool, mode="w+", shape=self._count)
        reserve(self._folder / "kept")
        kept[:] = True
        start = 0
        with (self._folder / "all").open("wb") as file:
            for content in self._rows:
                file.write(content)
                keys = np.frombuffer(content, ROW)["key"]
                if self._cleaning.drop_duplicates:  # in the same part, as their sources have the same hash
                    kept[start + repeated(keys)] = False
                start += len(keys)
        left = counted("duplicate", kept, self._count, dropped)
        if threshold := self._cleaning.near_duplicates:
            similar = NearDuplicates(self._folder / "similar", threshold)
            for content in self._lines.contents():
                similar.add([*map(key_of_line, content.split(b"\n")[:-1])])
            lines = chain.from_iterable(content.split(b"\n")[:-1] for content in self._lines.contents())
            similar.clear_similar(kept, lines, key_of_line)
            left = counted("near_duplicate", kept, left, dropped)
        sizes = Column(self._folder / "all", ROW, "sizes")
        drop_dissimilar(sizes, kept, self._cleaning.max_ratio)
        counted("ratio", kept, left, dropped, always=True)
        return kept

    def write(self, kept: np.ndarray, dropped: Counter[str], output: Path) -> dict[Split, int]:
        """Write shards of each split and return their sizes; held-out sentences are distinct on either side."""
        settings = self._splits
        caps = {"train": settings.max_train, "valid": settings.max_valid, "test": settings.max_test}
        dropped["repeated_held_out"] += 0
        dropped["over_cap"] += 0
        shards = {split: Shards(output, split, "tsv") for split in SPLITS}
        seen: dict[Split, tuple[set[int], set[int]]] = {split: (set(), set()) for split in SPLITS}
        start, numbers = 0, Column(self._folder / "all", ROW)
        try:
            for content in self._lines if self._count else ():
                lines = content.split(b"\n")[:-1]
                rows = numbers[start : start + len(lines)]
                stay = np.flatnonzero(kept[start : start + len(lines)])
                start += len(lines)
                columns = rows["order"][stay].tolist(), rows["split"][stay].tolist()
                ordered = sorted(zip(*columns, [lines[row] for row in stay.tolist()], strict=True))
                for number, split in enumerate(SPLITS):
                    chosen = [line for _, its_split, line in ordered if its_split == number]
                    room = caps[split] - shards[split].count if caps[split] else len(chosen)
                    if split != "train":
                        chosen, repeated = _distinct(chosen, room, *seen[split])
                        dropped["repeated_held_out"] += repeated
                    dropped["over_cap"] += max(0, len(chosen) - room)
                    shards[split].write(chosen[:room])
        finally:
            for writer in shards.values():
                writer.close()
        return {split: writer.count for split, writer in shards.items()}


def _distinct(lines: list[bytes], room: int, sources: set[int], targets: set[int]) -> tuple[list[bytes], int]:
    """The first `room` lines with neither side in its set, all lines after them, and how many were left out before.

    The sides of these first lines are added to the sets. A side is compared by 64 bits.
    """
    distinct: list[bytes] = []
    for place, line in enumerate(lines):
        if len(distinct) == room:
            return distinct + lines[place:], place - room
        source, target = map(hash, map(normalised, line.decode().split("\t")))
        if source not in sources and target not in targets:
            distinct.append(line)
            sources.add(source)
            targets.add(target)
    return distinct, len(lines) - len(distinct)
