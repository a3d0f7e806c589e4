"""Mining by many jobs that share a folder: they encode parts of both texts, search each pair of parts, and merge.

What a job makes is whole when its seal is there: NAME.json, with what it was made of and the SHA-256 of each file. A
job reads nothing without the seal that it expects. It is no receipt: the merge compares the files that it reads, not
the vectors.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from orthoglot.apply.mine import Side
from orthoglot.apply.model import Model
from orthoglot.apply.text_vectors import BLOCK, text_vectors, with_own_mean
from orthoglot.atomic import remove, replacing, reserve
from orthoglot.decomposers import own_mean
from orthoglot.decomposers.base import Decomposer
from orthoglot.errors import DataError
from orthoglot.file_lock import locked
from orthoglot.receipts import digest_of, file_digest
from orthoglot.search.exact_or_cells import limit
from orthoglot.search.neighbours import Nearest
from orthoglot.search.tiles import merged, search_tile
from orthoglot.text.bitext import SIDES, blocks, read_sentences
from orthoglot.text.lines import Lines

Facts = dict[str, Any]
T = TypeVar("T")


class Kept(NamedTuple):
    """The lines of a text that `distinct` keeps, by number from 0; how many lines it has, and blank ones."""

    rows: np.ndarray
    lines: int
    blank: int


class Merged(NamedTuple):
    """Both texts, the neighbours of their sentences, the cosines with these, and how they were searched."""

    sides: tuple[Side, Side]
    found: Nearest
    cosine: Nearest
    facts: Facts


class Shard(NamedTuple):
    """What one job makes.

    Attributes:
        stem: its files begin with it.
        made_of: all that decides their bytes.
        option: of the job's command.
        ends: of its files.
    """

    stem: Path
    made_of: Facts
    option: str
    ends: tuple[str, ...]

    def files(self) -> list[Path]:
        """In the order of `ends`."""
        return [Path(f"{self.stem}{end}") for end in self.ends]


@dataclass(frozen=True)
class Shards:
    """All jobs of one mining.

    Attributes:
        folder: for what they make.
        texts: source and target.
        counts: parts of each.
        made_of: of each text, its digest, and what else decides a vector: model, part, language and partner.
        neighborhood: neighbours of a margin.
        decomposer: the model's, if each text has its own mean (`orthoglot.decomposers.own_mean`).
    """

    folder: Path
    texts: tuple[Path, Path]
    counts: tuple[int, int]
    made_of: tuple[Facts, Facts]
    neighborhood: int
    decomposer: Decomposer | None = None

    @classmethod
    def of(
        cls,
        folder: Path,
        texts: tuple[Path, Path],
        counts: tuple[int, int],
        languages: tuple[str | None, str | None],
        *,
        model: str,
        part: str,
        neighborhood: int,
        decomposer: Decomposer | None = None,
    ) -> Self:
        """Read both texts for their digests."""
        both = zip(texts, languages, reversed(languages), strict=True)
        made_of = [
            {
                "text": file_digest(text),
                "model": model,
                "part": part,
                "language": language,
                "partner": partner,
                "own mean": decomposer is not None,
            }
            for text, language, partner in both
        ]
        return cls(folder, texts, counts, (made_of[0], made_of[1]), neighborhood, decomposer)

    def encode(self, number: int, model: Model) -> None:
        """Write the distinct sentences of a part and their vectors; parts count from 1, those of the source first.

        A job that was killed goes on where it stopped. What else is encoded at once changes a vector by rounding. So a
        part begins where a block of `text_vectors` does: at a multiple of 4,096 distinct sentences.

        Raises:
            DataError: the text has no line with text, or changes meanwhile; a vector is not finite.
        """
        side, part = (0, number - 1) if number <= self.counts[0] else (1, number - 1 - self.counts[0])
        text, shard = self.texts[side], self._part(side, part)
        with _making(shard) as making:
            if not making:
                return
            kept = kept_lines(read_sentences(text))
            if not len(kept.rows):
                raise DataError(f"{text}: no line has text" if kept.lines else f"{text} is empty")
            facts = {"lines": kept.lines, "blank": kept.blank, "distinct": len(kept.rows)}
            start, stop = self._cuts(side, facts)[part : part + 2]
            sentences, places, vectors, sums = shard.files()
            with replacing(sentences) as partial:
                _save(places, _write_lines(partial, read_sentences(text), kept.rows[start:stop]))
            if start < stop:
                how = {key: shard.made_of[key] for key in ("part", "language", "partner")}
                text_vectors(model, Lines(sentences), vectors, block=BLOCK, **how)
            else:
                _save(vectors, np.empty((0, 0), dtype=np.float32))
            stored = np.load(vectors, mmap_mode="r")
            _save(
                sums,
                own_mean.sums(stored, self.decomposer) if self.decomposer and len(stored) else stored[:0],
            )
            if file_digest(text) != shard.made_of["text"]:
                raise DataError(f"{text} has changed while it was read; run the same command again")
            _seal(shard, facts)

    def search(self, number: int, *, device: str, threads: int, memory: float) -> None:
        """Search a part of the source in one of the target; pairs of parts count from 1, row by row.

        The search is exact where the device's search of the whole texts would be; arguments as of
        `orthoglot.search.exact_or_cells.search`.

        Raises:
            DataError: a part is absent, damaged, or of another text or model.
        """
        parts = [self._part(side, part) for side, part in enumerate(divmod(number - 1, self.counts[1]))]
        shard = self._tile(*divmod(number - 1, self.counts[1]))
        with _making(shard) as making:
            if not making:
                return
            n, m = (facts["distinct"] for facts in _read(parts))
            x, y = (np.load(part.files()[2], mmap_mode="r") for part in parts)
            how: Facts = {
                "exact": n * m <= limit(device),
                "device": device,
                "threads": threads,
                "memory": memory,
            }
            with ExitStack() as stack:
                if self.decomposer is not None:
                    x, y = (
                        stack.enter_context(
                            self._centred(side, vectors, Path(f"{shard.stem}.{name}.own-mean.npy"))
                        )
                        for side, (name, vectors) in enumerate(zip(SIDES, (x, y), strict=True))
                    )
                _confirm(parts)
                *entries, facts = search_tile(x, y, self.neighborhood, **how)
            for file, own in zip(shard.files(), entries, strict=True):
                _save(file, own)
            _seal(shard, facts)

    @contextmanager
    def _centred(self, side: int, vectors: np.ndarray, file: Path) -> Iterator[np.ndarray]:
        """Vectors of a part with the mean of their whole text, in a file that is gone afterwards.

        Raises:
            DataError: another part of the text is absent, damaged, or of another text or model.
        """
        assert self.decomposer is not None
        if not len(vectors):
            yield vectors
            return
        parts = [self._part(side, part) for part in range(self.counts[side])]
        parts = [part._replace(ends=part.ends[3:]) for part in parts]
        _read(parts)
        sums = [rows for part in parts if len(rows := np.load(part.files()[0]))]
        _confirm(parts)
        try:
            shift = own_mean.mean_shift(np.concatenate(sums), self.decomposer)
            yield with_own_mean(vectors, self.decomposer, file, shift)
        finally:
            remove(file)

    @contextmanager
    def merge(self) -> Iterator[Merged]:
        """The neighbours in the whole texts, in files that are gone afterwards.

        Raises:
            DataError: a shard is absent, damaged, or of another text, model or neighborhood.
        """
        parts = [[self._part(side, part) for part in range(count)] for side, count in enumerate(self.counts)]
        # Vectors are no longer needed.
        parts = [[part._replace(ends=part.ends[:2]) for part in own] for own in parts]
        tiles = [self._tile(*place) for place in np.ndindex(*self.counts)]
        known = _read([*parts[0], *parts[1], *tiles])
        about = known[0], known[self.counts[0]]
        searches = [facts for facts in known[sum(self.counts) :] if facts]  # without those of empty parts
        exact = all(own["search"] == "exact" for own in searches)
        facts: Facts = {"search": "exact" if exact else "cells", "shards": "x".join(map(str, self.counts))}
        if not exact:
            facts["recall"] = round(float(np.mean([own.get("recall", 1.0) for own in searches])), 4)
        cuts = [self._cuts(side, own) for side, own in enumerate(about)]
        files = [[self.folder / f"merge.{side}.{what}.npy" for what in ("rows", "cosines")] for side in SIDES]
        with locked(self.folder / "merge.lock", self.folder):
            try:
                found, cosine = zip(
                    *(self._neighbours(side, cuts, files[side]) for side in (0, 1)), strict=True
                )
                source, target = (_side(*own) for own in zip(parts, cuts, about, strict=True))
                _confirm([*parts[0], *parts[1], *tiles])
                yield Merged((source, target), Nearest(*found), Nearest(*cosine), facts)
            finally:
                for file in (*files[0], *files[1]):
                    remove(file)

    def _neighbours(
        self, side: int, cuts: Sequence[Sequence[int]], files: Sequence[Path]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The neighbours of all sentences of a side and their cosines, mapped from two files."""
        shape = cuts[side][-1], min(self.neighborhood, cuts[1 - side][-1])
        for file in files:
            remove(file)  # of a merge that was killed
        found, cosine = (
            np.lib.format.open_memmap(file, "w+", dtype, shape)
            for file, dtype in zip(files, (np.int64, np.float64), strict=True)
        )
        for file in files:
            reserve(file)
        for part, start in enumerate(cuts[side][:-1]):
            places = [(part, other) if side == 0 else (other, part) for other in range(self.counts[1 - side])]
            tiles = [np.load(self._tile(*place).files()[side], mmap_mode="r") for place in places]
            for numbers, values in merged(tiles, cuts[1 - side][:-1], cuts[side][part + 1] - start, shape[1]):
                found[start : start + len(numbers)], cosine[start : start + len(numbers)] = numbers, values
                start += len(numbers)
        return found, cosine

    def _part(self, side: int, part: int) -> Shard:
        stem = self.folder / f"{SIDES[side]}-{part + 1}-of-{self.counts[side]}"
        option = f"--encode {part + 1 + side * self.counts[0]}"
        return Shard(stem, self.made_of[side], option, (".txt", ".places.npy", ".npy", ".sums.npy"))

    def _tile(self, source: int, target: int) -> Shard:
        number = source * self.counts[1] + target + 1
        stem = self.folder / f"search-{number}-of-{self.counts[0]}x{self.counts[1]}"
        both = zip(SIDES, self.made_of, strict=True)
        made_of = {f"{side} {key}": value for side, own in both for key, value in own.items()}
        made_of["neighborhood"] = self.neighborhood
        return Shard(stem, made_of, f"--search {number}", tuple(f".{side}.npy" for side in SIDES))

    def _cuts(self, side: int, about: Facts) -> list[int]:
        """The first sentence of each part of a text, and the end."""
        count, parts = about["distinct"], self.counts[side]
        whole = -(-count // BLOCK)
        return [min(count, part * whole // parts * BLOCK) for part in range(parts + 1)]


def kept_lines(lines: Iterable[str]) -> Kept:
    """The same as `distinct` in 50 bytes a line: sentences are compared by 128 bits of BLAKE2b."""
    digests, total, blank = bytearray(), 0, 0
    for block in blocks(iter(lines)):
        texts = [line.strip() for line in block]
        digests += b"".join([blake2b(text.encode(), digest_size=16).digest() for text in texts])
        total, blank = total + len(texts), blank + texts.count("")
    values, rows = np.unique(np.frombuffer(digests, dtype="S16"), return_index=True)
    return Kept(np.sort(rows[values != np.bytes_(blake2b(digest_size=16).digest())]), total, blank)


def _write_lines(path: Path, lines: Iterable[str], rows: np.ndarray) -> np.ndarray:
    """Write numbered lines without white space at their ends; number from 1 and first byte of each, and the end."""
    places = np.zeros((len(rows) + 1, 2), dtype=np.int64)
    with path.open("wb") as file:
        wanted, done = map(int, rows), 0
        number = next(wanted, -1)
        for row, line in enumerate(lines if len(rows) else ()):
            if row == number:
                places[done] = row + 1, file.tell()
                file.write(f"{line.strip()}\n".encode())
                done, number = done + 1, next(wanted, -1)
        places[-1, 1] = file.tell()
    return places


class _Rows(Sequence[T]):
    """What each part has of its rows, by their numbers in the whole text."""

    def __init__(self, cuts: Sequence[int], of_part: Callable[[int, int], T]) -> None:
        self._cuts, self._of_part = cuts, of_part

    def __len__(self) -> int:
        return self._cuts[-1]

    def __getitem__(self, row: Any) -> Any:
        part = bisect_right(self._cuts, row) - 1
        return self._of_part(part, row - self._cuts[part])


def _side(parts: Sequence[Shard], cuts: Sequence[int], about: Facts) -> Side:
    """A text, of which each sentence is read where it is asked for."""
    texts, places = [], []
    for part in parts:
        text, place = part.files()
        places.append(np.load(place, mmap_mode="r"))
        texts.append(np.memmap(text, np.uint8, "r") if text.stat().st_size else b"")

    def sentence(part: int, row: int) -> str:
        start, stop = places[part][row : row + 2, 1]
        return bytes(texts[part][start : stop - 1]).decode()

    lines = _Rows(cuts, lambda part, row: int(places[part][row, 0]))
    return Side(_Rows(cuts, sentence), lines, about["lines"], about["blank"])


@contextmanager
def _making(shard: Shard) -> Iterator[bool]:
    """Whether a shard is to be made: it is not there whole, and no other process makes it."""
    with locked(Path(f"{shard.stem}.lock"), shard.stem):
        seal = Path(f"{shard.stem}.json")
        wanted = _fault(shard) is not None
        if wanted and seal.exists():
            # Damaged, or made of something else: nothing is kept, nor taken up.
            for file in (seal, *shard.files(), Path(f"{shard.stem}.npy.json")):
                remove(file)
        yield wanted


def _seal(shard: Shard, facts: Facts) -> None:
    """State that a shard is whole; call it last."""
    content: Facts = {
        "made_of": shard.made_of,
        "facts": facts,
        "files": {file.name: file_digest(file) for file in shard.files()},
    }
    content["sha256"] = digest_of(content)
    with replacing(Path(f"{shard.stem}.json")) as partial:
        partial.write_text(json.dumps(content, indent=1), encoding="utf-8")


def _stated(shard: Shard) -> Facts | str:
    """What the seal of a shard states; why it cannot be read, or is of something else."""
    seal = Path(f"{shard.stem}.json")
    for file in (seal, *shard.files()):
        if file.is_dir():
            return f"{file.name} is a folder in the place of a file; remove it with rm -r {file}"
    try:
        sealed = json.loads(seal.read_bytes())
    except OSError:
        return f"{shard.stem.name} is absent"
    except ValueError:
        return f"{seal.name} is damaged"
    if not isinstance(sealed, dict) or sealed.pop("sha256", None) != digest_of(sealed):
        return f"{seal.name} is damaged"
    others = sorted(key for key in shard.made_of if sealed["made_of"].get(key) != shard.made_of[key])
    return f"{shard.stem.name} was made with another {', '.join(others)}" if others else sealed


def _fault(shard: Shard) -> str | None:
    """Why a shard cannot be read; None for nothing."""
    if isinstance(sealed := _stated(shard), str):
        return sealed
    files = sealed["files"]
    damaged = [file.name for file in shard.files() if files.get(file.name) != file_digest(file)]
    return f"{damaged[0]} is damaged" if damaged else None


def _read(shards: Sequence[Shard]) -> list[Facts]:
    """The facts of shards.

    Raises:
        DataError: some cannot be read; names the jobs to run.
    """
    faults = {shard.option: fault for shard in shards if (fault := _fault(shard))}
    if faults:
        again = ", ".join(faults)
        raise DataError(
            f"{shards[0].stem.parent}: {next(iter(faults.values()))}; first run, or run again: {again}"
        )
    return [json.loads(Path(f"{shard.stem}.json").read_bytes())["facts"] for shard in shards]


def _confirm(shards: Sequence[Shard]) -> None:
    """Refuse files that were opened after `_read` has compared them, and were written anew in between.

    Raises:
        DataError: a seal is no longer there, or is of another text or model.
    """
    for shard in shards:
        if isinstance(fault := _stated(shard), str):
            raise DataError(
                f"{shard.stem.parent}: {fault}: another process uses this folder for other texts or another model; "
                "give one of them another --checkpoint"
            )


def _save(path: Path, array: np.ndarray) -> None:
    with replacing(path) as partial, partial.open("wb") as file:
        np.save(file, array)
