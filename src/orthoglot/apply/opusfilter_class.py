"""A model as a filter class of OpusFilter (Aulamo et al., ACL 2020), which imports this module; see docs/mine.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from opusfilter import CLEAN_HIGH, FilterABC
from opusfilter.util import grouper

from orthoglot.apply.model import Model
from orthoglot.apply.score import LEAST, score
from orthoglot.errors import ConfigError

Pair = Sequence[str]
# Pairs that are scored together, as many as OpusFilter's pipeline gives; their languages are learnt from the first.
CHUNK = 100_000


class MeaningFilter(FilterABC):
    """Keeps what `orthoglot filter` keeps: translations that score well and have no flag but a guess.

    Args:
        threshold: The least score of a pair that is accepted, above -1.
        model: A folder, see `orthoglot.load`, relative to `workdir`; the ready model if not given.
        languages: Codes of both sides, where the model or the identifier needs them.
        identify: Whether the language identifier is asked.
        device: "auto", "cpu", "cuda".
        name, workdir: See OpusFilter.
    Raises:
        ConfigError: no such model; a threshold that a pair with a flag reaches.
    """

    score_direction = CLEAN_HIGH
    accept_threshold = LEAST
    reject_threshold = 1 + 1e-6

    def __init__(
        self,
        threshold: float,
        model: str | None = None,
        languages: tuple[str | None, str | None] = (None, None),
        identify: bool = True,
        device: str = "auto",
        name: str | None = None,
        workdir: str = "",
    ) -> None:
        super().__init__(name=name, workdir=workdir)
        # No comparison with NaN is true.
        if not isinstance(threshold, int | float) or not threshold > LEAST:
            raise ConfigError(f"threshold {threshold}: give a number above -1, which pairs with a flag have")
        self.threshold = threshold
        self.source, self.target = languages
        self.identify = identify
        self.model = Model.load(model and Path(workdir, model), device)

    def score(self, pairs: Iterable[Pair]) -> Iterator[float]:
        """The cosine of the meaning parts of each pair; -1 with a flag that is no guess, a blank side among them."""
        for chunk in grouper(pairs, CHUNK):
            both = [(source, target) for source, target in chunk]
            for scored in score(self.model, both, (self.source, self.target), identify=self.identify):
                yield LEAST if scored.score is None or scored.fault else scored.score

    def accept(self, score: float) -> bool:
        """Whether the score is the threshold or more."""
        return score >= self.threshold

    def filter(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """The accepted pairs; OpusFilter's own method would score them one by one."""
        return self._accepted(pairs, True)

    def filterfalse(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """The others."""
        return self._accepted(pairs, False)

    def _accepted(self, pairs: Iterable[Pair], accepted: bool) -> Iterator[Pair]:
        for chunk in grouper(pairs, CHUNK):
            decisions = zip(chunk, self.decisions(chunk), strict=True)
            yield from (pair for pair, decision in decisions if decision == accepted)
