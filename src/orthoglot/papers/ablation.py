"""An encoder with one thing changed at a time: accuracies over seeds beside the printed ones, and what each costs.

An interval here is Student's over the seeds' values x: mean(x) ± t(n - 1) sd(x) / sqrt(n). It tells what other seeds
would change; sentences and training text are taken as fixed. A difference of two variants is taken seed by seed, so
that its interval is the paired one. What each paper claims and prints: ablation_papers.py. Source: methods 8.5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from safetensors import safe_open
from scipy.stats import t as student

from orthoglot.errors import DataError
from orthoglot.papers.ablation_claims import ABLATION_PAPERS, Order
from orthoglot.papers.claims import Claim, judged
from orthoglot.papers.comparison import REASONS, WHOLE, match
from orthoglot.papers.published_tables import Printed, transcribed
from orthoglot.papers.verdicts import POSITIVE, UNTESTABLE, Case
from orthoglot.statistics.comparisons import ORIGINAL
from orthoglot.statistics.lookup import Measured, Name, Number
from orthoglot.statistics.records import ALL, HEAD, LONG_TAIL, P_AT_1, Record, read_records
from orthoglot.tasks.registry import NWAY

TIME = "time"
RETRIEVAL = ("tatoeba", NWAY, "heldout")
NO_VARIANT = "no variant"
NO_TIME = "no time"
NO_TUNING = "no fine-tuning"
WHY = REASONS | {
    NO_VARIANT: "params.yaml has no such variant",
    NO_TIME: "a trained encoder holds no times, so that the same training gives the same bytes",
    NO_TUNING: "the paper goes on training the encoder on the task, which is not done here",
}


class Spread(NamedTuple):
    """A mean over seeds; the ends of its interval are None for one seed."""

    value: float
    low: float | None
    high: float | None
    by_seed: dict[int, float]

    @property
    def sign(self) -> int:
        """1 or -1 where the interval and all seeds lie on that side of 0, else 0."""
        if self.low is None or self.high is None:
            return 0
        found = {int(np.sign(value)) for value in (self.low, self.high, *self.by_seed.values())}
        return found.pop() if len(found) == 1 else 0


def spread(by_seed: Mapping[int, float], confidence: float) -> Spread:
    """Mean over seeds with Student's interval."""
    values = list(by_seed.values())
    mean = fmean(values)
    if len(values) == 1:
        return Spread(mean, None, None, dict(by_seed))
    quantile = float(student.ppf((1 + confidence) / 2, len(values) - 1))
    half = quantile * float(np.std(values, ddof=1)) / len(values) ** 0.5
    return Spread(mean, mean - half, mean + half, dict(by_seed))


@dataclass(frozen=True)
class Outcome:
    """What one variant scores in one column, printed and measured, alone and less the paper's own.

    Attributes:
        variant: its name in params.yaml.
        table: of the paper that has this column, "" for a data set of this run.
        task: and dataset, subset, direction, metric: of the column; for a data set of this run the direction is
            "all" and the subset says whether the mean is over "all" its pairs of languages, the "long-tail" or the
            "head".
        dataset_here: the run's data set, or several.
        published: the printed number, None where there is none.
        published_difference: the printed number less the base variant's.
        measured: over seeds, None where nothing was measured.
        difference: less the base variant, seed by seed.
        over: members measured.
        missing: members that were not.
        reason: why nothing was measured, else "".
        note: a known doubt about the printed number.
    """

    variant: str
    table: str
    task: str
    dataset: str
    subset: str
    direction: str
    metric: str
    dataset_here: str = ""
    published: float | None = None
    published_difference: float | None = None
    measured: Spread | None = None
    difference: Spread | None = None
    over: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    reason: str = ""
    note: str = ""


def read_variants(evaluations: Sequence[Path]) -> Measured:
    """Accuracies of folders .../<variant>/seed<k>/<anything>, by variant (as encoder) and seed of the training.

    Raises:
        DataError: a folder that does not say its seed, or holds no P@1; variants of different seeds.
    """
    groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    seeds: dict[str, set[int]] = defaultdict(set)
    for folder in evaluations:
        variant, number = folder.parents[1].name, folder.parent.name.removeprefix("seed")
        if not number.isdigit():
            raise DataError(f"{folder}: lies in no folder seed<k>, which says the seed of its training")
        seeds[variant].add(int(number))
        found = [r for r in read_records(folder / "records.jsonl") if (r.metric, r.seed) == (P_AT_1, None)]
        if not found:
            raise DataError(f"{folder}: no P@1")
        for r in found:
            own = replace(r, encoder=variant, seed=int(number), low=None, high=None)
            groups[variant, r.method, r.view, r.task, r.dataset, r.subset].append(own)
    if len({tuple(sorted(some)) for some in seeds.values()}) > 1:
        raise DataError(f"variants were trained with different seeds: {dict(seeds)}")
    means = [
        replace(some[0], seed=None, value=fmean(record.value for record in some)) for some in groups.values()
    ]
    return Measured([record for some in groups.values() for record in some] + means)


def outcomes(paper: str, measured: Measured, long_tail: Collection[str], confidence: float) -> list[Outcome]:
    """A row for each variant of the paper and then of the run: the paper's columns, then the run's own data sets.

    Args:
        paper: one of `ABLATION_PAPERS`.
        measured: by variant, see `read_variants`.
        long_tail: languages of which there is little text.
        confidence: of the intervals over seeds.
    """
    base = ABLATION_PAPERS[paper].base
    printed = transcribed(paper)
    columns = {one.column: one for one in printed if one.encoder == base}
    by_place = {(one.encoder, one.column): one for one in printed}
    variants = dict.fromkeys([*(one.encoder for one in printed), *measured.encoders])
    found = []
    for variant in variants:
        for column, like in columns.items():
            one = by_place.get((variant, column), like._replace(encoder=variant, value="", note=""))
            found.append(_outcome(one, like, measured, confidence))
        if variant in measured.encoders:
            found += _whole(variant, base, measured, long_tail, confidence)
    return found


def _outcome(one: Printed, base: Printed, measured: Measured, confidence: float) -> Outcome:
    """A cell of a column of the paper, of which `base` is the printed number of the base variant."""
    place = one.encoder, base.table, one.task, one.dataset, one.subset, one.direction, one.metric
    blank = Outcome(*place, missing=one.members, note=one.note)
    if one.value:
        less = round(float(one.value) - float(base.value), 6)
        blank = replace(blank, published=float(one.value), published_difference=less)
    if one.task == TIME:
        return replace(blank, reason=NO_TIME)
    if one.method != ORIGINAL:
        return replace(blank, reason=NO_TUNING)
    if one.encoder not in measured.encoders:
        return replace(blank, reason=NO_VARIANT)
    found = match(one, one.encoder, ORIGINAL, measured)
    blank = replace(blank, dataset_here=found.dataset, reason=found.reason)
    if found.number is None:
        return blank
    missing = tuple(member for member in one.members if member not in found.over)
    blank = replace(blank, over=found.over, missing=missing)
    return _filled(blank, found.number, match(base, base.encoder, ORIGINAL, measured).number, confidence)


def _whole(
    variant: str, base: str, measured: Measured, long_tail: Collection[str], confidence: float
) -> Iterator[Outcome]:
    """Each data set of the run, whatever its languages; where some are of the long tail, these and the others too."""
    for task in RETRIEVAL:
        for dataset in measured.datasets(task):
            name = Name(variant, ORIGINAL, "sentence", task, dataset, P_AT_1)
            for part, subsets in _parts(measured.subsets(task, dataset), long_tail).items():
                mine, other = (
                    measured.over([(one, subset) for subset in subsets])
                    for one in (name, name._replace(encoder=base))
                )
                if mine is not None:
                    place = variant, "", task, dataset, part, WHOLE, P_AT_1
                    blank = Outcome(*place, dataset_here=dataset, over=mine.subsets)
                    yield _filled(blank, mine, other, confidence)


def _parts(subsets: Sequence[str], long_tail: Collection[str]) -> dict[str, list[str]]:
    """All directions of a data set; where some touch the long tail and some do not, these two parts as well."""
    tail = [subset for subset in subsets if set(subset.split("->")) & set(long_tail)]
    head = [subset for subset in subsets if subset not in tail]
    return {ALL: list(subsets), **({HEAD: head, LONG_TAIL: tail} if head and tail else {})}


def _filled(blank: Outcome, number: Number, base: Number | None, confidence: float) -> Outcome:
    difference = spread(_less(number.by_seed, base.by_seed), confidence) if base else None
    return replace(blank, measured=spread(number.by_seed, confidence), difference=difference)


def _less(mine: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    """By seed; rounded like the records, so that equal scores differ by nothing."""
    return {seed: round(value - other[seed], 6) + 0.0 for seed, value in mine.items()}


def ablation_claims(paper: str, found: Sequence[Outcome], encoder: str, confidence: float) -> list[Claim]:
    """What a paper claims about the parts of its encoder, held against whole data sets of the run.

    Args:
        paper: one of `ABLATION_PAPERS`.
        found: outcomes.
        encoder: whose variants these are.
        confidence: of their intervals.
    """
    return [
        judged(paper, order.text, f"Table {order.table}", (), list(_cases(order, found, encoder, confidence)))
        for order in ABLATION_PAPERS[paper].claims
    ]


def _cases(order: Order, found: Sequence[Outcome], encoder: str, confidence: float) -> Iterator[Case]:
    """The better variant less the worse one, on each data set."""
    here = [one for one in found if (one.direction, one.subset) == (WHOLE, order.languages)]
    by_place = {(one.variant, one.task, one.dataset): one.measured for one in here}
    for better, worse in order.pairs:
        for task, dataset in dict.fromkeys((one.task, one.dataset) for one in here):
            mine, other = (by_place.get((variant, task, dataset)) for variant in (better, worse))
            if mine is not None and other is not None:
                data = f"{task} {dataset}" + (f", {order.languages}" if order.languages != ALL else "")
                quantity = f"{better} − {worse}, {P_AT_1}"
                yield _case(mine, other, encoder, data, quantity, confidence)


def _case(mine: Spread, other: Spread, encoder: str, data: str, quantity: str, confidence: float) -> Case:
    value, low, high, by_seed = spread(_less(mine.by_seed, other.by_seed), confidence)
    seeds = tuple(by_seed.values())
    if not any(seeds):
        how = f"the same score with every seed, {other.value:.2f} on average"
        return Case(encoder, data, quantity, value, low, high, seeds, UNTESTABLE, how)
    how = f"differences by seed, Student's interval over {len(seeds)} seeds ({confidence:.0%})"
    if len(seeds) == 1:
        how = "one seed, which has no interval"
    verdict = POSITIVE.verdict(low, high, seeds)
    return Case(encoder, data, quantity, value, low, high, seeds, verdict, how)


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
