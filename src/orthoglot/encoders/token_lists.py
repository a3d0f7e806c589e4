"""Token ids of many sentences without padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ragged:
    """Token ids of N sentences without padding."""

    ids: np.ndarray  # the ids of all sentences one after the other (sum of T,) int32
    offsets: np.ndarray  # sentence i is ids[offsets[i] : offsets[i + 1]]; (N + 1,) int64

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """Pack a list of id lists."""
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        ids = np.fromiter((item for row in rows for item in row), dtype=np.int32, count=int(lengths.sum()))
        return cls(ids, _offsets(lengths))

    @classmethod
    def join(cls, parts: Sequence[Ragged]) -> Ragged:
        """All rows of all parts, in order."""
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(np.concatenate([part.ids for part in parts]), _offsets(lengths))

    @property
    def lengths(self) -> np.ndarray:
        """Tokens per sentence (N,)."""
        return np.diff(self.offsets)

    def count(self, token: int | None) -> int:
        """How many of all ids are this one; 0 for None."""
        return 0 if token is None else int(np.count_nonzero(self.ids == token))

    def take(self, rows: np.ndarray) -> Ragged:
        """The given rows, in that order."""
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        offsets = _offsets(lengths)
        positions = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Ragged(self.ids[positions], offsets)

    def surrounded(self, before: Sequence[int], after: Sequence[int]) -> Ragged:
        """The same with these ids before and after every row."""
        more = len(before) + len(after)
        if not more:
            return self
        offsets = self.offsets + more * np.arange(len(self.offsets))
        ids = np.empty(offsets[-1], self.ids.dtype)
        is_own = np.ones(len(ids), dtype=bool)
        for sides, added in ((offsets[:-1], before), (offsets[1:] - len(after), after)):
            for place, added_id in enumerate(added):
                ids[sides + place], is_own[sides + place] = added_id, False
        ids[is_own] = self.ids
        return Ragged(ids, offsets)

    def padded(self, rows: np.ndarray, pad: int) -> np.ndarray:
        """Ids of the given rows (B, T) int64, padded to the longest of them."""
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        steps = np.arange(lengths.max(initial=0))
        keep = steps < lengths[:, None]
        positions = np.where(keep, self.offsets[rows][:, None] + steps, 0)
        ids = self.ids[positions] if self.ids.size else positions
        return np.where(keep, ids, pad).astype(np.int64)


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), lengths.cumsum(dtype=np.int64)])
