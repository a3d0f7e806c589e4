"""Tests of what the papers claim about the direction of an effect.

A claim is tested in cases: an encoder on a data set with one pair of methods, or two variants on a data set. A case is
a quantity with an interval, and a region in which it must lie: inside, it holds; outside, it does not; else, or where
the seeds disagree, it is undecided. Cases are counted, and no verdict is drawn from all of them at once: each case errs
with the probability that its interval allows, so that one of many may fail where nothing is wrong. Source:
docs/papers.md#published-claims.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from orthoglot.statistics.records import ALL
from orthoglot.study.papers.matching import SENTENCE, Run, Sides
from orthoglot.study.papers.published import Claim
from orthoglot.study.report.frame import Name, Number, apart, paired
from orthoglot.study.report.table import EMPTY, Cell, Table, number

HOLDS = "holds"
FAILS = "does not hold"
UNDECIDED = "undecided"
UNTESTABLE = "not testable here"
VERDICTS = (HOLDS, FAILS, UNDECIDED, UNTESTABLE)
APART = "ends of two separate intervals, wider than a paired one"


class Quantity(NamedTuple):
    """What a case is decided by."""

    value: float | None  # None where it could not be computed
    low: float | None  # lower end of its interval, None where there is none
    high: float | None  # upper end
    seeds: tuple[float, ...]  # the quantity of each seed
    ground: str  # where the interval comes from, or why there is none
    testable: bool = True  # whether the interval and the seeds can decide anything


class Case(NamedTuple):
    """One test of a claim."""

    encoder: str  # here
    data: str  # task and data set here
    quantity: str  # what was computed, in words
    value: float | None  # see `Quantity`, as low, high and seeds
    low: float | None
    high: float | None
    seeds: tuple[float, ...]
    verdict: str
    ground: str  # how it was decided, or why it could not be
    counts: bool  # whether the claim is made about its encoder and methods

    def row(self) -> dict[str, Any]:
        """The case as plain values, for JSON, which calls the ground "how"."""
        return {"how" if name == "ground" else name: value for name, value in self._asdict().items()}


class Outcome(NamedTuple):
    """A claim with its cases, those that do not count too; `counts` are of the verdicts of those that do."""

    paper: str
    claim: Claim
    cases: tuple[Case, ...]
    counts: Counter[str]

    @property
    def testable(self) -> int:
        """How many cases could be decided one way or the other, or left undecided."""
        return self.counts.total() - self.counts[UNTESTABLE]

    @property
    def verdict(self) -> str:
        """How many cases it holds in, in words."""
        return f"{HOLDS} in {self.counts[HOLDS]} of {self.testable}" if self.testable else UNTESTABLE

    @property
    def reason(self) -> str:
        """The verdicts of all cases that count, or why there is none."""
        if self.testable:
            return ", ".join(f"{name} {self.counts[name]}" for name in VERDICTS if self.counts[name])
        if self.counts:
            return next(case.ground for case in self.cases if case.counts)
        if self.cases and self.claim.encoders:
            encoders = ", ".join(self.claim.encoders)
            return f"made about {encoders}, not in this run; the cases are on other encoders or methods"
        if self.cases:
            return "the cases are on other encoders or methods"
        return "the methods or the data that it needs are not in this run"

    def row(self) -> dict[str, Any]:
        """The outcome as plain values, for JSON."""
        return {
            "paper": self.paper,
            "text": self.claim.text,
            "evidence": self.claim.evidence,
            "encoders": self.claim.encoders,
            "verdict": self.verdict,
            "reason": self.reason,
            "counts": {name: self.counts[name] for name in VERDICTS},
            "cases": [case.row() for case in self.cases],
        }


def evaluate_claims(run: Run) -> list[Outcome]:
    """Every claim of the run's paper with its cases."""
    outcomes = []
    for claim in run.paper.claims:
        cases = tuple(_cases(claim, run))
        counts = Counter(case.verdict for case in cases if case.counts)
        outcomes.append(Outcome(run.paper.name, claim, cases, counts))
    return outcomes


def claim_tables(tested: Sequence[Outcome]) -> list[Table]:
    """A table of all claims, then the cases of each that has any."""
    rows = []
    for outcome in tested:
        tone = ""
        if outcome.testable:
            tone = {outcome.counts[FAILS]: "bad", outcome.counts[HOLDS]: "good"}.get(outcome.testable, "")
        rows.append(
            [
                Cell(outcome.claim.text),
                Cell(outcome.claim.evidence),
                Cell(", ".join(outcome.claim.encoders) or "every encoder"),
                Cell(outcome.verdict, "", tone),
                Cell(outcome.reason),
            ]
        )
    note = (
        "Cases of the encoders and methods that a claim is made about. A case holds if its whole interval (95 % unless "
        "the case says otherwise) and each seed lie in the claimed region, and does not hold if they lie outside. No "
        "verdict is drawn from all cases: where the true value lies on the edge of the region, chance alone makes up "
        "to 2.5 % of the cases hold and 2.5 % not hold (5 % for ratios), whether or not they share sentences: of 24 "
        "cases 0.6 each."
    )
    claims = Table("Claims", note, ["Claim", "Paper's evidence", "Made about", "Here", "Cases"], rows)
    return [claims, *(_case_table(outcome) for outcome in tested if outcome.cases)]


def _case_table(tested: Outcome) -> Table:
    columns = ["Encoder", "Data", "Quantity", "Value", "By seed", "Verdict", "Decided by"]
    note = f"{tested.reason[:1].upper()}{tested.reason[1:]}."
    if not all(case.counts for case in tested.cases):
        note += " The claim is not made about cases in brackets."
    return Table(tested.claim.text, note, columns, [_case_row(case) for case in tested.cases])


def _case_row(case: Case) -> list[Cell]:
    decided = Cell(f"({case.verdict})")
    if case.counts:
        decided = Cell(case.verdict, "", {HOLDS: "good", FAILS: "bad"}.get(case.verdict, ""))
    return [
        Cell(case.encoder),
        Cell(case.data),
        Cell(case.quantity),
        EMPTY if case.value is None else number(case, ".2f"),
        Cell(" ".join(f"{seed:.2f}" for seed in case.seeds) or "–"),
        decided,
        Cell(case.ground),
    ]


def verdict(claim: Claim, low: float | None, high: float | None, seeds: Sequence[float]) -> str:
    """The verdict on an interval and the values by seed; an end on the edge of the claim's region is outside of it."""

    def inside(value: float) -> bool:
        return claim.above < value and (value < claim.below or claim.below == math.inf)

    if low is None or high is None:
        return UNDECIDED
    if all(map(inside, (low, high, *seeds))):
        return HOLDS
    outside = high <= claim.above or low >= claim.below
    return FAILS if outside and not any(map(inside, seeds)) else UNDECIDED


def _cases(claim: Claim, run: Run) -> Iterator[Case]:
    all_sides = list(run.sides(claim))
    for encoder in dict.fromkeys(sides.encoder for sides in all_sides):
        on_encoder = [sides for sides in all_sides if sides.encoder == encoder]
        for task in claim.tasks:
            for dataset in run.measured.datasets(task):
                cases = [case for sides in on_encoder for case in _case(claim, run, sides, task, dataset)]
                if claim.strongest_rival and cases:
                    cases = [max(cases, key=lambda case: case[1].value)]
                yield from (case for case, _ in cases)


def _case(claim: Claim, run: Run, sides: Sides, task: str, dataset: str) -> Iterator[tuple[Case, Number]]:
    """The case of two sides on a data set, if both are there, and its right side."""
    left, right = (Name(*side, task, dataset, claim.metric) for side in (sides.left, sides.right))
    subsets = None if claim.languages == ALL else run.subsets(task, dataset, claim.languages)
    if subsets == []:
        return
    mine, other = (run.level(name, subsets) for name in (left, right))
    if mine is None or other is None:
        return
    # The paired differences of a run are over all of a data set.
    whole = subsets is None or subsets == run.measured.subsets(task, dataset)
    if claim.quantity == "magnitude":
        left, right = (name._replace(metric=f"abs-{claim.metric}") for name in (left, right))
    change = run.difference(left, right) if whole else None
    a, b = sides.labels
    if claim.quantity == "ratio":
        measured, label = _ratio(mine, other, change, sides, run), f"{a} / {b}"
    elif claim.quantity == "magnitude":
        measured, label = _magnitude(mine, other, change, run), f"|{a}| − |{b}|"
    else:
        change = change if whole else run.subtract(mine, other)
        measured, label = _difference(mine, other, change, run), f"{a} − {b}"
    part = "" if subsets is None else f", {len(subsets)} {claim.languages}"
    view = "" if claim.view == SENTENCE else f", {claim.view} view"
    decided = UNTESTABLE
    if measured.testable:
        decided = verdict(claim, measured.low, measured.high, measured.seeds)
    case = Case(
        encoder=sides.encoder,
        data=f"{task} {dataset}{part}",
        quantity=f"{label}{view}, {claim.metric}",
        value=measured.value,
        low=measured.low,
        high=measured.high,
        seeds=measured.seeds,
        verdict=decided,
        ground=measured.ground,
        counts=sides.counts,
    )
    yield case, other


def _difference(mine: Number, other: Number, change: Number | None, run: Run) -> Quantity:
    """Left - right; without a paired difference, between the ends of both intervals."""
    if change is not None:
        seeds = tuple(change.by_seed.values())
        if run.confidence is not None and not any(seeds):
            basis = f"the same score with every seed, {other.value:.2f} on average"
            return Quantity(change.value, change.low, change.high, seeds, basis, False)
        return Quantity(change.value, change.low, change.high, seeds, run.pairing(change))
    seeds = tuple(ours - theirs for ours, theirs in paired(mine.by_seed, other.by_seed).values())
    low, high = apart(mine, other) or (None, None)
    basis = f"{mine.value:.2f} and {other.value:.2f}; {APART}"
    return Quantity(mine.value - other.value, low, high, seeds, basis)


def _magnitude(mine: Number, other: Number, change: Number | None, run: Run) -> Quantity:
    """|left| - |right|, both drawn anew from the same sentences in every draw."""
    seeds = tuple(abs(ours) - abs(theirs) for ours, theirs in paired(mine.by_seed, other.by_seed).values())
    basis = f"from {mine.value:+.1f} to {other.value:+.1f}; "
    if change is None:
        return Quantity(
            abs(mine.value) - abs(other.value), None, None, seeds, basis + "these records do not pair them"
        )
    return Quantity(change.value, change.low, change.high, seeds, basis + run.pairing(change))


def _ratio(before: Number, after: Number, change: Number | None, sides: Sides, run: Run) -> Quantity:
    """Left / right of two P@1.

    The interval takes the extremes of h / (h - d) over the intervals of the left side h and of the paired difference
    d = left - right; without a paired difference, those of h / o over the intervals of both. Both are 95 % intervals,
    so it covers the ratio of the true means at least 90 % of the time. Nothing can halve a number that chance alone
    keeps above its half.
    """
    chance = before.chance or 0.0
    if before.value <= 2 * chance:
        basis = f"chance ({chance:.2f}) is half of {sides.labels[0]}'s {before.value:.2f} or more"
        return Quantity(None, None, None, (), basis, False)
    low = high = None
    if before.ends and change and change.ends:
        ends = [_over(h, max(h - by, 0.0)) for h, by in product(before.ends, change.ends)]
        low, high = min(ends), max(ends)
    elif before.ends and after.ends:
        low, high = _over(before.ends[0], after.ends[1]), _over(before.ends[1], after.ends[0])
    seeds = tuple(_over(mine, other) for mine, other in paired(before.by_seed, after.by_seed).values())
    basis = (
        f"{before.value:.2f} / {after.value:.2f}; {run.pairing(change) if change else APART}; at least 90 %"
    )
    return Quantity(_over(before.value, after.value), low, high, seeds, basis)


def _over(above: float, below: float) -> float:
    return above / below if below > 0 else math.inf
