"""What a run has for a paper: which of its encoders, variants and methods count as the paper's, and their numbers.

Nothing is recognised by the name of an entry in a catalogue. An encoder is recognised by its checkpoint, a method by
how it was trained, a benchmark by its source, all as the records' signatures state them; a variant by its settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from safetensors import safe_open
from scipy.stats import t as student

from orthoglot.errors import DataError
from orthoglot.papers.published import CROSS_LINGUAL, METHODS, P_AT_1, Claim, Definition, Paper
from orthoglot.statistics.comparisons import ORIGINAL
from orthoglot.statistics.lookup import Measured, Name, Number
from orthoglot.statistics.records import ALL, HEAD, LONG_TAIL, Record, read_records

SENTENCE = "sentence"


class Sides(NamedTuple):
    """Two numbers of one claim, subset and metric aside.

    Attributes:
        encoder: whose vectors they are of.
        left: name of the left side, its task, data set and metric aside; and of the right.
        right: see `left`.
        labels: what the two sides are called here.
        counts: whether the paper's claim is about them.
    """

    encoder: str
    left: tuple[str, str, str]
    right: tuple[str, str, str]
    labels: tuple[str, str]
    counts: bool


class Run(ABC):
    """What the tables and claims of a paper ask of a run."""

    paper: Paper
    measured: Measured
    # Why a number of an encoder that is not in the run has no measurement.
    absent: str
    # The languages of which the run's preset has little text.
    long_tail: Collection[str] = ()
    # Numbers of weights, by encoder, where they are known.
    parameters: Mapping[str, int | None] = {}
    # Whether the intervals are over sentences; else they are over the seeds of the encoder's training.
    over_sentences: bool = True

    @abstractmethod
    def encoders_of(self, name: str) -> list[str]:
        """Encoders of the run that count as one of the paper's."""

    @abstractmethod
    def methods_of(self, encoder: str, name: str) -> dict[int, str]:
        """Methods of the run, on one of its encoders, that count as one of the paper's, by reading."""

    @abstractmethod
    def interval(self, number: Number | None) -> Number | None:
        """A number with the interval that the paper's table shows."""

    @abstractmethod
    def difference(self, left: Name, right: Name) -> Number | None:
        """left - right over all subsets, paired; None where the run has no such number."""

    @abstractmethod
    def subtract(self, mine: Number | None, other: Number | None) -> Number | None:
        """mine - other, paired; None where these two numbers alone do not say it."""

    @abstractmethod
    def interval_of(self, number: Number) -> str:
        """Where the interval of a difference comes from, in words."""

    @abstractmethod
    def sides(self, claim: Claim) -> Iterator[Sides]:
        """What of the run is compared for a claim."""

    def name_of(self, encoder: str, names: Collection[str]) -> str:
        """Which of the paper's encoders one of the run counts as, "" for none."""
        return next((name for name in names if encoder in self.encoders_of(name)), "")

    def method_name(self, encoder: str, method: str) -> str:
        """What the papers call a method of the run; its own name where they have none."""
        return next((name for name in METHODS if method in self.methods_of(encoder, name).values()), method)

    def over(self, parts: Sequence[tuple[Name, str]]) -> Number | None:
        """Unweighted mean over some subsets."""
        return self.interval(self.measured.over(parts))

    def level(self, name: Name, subsets: Sequence[str] | None) -> Number | None:
        """Unweighted mean over some subsets of a data set, None for all that it has."""
        if subsets is None:
            return self.interval(self.measured.mean(name))
        return self.over([(name, subset) for subset in subsets])

    def part(self, task: str, dataset: str, languages: str) -> list[str]:
        """Subsets of a data set: "all", "cross-lingual", "head" or "long-tail"."""
        every = self.measured.subsets(task, dataset)
        if languages == CROSS_LINGUAL:
            return [subset for subset in every if len(set(subset.split("-"))) > 1]
        tail = [subset for subset in every if set(subset.split("->")) & set(self.long_tail)]
        head = [subset for subset in every if subset not in tail]
        if languages == ALL:
            return every
        return (tail if languages == LONG_TAIL else head) if tail and head else []

    def parts(self, task: str, dataset: str) -> dict[str, list[str]]:
        """The whole of a data set; where only some directions are of the long tail, those and the others, too."""
        found = {name: self.part(task, dataset, name) for name in (ALL, HEAD, LONG_TAIL)}
        return {name: subsets for name, subsets in found.items() if subsets}


class DecomposerRun(Run):
    """The records of decomposers on frozen encoders; intervals are over sentences."""

    absent = "no encoder"

    def __init__(self, paper: Paper, records: Sequence[Record]) -> None:
        self.paper = paper
        self.measured = Measured(records)

    def encoders_of(self, name: str) -> list[str]:
        """By checkpoint, in the paper's order of checkpoints."""
        wanted = self.paper.encoders[name]
        found = [encoder for encoder in self.measured.encoders if self._checkpoints[encoder] in wanted]
        return sorted(found, key=lambda encoder: wanted.index(self._checkpoints[encoder]))

    def methods_of(self, encoder: str, name: str) -> dict[int, str]:
        """By how they were trained; the printed reading is 0, that of the authors' code 1."""
        here = self._definitions[encoder]
        return {
            reading: method
            for reading, definition in enumerate(METHODS.get(name, ()))
            for method in here
            if here[method] == definition
        }

    @cached_property
    def _checkpoints(self) -> dict[str, str]:
        return {
            encoder: self.measured.stated("checkpoint", encoder=encoder) for encoder in self.measured.encoders
        }

    @cached_property
    def _definitions(self) -> dict[str, dict[str, Definition]]:
        stated = self.measured.stated
        return {
            encoder: {
                method: Definition(
                    *(stated(fact, encoder=encoder, method=method) for fact in Definition._fields)
                )
                for method in self.measured.methods_of(encoder)
            }
            for encoder in self.measured.encoders
        }

    def interval(self, number: Number | None) -> Number | None:
        """The interval of the records."""
        return number

    def difference(self, left: Name, right: Name) -> Number | None:
        """The records of one side have its difference to the other."""
        found = self.measured.difference(left, right.method)
        if found is None and (other := self.measured.difference(right, left.method)) is not None:
            low, high = (None if end is None else -end for end in (other.high, other.low))
            by_seed = {seed: -value for seed, value in other.by_seed.items()}
            found = other._replace(value=-other.value, low=low, high=high, by_seed=by_seed)
        return found

    def subtract(self, mine: Number | None, other: Number | None) -> None:
        """Two intervals over sentences do not say that of their difference."""

    def interval_of(self, number: Number) -> str:
        """See `Run`."""
        return "paired difference over the same sentences"

    def sides(self, claim: Claim) -> Iterator[Sides]:
        """Each encoder with each pair of methods."""
        meant = {here for name in claim.encoders for here in self.encoders_of(name)}
        for encoder in self.measured.encoders:
            for pair in (*claim.pairs, *claim.further):
                for methods in self._readings(encoder, *pair):
                    views = [SENTENCE if name == ORIGINAL else claim.view for name in pair]
                    left, right = ((encoder, *side) for side in zip(methods, views, strict=True))
                    counts = pair in claim.pairs and (not claim.encoders or encoder in meant)
                    yield Sides(encoder, left, right, methods, counts)

    def _readings(self, encoder: str, left: str, right: str) -> Iterator[tuple[str, str]]:
        """Each reading with the same one of the other side; with each of them where a side has one reading only."""
        one_reading = 1 in (len(METHODS[left]), len(METHODS[right]))
        for reading, mine in self.methods_of(encoder, left).items():
            for another, other in self.methods_of(encoder, right).items():
                if one_reading or reading == another:
                    yield mine, other


class VariantRun(Run):
    """Variants of an encoder, each trained with several seeds; intervals are Student's over these.

    mean(x) ± t(n - 1) sd(x) / sqrt(n) of the n seeds' values x says what other seeds would change; sentences and
    training text are taken as fixed. A difference of two variants is taken seed by seed. Source: methods 8.5.
    """

    absent = "no variant"
    over_sentences = False

    def __init__(
        self,
        paper: Paper,
        evaluations: Sequence[Path],
        encoders: Sequence[Path] = (),
        *,
        encoder: str,
        variants: Mapping[str, Mapping[str, Any]],
        long_tail: Collection[str],
        confidence: float,
    ) -> None:
        """Read P@1 of folders .../<variant>/seed<k>/<anything>.

        Args:
            paper: one of `ENCODER_PAPERS`.
            evaluations: such folders with records.jsonl.
            encoders: such folders with the encoders.
            encoder: whose variants these are.
            variants: the settings that each variant changes, by its name here.
            long_tail: languages of which there is little text.
            confidence: of the intervals over seeds.
        Raises:
            DataError: a folder that does not say its seed, or holds no P@1; variants of different seeds.
        """
        self.paper, self.encoder, self.variants = paper, encoder, variants
        self.long_tail, self.confidence = long_tail, confidence
        self.measured = _by_variant(evaluations)
        self.parameters = {folder.parents[1].name: parameters(folder) for folder in encoders}

    def encoders_of(self, name: str) -> list[str]:
        """By the settings that they change."""
        wanted = self.paper.variants[name].changes if name in self.paper.variants else None
        return [here for here in self.measured.encoders if self.variants.get(here) == wanted]

    def methods_of(self, encoder: str, name: str) -> dict[int, str]:
        """The encoder's own vectors alone."""
        return {0: ORIGINAL} if name == ORIGINAL else {}

    def interval(self, number: Number | None) -> Number | None:
        """Student's interval over the seeds; none of one seed."""
        return number and self._over_seeds(number, number.by_seed)

    def difference(self, left: Name, right: Name) -> Number | None:
        """Seed by seed."""
        return self.subtract(self.measured.mean(left), self.measured.mean(right))

    def subtract(self, mine: Number | None, other: Number | None) -> Number | None:
        """mine - other, seed by seed; rounded like the records, so that equal scores differ by nothing."""
        if mine is None or other is None:
            return None
        less = {seed: round(value - other.by_seed[seed], 6) + 0.0 for seed, value in mine.by_seed.items()}
        return self._over_seeds(mine, less)

    def sides(self, claim: Claim) -> Iterator[Sides]:
        """The variants of each pair."""
        for pair in claim.pairs:
            for left, right in product(*map(self.encoders_of, pair)):
                mine, other = (left, ORIGINAL, SENTENCE), (right, ORIGINAL, SENTENCE)
                yield Sides(self.encoder, mine, other, (left, right), True)

    def interval_of(self, number: Number) -> str:
        """See `Run`."""
        seeds = len(number.by_seed)
        if seeds == 1:
            return "one seed, which has no interval"
        return f"differences by seed, Student's interval over {seeds} seeds ({self.confidence:.0%})"

    def _over_seeds(self, number: Number, by_seed: dict[int, float]) -> Number:
        values = list(by_seed.values())
        mean, low, high = fmean(values), None, None
        if len(values) > 1:
            quantile = float(student.ppf((1 + self.confidence) / 2, len(values) - 1))
            half = quantile * float(np.std(values, ddof=1)) / len(values) ** 0.5
            low, high = mean - half, mean + half
        return number._replace(value=mean, low=low, high=high, averaged=False, by_seed=by_seed)


def _by_variant(evaluations: Sequence[Path]) -> Measured:
    """P@1 by variant, as encoder, and seed of the training."""
    groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    seeds: dict[str, set[int]] = defaultdict(set)
    for folder in evaluations:
        variant, number = folder.parents[1].name, folder.parent.name.removeprefix("seed")
        if not number.isdigit():
            raise DataError(f"{folder}: lies in no folder seed<k>, which says the seed of its training")
        seeds[variant].add(int(number))
        found = [r for r in read_records(folder / "records.jsonl") if (r.metric, r.seed) == (P_AT_1, None)]
        if not found:
            raise DataError(f"{folder}: no {P_AT_1}")
        for r in found:
            own = replace(r, encoder=variant, seed=int(number), low=None, high=None)
            groups[variant, r.method, r.view, r.task, r.dataset, r.subset].append(own)
    if len({tuple(sorted(some)) for some in seeds.values()}) > 1:
        raise DataError(f"variants were trained with different seeds: {dict(seeds)}")
    means = [
        replace(some[0], seed=None, value=fmean(record.value for record in some)) for some in groups.values()
    ]
    return Measured([record for some in groups.values() for record in some] + means)


def parameters(folder: Path) -> int | None:
    """How many numbers an encoder's vectors need as weights, None where its folder has no such file."""
    files = sorted(folder.rglob("*.safetensors"))
    if not files:
        return None
    total = 0
    for path in files:
        with safe_open(path, framework="numpy") as weights:
            names = [name for name in weights.keys() if not name.startswith("lm_head.")]  # noqa: SIM118 - not a dict
            total += sum(int(np.prod(weights.get_slice(name).get_shape())) for name in names)
    return total
