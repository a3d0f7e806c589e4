"""The pairs of a large corpus on disk, from the filters that judge one pair to shards of three splits in hash order."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from orthoglot.corpora.bitext import SentencePair
from orthoglot.corpora.cleaning import Keys, drop_dissimilar, duplicate_key, normalised
from orthoglot.corpora.preparation_settings import CleaningSettings, SplitSettings
from orthoglot.corpora.splitting import SPLITS, Split, order_keys, split_numbers
from orthoglot.corpora.spool import BINS, BLOCK, Column, Firsts, Parts, Shards, bins_of

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

    def add(self, pairs: Sequence[tuple[SentencePair, Keys]]) -> None:
        """Add tidied pairs, with the keys of their sides."""
        rows = np.empty(len(pairs), dtype=ROW)
        sources = [keys[0] for _, keys in pairs]
        rows["order"] = order_keys(sources, self._splits)
        rows["split"] = split_numbers(sources, self._splits)
        self._rows.write(rows.tobytes())
        self._lengths.write(np.array([[*map(len, pair)] for pair, _ in pairs], dtype=np.int32).tobytes())
        self._text.writelines(f"{pair.source}\t{pair.target}\n".encode() for pair, _ in pairs)
        if self._cleaning.drop_duplicates:
            self._firsts.add([duplicate_key(pair, keys, self._cleaning) for pair, keys in pairs])
        self._count += len(pairs)

    def choose(self, dropped: Counter[str]) -> np.ndarray:
        """Which pairs stay (N,) bool, after duplicates and the ratio of lengths."""
        for file in (self._text, self._rows, self._lengths):
            file.close()
        if not self._count:
            return np.zeros(0, dtype=bool)
        kept = np.memmap(self._folder / "kept", dtype=bool, mode="w+", shape=self._count)
        kept[:] = True
        left = self._count
        if self._cleaning.drop_duplicates:
            self._firsts.clear_repeated(kept)
            left = _counted("duplicate", kept, left, dropped)
        if not self._cleaning.opusfilter:
            lengths = Column(self._folder / "lengths", np.dtype(np.int32), 2)
            drop_dissimilar(lengths, kept, self._cleaning.max_ratio)
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
                parts.add(
                    rows["order"],
                    [
                        b"%016x%d%b" % (order, split, line)
                        for order, split, line in zip(
                            rows["order"].tolist(), rows["split"].tolist(), lines, strict=True
                        )
                    ],
                )
        dropped["repeated_held_out"] += 0
        dropped["over_cap"] += 0
        shards = {split: Shards(output, split, "tsv") for split in SPLITS}
        seen: dict[Split, tuple[set[bytes], set[bytes]]] = {split: (set(), set()) for split in SPLITS}
        try:
            for content in parts:
                for line in sorted(content.split(b"\n")[:-1]):
                    split, text = SPLITS[int(line[16:17])], line[17:]
                    if caps[split] and shards[split].count >= caps[split]:
                        dropped["over_cap"] += 1
                    elif split != "train" and not _new(text, *seen[split]):
                        dropped["repeated_held_out"] += 1
                    else:
                        shards[split].write(text)
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
                lines = [file.readline() for _ in range(len(places))]
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


def _new(text: bytes, sources: set[bytes], targets: set[bytes]) -> bool:
    """Whether both sides of a line are new; if so, they count as seen from then on. A side is compared by 64 bits."""
    source, target = (
        hashlib.blake2b(normalised(side).encode(), digest_size=8).digest()
        for side in text.decode().split("\t")
    )
    if source in sources or target in targets:
        return False
    sources.add(source)
    targets.add(target)
    return True
