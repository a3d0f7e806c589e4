"""EMS with one thing changed at a time: accuracies over seeds beside the printed ones, and what each change costs.

An interval here is Student's over the seeds' values x: mean(x) ± t(n - 1) sd(x) / sqrt(n). It tells what other seeds
would change; sentences and training text are taken as fixed. A difference to EMS is taken seed by seed, so that its
interval is the paired one. Source: methods 5.6, 8.3 (Table XIV), 8.5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from safetensors import safe_open
from scipy.stats import t as student

from orthoglot.errors import DataError
from orthoglot.evaluation.base import Record, read_records
from orthoglot.evaluation.claims import Claim, judged
from orthoglot.evaluation.comparisons import ORIGINAL
from orthoglot.evaluation.measured import ACCURACY, Measured, Name, Number
from orthoglot.evaluation.papers import REASONS, WHOLE, match
from orthoglot.evaluation.printed import Printed, transcribed
from orthoglot.evaluation.summary import NWAY
from orthoglot.evaluation.verdicts import POSITIVE, UNTESTABLE, Case

PAPER = "ems"
EMS = "ems"
TIME = "time"
RETRIEVAL = ("tatoeba", NWAY, "heldout")
NO_VARIANT = "no variant"
NO_TIME = "no time"
WHY = REASONS | {
    NO_VARIANT: "params.yaml has no such variant",
    NO_TIME: "a trained encoder holds no times, so that the same training gives the same bytes",
}
# The claim, where the paper shows it, and the variants that must be worse than EMS.
CLAIMS = (
    ("XTR with the contrastive objective beats either alone", ("without-contrastive", "without-xtr")),
    ("An output embedding of its own matters", ("shared-output-embedding",)),
    ("The head of the contrastive objective matters", ("without-contrastive-mlp",)),
    ("UGT in place of XTR is worse", ("ugt",)),
    ("LaBSE's objective alone, without a head, is worse", ("labse-ems-vanilla",)),
)


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
    """What one variant scores in one column, printed and measured, alone and less EMS.

    Attributes:
        variant: its name in params.yaml.
        task: and dataset, direction, metric: of the column; the direction is "all" for a data set of this run as a
            whole.
        dataset_here: the run's data set, or several.
        published: the printed number, None where there is none.
        published_difference: the printed number less EMS's.
        measured: over seeds, None where nothing was measured.
        difference: less EMS, seed by seed.
        over: members measured.
        missing: members that were not.
        reason: why nothing was measured, else "".
    """

    variant: str
    task: str
    dataset: str
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


def read_variants(evaluations: Sequence[Path]) -> Measured:
    """Accuracies of folders .../<variant>/seed<k>/<anything>, by variant (as encoder) and seed of the training.

    Raises:
        DataError: a folder that does not say its seed, or holds no accuracy; variants of different seeds.
    """
    groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    seeds: dict[str, set[int]] = defaultdict(set)
    for folder in evaluations:
        variant, number = folder.parents[1].name, folder.parent.name.removeprefix("seed")
        if not number.isdigit():
            raise DataError(f"{folder}: lies in no folder seed<k>, which says the seed of its training")
        seeds[variant].add(int(number))
        found = [r for r in read_records(folder / "records.jsonl") if (r.metric, r.seed) == (ACCURACY, None)]
        if not found:
            raise DataError(f"{folder}: no accuracy")
        for r in found:
            own = replace(r, encoder=variant, seed=int(number), low=None, high=None)
            groups[variant, r.method, r.view, r.task, r.dataset, r.subset].append(own)
    if len({tuple(sorted(some)) for some in seeds.values()}) > 1:
        raise DataError(f"variants were trained with different seeds: {dict(seeds)}")
    means = [
        replace(some[0], seed=None, value=fmean(record.value for record in some)) for some in groups.values()
    ]
    return Measured([record for some in groups.values() for record in some] + means)


def outcomes(measured: Measured, confidence: float) -> list[Outcome]:
    """A row for each variant of the paper and then of the run: the paper's columns, then the run's own data sets."""
    printed = transcribed(PAPER)
    columns = {one.column: one for one in printed if one.encoder == EMS}
    by_place = {(one.encoder, one.column): one for one in printed}
    variants = dict.fromkeys([*(one.encoder for one in printed), *measured.encoders])
    found = []
    for variant in variants:
        for column, like in columns.items():
            one = by_place.get((variant, column), like._replace(encoder=variant, value=""))
            found.append(_outcome(one, like, measured, confidence))
        if variant in measured.encoders:
            found += _whole(variant, measured, confidence)
    return found


def _outcome(one: Printed, ems: Printed, measured: Measured, confidence: float) -> Outcome:
    """A cell of a column of the paper, of which `ems` is the printed number of EMS."""
    blank = Outcome(one.encoder, one.task, one.dataset, one.direction, one.metric, missing=one.members)
    if one.value:
        less = round(float(one.value) - float(ems.value), 6)
        blank = replace(blank, published=float(one.value), published_difference=less)
    if one.task == TIME:
        return replace(blank, reason=NO_TIME)
    if one.encoder not in measured.encoders:
        return replace(blank, reason=NO_VARIANT)
    found = match(one, one.encoder, ORIGINAL, measured)
    blank = replace(blank, dataset_here=found.dataset, reason=found.reason)
    if found.number is None:
        return blank
    missing = tuple(member for member in one.members if member not in found.over)
    blank = replace(blank, over=found.over, missing=missing)
    return _filled(blank, found.number, match(ems, EMS, ORIGINAL, measured).number, confidence)


def _whole(variant: str, measured: Measured, confidence: float) -> Iterator[Outcome]:
    """Each data set of the run, whatever its languages."""
    for task in RETRIEVAL:
        for dataset in measured.datasets(task):
            name = Name(variant, ORIGINAL, "sentence", task, dataset, ACCURACY)
            number = measured.mean(name)
            if number is not None:
                blank = Outcome(variant, task, dataset, WHOLE, ACCURACY, dataset, over=number.subsets)
                yield _filled(blank, number, measured.mean(name._replace(encoder=EMS)), confidence)


def _filled(blank: Outcome, number: Number, ems: Number | None, confidence: float) -> Outcome:
    difference = None
    if ems is not None:
        # Rounded like the records, so that equal scores differ by nothing.
        less = {seed: round(value - ems.by_seed[seed], 6) for seed, value in number.by_seed.items()}
        difference = spread(less, confidence)
    return replace(blank, measured=spread(number.by_seed, confidence), difference=difference)


def ablation_claims(found: Sequence[Outcome], encoder: str, confidence: float) -> list[Claim]:
    """What the paper claims about the parts of EMS, held against whole data sets of the run.

    Args:
        found: outcomes.
        encoder: whose variants these are.
        confidence: of their intervals.
    """
    told = []
    for text, worse in CLAIMS:
        cases = [
            _case(one, encoder, confidence)
            for one in found
            if one.variant in worse and one.direction == WHOLE and one.difference is not None
        ]
        told.append(judged(PAPER, text, "Table XIV", (), cases))
    return told


def _case(one: Outcome, encoder: str, confidence: float) -> Case:
    """EMS less the variant."""
    assert one.difference is not None
    assert one.measured is not None
    data, quantity = f"{one.task} {one.dataset}", f"{EMS} − {one.variant}, accuracy"
    value, high, low = (None if end is None else 0.0 - end for end in one.difference[:3])
    seeds = tuple(0.0 - value for value in one.difference.by_seed.values())
    if not any(seeds):
        how = f"the same score with every seed, {one.measured.value:.2f} on average"
        return Case(encoder, data, quantity, value, low, high, seeds, UNTESTABLE, how)
    how = f"differences by seed, Student's interval over {len(seeds)} seeds ({confidence:.0%})"
    if len(seeds) == 1:
        how = "one seed, which has no interval"
    verdict = POSITIVE.verdict(low, high, seeds)
    return Case(encoder, data, quantity, value, low, high, seeds, verdict, how)


def parameters(folder: Path) -> int | None:
    """How many numbers an encoder's folder holds as weights, None where it has no such file."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        return None
    total = 0
    for path in files:
        with safe_open(path, framework="numpy") as weights:
            total += sum(int(np.prod(weights.get_slice(name).get_shape())) for name in weights.keys())  # noqa: SIM118 - not a dict
    return total
