"""What a run has for a paper: which of its encoders, variants and methods count as the paper's, and their numbers.

Nothing is recognised by the name of an entry in a catalogue. An encoder is recognised by its checkpoint, or by what its
entry says that it stands for, a method by how it was trained, a benchmark by its source, all as the records state them;
a variant by its settings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import product
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from safetensors import safe_open

from orthoglot.errors import DataError
from orthoglot.statistics.intervals import over_trainings
from orthoglot.statistics.records import ALL, LONG_TAIL, NAMES, Record, read_records
from orthoglot.study.papers.published import (
    CROSS_LINGUAL,
    METHODS,
    P_AT_1,
    SECONDS,
    TIME,
    TRAINING,
    Claim,
    Paper,
)
from orthoglot.study.report.comparisons import ORIGINAL
from orthoglot.study.report.frame import Measured, Name, Number
from orthoglot.study.tasks.examples import Shown
from orthoglot.training.speed import Speed, listed

if TYPE_CHECKING:
    from orthoglot.study.tasks.projections import TextMap

SENTENCE = "sentence"


class Sides(NamedTuple):
    """Two numbers of one claim, subset and metric aside."""

    encoder: str
    left: tuple[str, str, str]  # name of the left side, its task, data set and metric aside; and of the right
    right: tuple[str, str, str]  # see `left`
    labels: tuple[str, str]  # what the two sides are called here
    counts: bool  # whether the paper's claim is about them


@dataclass(eq=False)
class Run:
    """What the tables and claims of a paper ask of a run.

    The intervals of decomposers are those of the records, over sentences. Those of variants are Student's over the
    seeds of the encoder's training: mean(x) ± t(n - 1) sd(x) / sqrt(n) of the n seeds' values x says what other seeds
    would change, and takes sentences and training text as fixed; differences are taken seed by seed. Source:
    docs/papers.md#published-claims.
    """

    paper: Paper
    measured: Measured  # records; of variants by variant, as encoder, and seed of the training
    encoder: str = ""  # the one that `variants` are variants of
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # what each changes
    long_tail: Collection[str] = ()  # languages of which the run's preset has little text
    confidence: float | None = None  # level of intervals over seeds; None for intervals over sentences
    parameters: Mapping[str, int | None] = field(default_factory=dict)  # weights of each variant, if known
    hardware: str = ""  # what the variants were timed on, "" without times
    examples: Sequence[Shown] = ()  # sentences that the run shows
    languages: Sequence[str] = ()  # languages of the sentence pairs
    known: Mapping[str, Sequence[str]] = field(default_factory=dict)  # the languages that each encoder states
    maps: Mapping[str, Mapping[str, TextMap]] = field(default_factory=dict)  # by text and encoder

    @cached_property
    def encoders(self) -> list[str]:
        """The encoders of the run, variants in the order of the paper."""
        known = [here for name in self.paper.variants for here in self.encoders_of(name)]
        return list(dict.fromkeys((*known, *self.measured.encoders)))

    @cache  # noqa: B019 - a run lives as long as the program
    def encoders_of(self, name: str) -> list[str]:
        """Encoders of the run that count as one of the paper's.

        A variant counts by what it changes, another encoder by its checkpoint or its entry's `stands_for`.
        """
        if self.paper.variants:
            variant = self.paper.variants.get(name)
            changes = variant and variant.changes
            return [here for here in self.measured.encoders if self.variants.get(here) == changes]
        same = [
            here
            for checkpoint in self.paper.encoders[name]
            for here in self.measured.names("encoder", checkpoint=checkpoint)
        ]
        for here in self.measured.encoders:
            if name in self.measured.stated("stands_for", encoder=here).split():
                same.append(here)
        return list(dict.fromkeys(same))

    @cache  # noqa: B019
    def methods_of(self, encoder: str, name: str) -> dict[int, str]:
        """Methods of the run that were trained as a method of the papers: 0 as printed, 1 as in the authors' code."""
        return {
            reading: method
            for reading, definition in enumerate(METHODS.get(name, ()))
            for method in self.measured.names("method", encoder=encoder, **definition._asdict())
        }

    def label(self, encoder: str) -> str:
        """What an encoder of the run is called in a table: a variant as in the paper, where it has it."""
        return next((name for name in self.paper.variants if encoder in self.encoders_of(name)), encoder)

    def method_label(self, encoder: str, method: str) -> str:
        """What the papers call a method of the run; its own name where they have none."""
        return next((name for name in METHODS if method in self.methods_of(encoder, name).values()), method)

    def level(self, name: Name, subsets: Sequence[str] | None) -> Number | None:
        """Unweighted mean over some subsets of a data set, None for all that it has."""
        if subsets is None:
            return self._with_interval(self.measured.mean(name))
        return self.over([(name, subset) for subset in subsets])

    def over(self, parts: Sequence[tuple[Name, str]]) -> Number | None:
        """Unweighted mean over some subsets."""
        return self._with_interval(self.measured.over(parts))

    def difference(self, left: Name, right: Name) -> Number | None:
        """left - right over all subsets, paired; None where the run has no such number."""
        if self.confidence is not None:
            return self.subtract(self.measured.mean(left), self.measured.mean(right))
        if (change := self.measured.difference(left, right.method)) is not None:
            return change
        other = self.measured.difference(right, left.method)
        return other and other.divided(-1)

    def subtract(self, mine: Number | None, other: Number | None) -> Number | None:
        """mine - other, seed by seed and rounded like the records; None for intervals over sentences."""
        if self.confidence is None or mine is None or other is None:
            return None
        less = {seed: round(value - other.by_seed[seed], 6) + 0.0 for seed, value in mine.by_seed.items()}
        return self._with_interval(mine._replace(by_seed=less))

    def pairing(self, difference: Number) -> str:
        """Where the interval of a difference comes from, in words."""
        if self.confidence is None:
            return "paired difference over the same sentences"
        if len(difference.by_seed) == 1:
            return "one seed, which has no interval"
        seeds = len(difference.by_seed)
        return f"differences by seed, Student's interval over {seeds} seeds ({self.confidence:.0%})"

    def sides(self, claim: Claim) -> Iterator[Sides]:
        """What is compared for a claim: two methods on an encoder, or two variants."""
        if self.paper.variants:
            for pair in claim.pairs:
                for left, right in product(*map(self.encoders_of, pair)):
                    mine, other = ((name, ORIGINAL, SENTENCE) for name in (left, right))
                    yield Sides(self.encoder, mine, other, (left, right), True)
            return
        meant = {here for name in claim.encoders for here in self.encoders_of(name)}
        for encoder in self.encoders:
            for pair in (*claim.pairs, *claim.further):
                views = [SENTENCE if name == ORIGINAL else claim.view for name in pair]
                for methods in self.readings(encoder, *pair):
                    mine, other = ((encoder, *side) for side in zip(methods, views, strict=True))
                    counts = pair in claim.pairs and (not claim.encoders or encoder in meant)
                    yield Sides(encoder, mine, other, methods, counts)

    def subsets(self, task: str, dataset: str, languages: str) -> list[str]:
        """The subsets of one kind: all, cross-lingual, head or long tail; none of the last two where all are alike."""
        subsets = self.measured.subsets(task, dataset)
        if languages == ALL:
            return subsets
        if languages == CROSS_LINGUAL:
            return [subset for subset in subsets if len(set(subset.split("-"))) > 1]
        tail = [subset for subset in subsets if set(subset.split("->")) & set(self.long_tail)]
        head = [subset for subset in subsets if subset not in tail]
        return (tail if languages == LONG_TAIL else head) if tail and head else []

    def readings(self, encoder: str, left: str, right: str) -> Iterator[tuple[str, str]]:
        """Each reading with the same one of the other side; with each of them where a side has one reading only."""
        one_reading = 1 in (len(METHODS[left]), len(METHODS[right]))
        for reading, mine in self.methods_of(encoder, left).items():
            for another, other in self.methods_of(encoder, right).items():
                if one_reading or reading == another:
                    yield mine, other

    def _with_interval(self, number: Number | None) -> Number | None:
        if number is None or self.confidence is None:
            return number
        values = list(number.by_seed.values())
        mean, low, high = fmean(values), None, None
        if len(values) > 1:
            half = over_trainings(values, self.confidence)
            low, high = mean - half, mean + half
        return number._replace(value=mean, low=low, high=high, averaged=False)


def run_of_variants(
    paper: Paper,
    evaluations: Sequence[Path],
    encoders: Sequence[Path] = (),
    *,
    speeds: Mapping[Path, Speed] = MappingProxyType({}),
    encoder: str,
    variants: Mapping[str, Mapping[str, Any]],
    long_tail: Collection[str],
    confidence: float,
) -> Run:
    """The variants of an encoder by P@1, and by the time of their training; other arguments as in `Run`.

    Args:
        paper: One of `ENCODER_PAPERS`.
        evaluations: Folders .../<variant>/seed<k>/<anything> with records.jsonl.
        encoders: Such folders with the encoders.
        speeds: The speeds of their trainings by folder, where they are known.
    Raises:
        DataError: a folder that does not say its seed, or holds no P@1; variants of different seeds.
    """
    records: list[Record] = []
    seeds: dict[str, set[int]] = defaultdict(set)
    for folder in evaluations:
        variant, number = folder.parents[1].name, folder.parent.name.removeprefix("seed")
        if not number.isdigit():
            raise DataError(f"{folder}: lies in no folder seed<k>, which says the seed of its training")
        seeds[variant].add(int(number))
        scores = [
            replace(record, encoder=variant, seed=int(number), low=None, high=None)
            for record in read_records(folder / "records.jsonl")
            if (record.metric, record.seed) == (P_AT_1, None)
        ]
        if not scores:
            raise DataError(f"{folder}: no {P_AT_1}")
        records += scores
    if len({tuple(sorted(numbers)) for numbers in seeds.values()}) > 1:
        raise DataError(f"variants were trained with different seeds: {dict(seeds)}")
    for folder, speed in speeds.items():
        name = Name(folder.parents[1].name, ORIGINAL, SENTENCE, TIME, TRAINING, SECONDS)
        seed = int(folder.parent.name.removeprefix("seed"))
        records.append(name.record(ALL, seed, speed.seconds_per_1000, speed.steps, {}))
    groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in records:
        groups[attrgetter(*NAMES)(record)].append(record)
    means = [
        replace(group[0], seed=None, value=fmean(record.value for record in group))
        for group in groups.values()
    ]
    timed = [(folder.parents[1].name, speed) for folder, speed in speeds.items()]
    return Run(
        paper,
        Measured(records + means),
        encoder=encoder,
        variants=variants,
        long_tail=long_tail,
        confidence=confidence,
        parameters={folder.parents[1].name: parameters(folder) for folder in encoders},
        hardware=listed(timed) if timed else "",
    )


def parameters(folder: Path) -> int | None:
    """How many weights an encoder's vectors need; None where its folder has no file of weights."""
    files = sorted(folder.rglob("*.safetensors"))
    if not files:
        return None
    total = 0
    for path in files:
        with safe_open(path, framework="numpy") as weights:
            names = [name for name in weights.keys() if not name.startswith("lm_head.")]  # noqa: SIM118 - not a dict
            total += sum(int(np.prod(weights.get_slice(name).get_shape())) for name in names)
    return total
