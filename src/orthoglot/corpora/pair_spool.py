"""The pairs of a large corpus on disk, from the filters that judge one pair to shards of three splits in hash order.

Several processes may do it together: each fills a `PairSpool` of its own, one does `choose`, and each writes a share of
the shards. Their bytes are those of one process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from orthoglot.corpora.cleaning import length_ratios
from orthoglot.corpora.filters import Sides
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.corpora.spool import PARTS, SHARD, Parts, Shards, counted, repeated
from orthoglot.text.characters import lengths
from orthoglot.text.hashes import hashes
from orthoglot.text.keys import key_of_line, normalised
from orthoglot.text.splitting import SPLITS, Split, SplitSettings, split_and_order

# Of a pair: where it comes, what its duplicates share, where it was read, characters of its sides, its split.
ROW = np.dtype([("order", "<u8"), ("key", "<u8"), ("place", "<u8"), ("sizes", "<i4", 2), ("split", "u1")])
# Files of `choose`, and of the job that calls `write`.
KEPT, COUNTS, WRITTEN = "kept", "counts.npy", "written.json"


class PairSpool:
    """Pairs in 256 parts by the first byte of a hash of their sources, within a part in the order of reading.

    Memory holds one block of pairs and a 256th of the corpus; the disk its text and about 40 bytes for each pair.

    Args:
        folder: An empty folder, or with `keep` one that was filled and saved.
        splits: What the hash depends on.
        keep: Whether what is read stays.
    """

    def __init__(self, folder: Path, splits: SplitSettings, *, keep: bool = False) -> None:
        self._splits = splits
        self.lines, self.rows = Parts(folder / "lines", keep=keep), Parts(folder / "rows", keep=True)

    def add(self, sides: Sides, keys: Sides, place: int) -> None:
        """Add the sides of tidied pairs, with the keys of the sides, and a number that is higher for later ones."""
        rows = np.empty(len(keys[0]), dtype=ROW)
        rows["split"], rows["order"] = split_and_order(keys[0], self._splits)
        rows["key"] = rows["order"] ^ hashes(keys[1])
        rows["place"] = place
        rows["sizes"] = np.stack([*map(lengths, sides)], axis=1)
        self.rows.add(rows["order"], rows)
        lines = [f"{source}\t{target}\n" for source, target in zip(*sides, strict=True)]
        self.lines.add(rows["order"], lines)


def choose(
    spools: Sequence[PairSpool], cleaning: CleaningSettings, folder: Path, dropped: Counter[str]
) -> None:
    """Decide which pairs stay, after duplicates, near ones too, and the ratio of lengths.

    Args:
        spools: All pairs; with `near_duplicates`, one spool.
        cleaning: The thresholds.
        folder: Gets `KEPT`, a byte for each pair, part after part, within it spool after spool; and `COUNTS`, the pairs
            of each part, and those of each split that stay (256, 4) int64.
        dropped: Gets the counts of those that go.
    """
    counts = np.zeros((PARTS, 1 + len(SPLITS)), dtype=np.int64)
    with (folder / KEPT).open("wb") as file:
        for part in range(PARTS):
            rows = _rows(spools, part)
            stay = np.ones(len(rows), dtype=bool)
            if cleaning.drop_duplicates:  # in the same part, as their sources have the same hash
                reading = np.argsort(rows["place"], kind="stable")
                stay[reading[repeated(rows["key"][reading])]] = False
            file.write(stay.tobytes())
            counts[part, 0] = len(rows)
    total = int(counts.sum())
    kept = np.memmap(folder / KEPT, dtype=bool, mode="r+", shape=total) if total else np.zeros(0, dtype=bool)
    left = counted("duplicate", kept, total, dropped)
    if cleaning.near_duplicates and total:
        from orthoglot.corpora.near_duplicates import NearDuplicates

        similar = NearDuplicates(folder / "similar", cleaning.near_duplicates)
        for part in range(PARTS):
            similar.add([*map(key_of_line, _lines(spools, part))])
        lines = chain.from_iterable(_lines(spools, part) for part in range(PARTS))
        similar.clear_similar(kept, lines, key_of_line)
        left = counted("near_duplicate", kept, left, dropped)
    ends = counts[:, 0].cumsum()
    slices = [slice(start, end) for start, end in zip(ends - counts[:, 0], ends, strict=True)]
    sizes: Counter[int] = Counter()
    for part, span in enumerate(slices):
        codes = _rows(spools, part)["sizes"][kept[span]].copy().view("<u8")
        sizes.update(dict(zip(*map(np.ndarray.tolist, np.unique(codes, return_counts=True)), strict=True)))
    table = np.array([*sizes], dtype="<u8").view("<i4").reshape(-1, 2).astype(np.int64)
    ratios = length_ratios(table, np.array([*sizes.values()], dtype=np.int64), cleaning.max_ratio)
    for part, span in enumerate(slices):
        rows = _rows(spools, part)
        for ratio in ratios:
            kept[span] &= ratio.accepts(ratio.of_lengths(rows["sizes"]))
        counts[part, 1:] = np.bincount(rows["split"][kept[span]], minlength=len(SPLITS))
    counted("ratio", kept, left, dropped, always=True)
    np.save(folder / COUNTS, counts)


def write(
    spools: Sequence[PairSpool],
    chosen: Path,
    splits: SplitSettings,
    output: Path,
    job: int = 0,
    jobs: int = 1,
) -> Counter[str]:
    """Write shards of each split; held-out sentences are distinct on either side.

    Args:
        spools: All pairs.
        chosen: The folder that `choose` has filled.
        splits: Where pairs belong, and how many stay at most.
        output: The folder of the shards.
        job: Which share of the shards of `train` is written, from 0. Job 0 writes the held-out splits too.
        jobs: How many shares there are.
    Returns:
        How many pairs of each split were written; and, of job 0, how many are left out: `repeated_held_out`, as a
        side has come before, and `over_cap`.
    """
    counts = np.load(chosen / COUNTS)
    caps = {"train": splits.max_train, "valid": splits.max_valid, "test": splits.max_test}
    rooms = {split: caps[split] or int(counts[:, 1 + place].sum()) for place, split in enumerate(SPLITS)}
    trained = min(rooms["train"], int(counts[:, 1].sum()))
    first, last = (min(-(-trained // SHARD) * end // jobs * SHARD, trained) for end in (job, job + 1))
    rooms["train"] = last
    shards = {split: Shards(output, split, "tsv", first if split == "train" else 0) for split in SPLITS}
    seen: dict[Split, tuple[set[int], set[int]]] = {split: (set(), set()) for split in SPLITS}
    written = Counter[str](dict.fromkeys((*SPLITS, "repeated_held_out", "over_cap"), 0))
    start = before = 0
    try:
        for part, (pairs, *sizes) in enumerate(counts.tolist()):
            open_splits = [split for split in SPLITS[1:] if not job and shards[split].count < rooms[split]]
            if before < last and before + sizes[0] > first:
                open_splits.append("train")
            wanted = [split for split in open_splits if sizes[SPLITS.index(split)]]
            for split, lines in _ordered(spools, part, chosen, start, wanted).items():
                room = rooms[split] - shards[split].count
                if split == "train":
                    lines = lines[max(first - before, 0) :]
                else:
                    lines, repeats = _distinct(lines, room, *seen[split])
                    written["repeated_held_out"] += repeats
                shards[split].write(lines[:room])
                written[split] += len(lines[:room])
            start, before = start + pairs, before + sizes[0]
    finally:
        for writer in shards.values():
            writer.close()
    if not job:
        written["over_cap"] = int(counts[:, 1:].sum()) - trained - written.total() + written["train"]
    return written


def _rows(spools: Sequence[PairSpool], part: int) -> np.ndarray:
    return np.frombuffer(b"".join([spool.rows.read(part) for spool in spools]), ROW)


def _lines(spools: Sequence[PairSpool], part: int) -> list[bytes]:
    return b"".join([spool.lines.read(part) for spool in spools]).split(b"\n")[:-1]


def _ordered(
    spools: Sequence[PairSpool], part: int, chosen: Path, start: int, splits: Sequence[Split]
) -> dict[Split, list[bytes]]:
    """The lines of a part that stay, by split, in the order of the hash; `start` is the part's first pair."""
    if not splits:
        return {}
    rows = _rows(spools, part)
    lines = b"".join([spool.lines.take(part) for spool in spools]).split(b"\n")[:-1]
    stay = np.flatnonzero(np.fromfile(chosen / KEPT, bool, len(rows), offset=start))
    columns = rows["order"][stay].tolist(), rows["split"][stay].tolist()
    ordered = sorted(zip(*columns, [lines[row] for row in stay.tolist()], strict=True))
    numbers = {split: SPLITS.index(split) for split in splits}
    return {
        split: [line for _, its_split, line in ordered if its_split == number]
        for split, number in numbers.items()
    }


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
