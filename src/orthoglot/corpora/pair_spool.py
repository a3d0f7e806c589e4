"""The pairs of a large corpus on disk, from the filters that judge one pair to shards of three splits in hash order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from orthoglot.atomic import reserve
from orthoglot.corpora.cleaning import drop_dissimilar
from orthoglot.corpora.filters import Sides
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.corpora.spool import Column, Firsts, Parts, Shards
from orthoglot.text.bitext import BLOCK
from orthoglot.text.characters import lengths
from orthoglot.text.hashes import BINS, bins_of, hashes
from orthoglot.text.keys import normalised
from orthoglot.text.splitting import SPLITS, Split, SplitSettings, split_and_order

ROW = np.dtype([("order", "<u8"), ("split", "u1")])


class PairSpool:
    """Pairs in the order in which they were read.

    Memory holds one block of pairs and a 256th of the corpus; the disk its text and about 50 bytes for each pair.
    """

    def __init__(self, folder: Path, cleaning: CleaningSettings, splits: SplitSettings) -> None:
        self._folder, self._cleaning, self._splits = folder, cleaning, splits
        self._text = (folder / "text").open("wb")
        self._rows = (folder / "rows").open("wb")
        self._lengths = (folder / "lengths").open("wb")
        self._firsts = Firsts(folder / "firsts")
        self._count = 0

    def add(self, sides: Sides, keys: Sides) -> None:
        """Add the sides of tidied pairs, with the keys of the sides."""
        rows = np.empty(len(keys[0]), dtype=ROW)
        rows["split"], rows["order"] = split_and_order(keys[0], self._splits)
        self._rows.write(rows.tobytes())
        self._lengths.write(np.stack([*map(lengths, sides)], axis=1).astype(np.int32).tobytes())
        self._text.write(
            "".join([f"{source}\t{target}\n" for source, target in zip(*sides, strict=True)]).encode()
        )
        if self._cleaning.drop_duplicates:
            self._firsts.add(["\t".join(pair) for pair in zip(*keys, strict=True)])
        self._count += len(rows)

    def choose(self, dropped: Counter[str]) -> np.ndarray:
        """Which pairs stay (N,) bool, after duplicates and the ratio of lengths."""
        for file in (self._text, self._rows, self._lengths):
            file.close()
        if not self._count:
            return np.zeros(0, dtype=bool)
        kept = np.memmap(self._folder / "kept", dtype=bool, mode="w+", shape=self._count)
        reserve(self._folder / "kept")
        kept[:] = True
        left = self._count
        if self._cleaning.drop_duplicates:
            self._firsts.clear_repeated(kept)
            left = _counted("duplicate", kept, left, dropped)
        if not self._cleaning.opusfilter:
            sizes = Column(self._folder / "lengths", np.dtype(np.int32), 2)
            drop_dissimilar(sizes, kept, self._cleaning.max_ratio)
        _counted("ratio", kept, left, dropped, always=True)
        return kept

    def write(self, kept: np.ndarray, dropped: Counter[str], output: Path) -> dict[Split, int]:
        """Write shards of each split and return their sizes; held-out sentences are distinct on either side."""
        caps = {
            "train": self._splits.max_train,
            "valid": self._splits.max_valid,
            "test": self._splits.max_test,
        }
        with Parts(self._folder / "order") as parts:
            for rows, lines in self._chosen(kept, dropped):
                numbers = zip(rows["order"].tolist(), rows["split"].tolist(), lines, strict=True)
                parts.add(rows["order"], [b"%016x%d%b" % one for one in numbers])
        dropped["repeated_held_out"] += 0
        dropped["over_cap"] += 0
        shards = {split: Shards(output, split, "tsv") for split in SPLITS}
        seen: dict[Split, tuple[set[int], set[int]]] = {split: (set(), set()) for split in SPLITS}
        try:
            for content in parts:
                lines = sorted(content.split(b"\n")[:-1])
                for number, split in enumerate(SPLITS):
                    some = [line[17:] for line in lines if line[16] == ord("0") + number]
                    room = caps[split] - shards[split].count if caps[split] else len(some)
                    if split != "train":
                        some, repeated = _distinct(some, room, *seen[split])
                        dropped["repeated_held_out"] += repeated
                    dropped["over_cap"] += max(0, len(some) - room)
                    shards[split].write(some[:room])
        finally:
            for one in shards.values():
                one.close()
        return {split: one.count for split, one in shards.items()}

    def _chosen(self, kept: np.ndarray, dropped: Counter[str]) -> Iterator[tuple[np.ndarray, list[bytes]]]:
        """Rows and lines of the pairs that stay, block by block, without those that the cap excludes for sure."""
        if not self._count:
            return
        highest = BINS
        if self._splits.max_train:
            bins = np.zeros(BINS, dtype=np.int64)
            for rows, _ in self._blocks(kept):
                bins += np.bincount(bins_of(rows["order"][rows["split"] == 0]), minlength=BINS)
            highest = int(np.searchsorted(bins.cumsum(), self._splits.max_train))
        with (self._folder / "text").open("rb") as file:
            for rows, places in self._blocks(kept):
                lines = list(islice(file, len(places)))
                fits = (rows["split"] != 0) | (bins_of(rows["order"]) <= highest)
                dropped["over_cap"] += int((~fits).sum())
                yield rows[fits], [lines[place] for place in np.flatnonzero(places)[fits]]

    def _blocks(self, kept: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows of the pairs that stay, and (n,) bool which of the block they are."""
        numbers = Column(self._folder / "rows", ROW)
        for start in range(0, self._count, BLOCK):
            places = np.array(kept[start : start + BLOCK])
            yield numbers[start : start + BLOCK][places], places


def _counted(
    reason: str, kept: np.ndarray, before: int, dropped: Counter[str], *, always: bool = False
) -> int:
    """How many stay; those that went since `before` are counted."""
    left = int(np.count_nonzero(kept))
    if always or left < before:
        dropped[reason] += before - left
    return left


def _distinct(lines: list[bytes], room: int, sources: set[int], targets: set[int]) -> tuple[list[bytes], int]:
    """The lines of which no side is in a set, and how many others there are; where there is no room, all stay.

    The sides of what is kept are added to the sets. A side is compared by 64 bits.
    """
    kept: list[bytes] = []
    for place, line in enumerate(lines):
        if len(kept) == room:
            return kept + lines[place:], place - room
        source, target = hashes(map(normalised, line.decode().split("\t"))).tolist()
        if source not in sources and target not in targets:
            kept.append(line)
            sources.add(source)
            targets.add(target)
    return kept, len(lines) - len(kept)
