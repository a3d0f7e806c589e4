"""What ORACLE and SEED claim about the direction of an effect, held against the records of a run.

A claim is tested case by case (encoder, data set, method). Each case is a quantity with an interval and a
region in which it must lie. Inside the region: holds; outside: does not hold; on its edge, or the seeds disagree:
undecided. Source: methods 8.5.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from orthoglot.papers.published_tables import CHECKPOINTS, printed_name
from orthoglot.papers.verdicts import (
    APART,
    FAILS,
    HOLDS,
    NEGATIVE,
    PAIRED,
    POSITIVE,
    UNDECIDED,
    UNTESTABLE,
    Case,
    Region,
    apart_case,
    paired_case,
)
from orthoglot.statistics.comparisons import ORIGINAL, RELEASED, host_of
from orthoglot.statistics.lookup import Measured, Name, Number, paired
from orthoglot.statistics.records import P_AT_1, Record

RETRIEVAL = ("heldout", "tatoeba", "code-switched")
SEED_RIVALS = (ORIGINAL, "centering", "dream", "meat")
SEED_LOSSES = ("seed-without-meaning", "seed-without-language", "seed-without-consistency")
MEANING_RANGE = 1.3


class Claim(NamedTuple):
    """One directional claim.

    Attributes:
        paper: one of `Paper` or of `ABLATION_PAPERS`.
        text: the claim.
        evidence: where the paper shows it.
        encoders: that it is made about, by the paper's name; empty for every encoder.
        verdict: over the cases on those encoders: holds if all do, fails if one does.
        reason: why it is not testable, or the count of verdicts.
        cases: all cases, those on other encoders too.
    """

    paper: str
    text: str
    evidence: str
    encoders: tuple[str, ...]
    verdict: str
    reason: str
    cases: list[Case]


Cases = Callable[[Measured], Iterator[Case]]


def claims(records: Sequence[Record]) -> list[Claim]:
    """Every directional claim of ORACLE and SEED with what these records say to it."""
    measured = Measured(records)
    return [
        judged(paper, text, evidence, encoders, list(cases(measured)))
        for paper, text, evidence, encoders, cases in CLAIMS
    ]


def judged(paper: str, text: str, evidence: str, encoders: tuple[str, ...], cases: list[Case]) -> Claim:
    """A claim with the verdict of its cases; `encoders` and the rest as in `Claim`."""
    about = {here for name in encoders for here in CHECKPOINTS[name]}
    meant = [case for case in cases if not encoders or case.encoder in about]
    verdicts = [case.verdict for case in meant if case.verdict != UNTESTABLE]
    if not verdicts:
        reason = _untested(encoders, cases, meant)
        return Claim(paper, text, evidence, encoders, UNTESTABLE, reason, cases)
    verdict = FAILS if FAILS in verdicts else UNDECIDED if UNDECIDED in verdicts else HOLDS
    counts = Counter(case.verdict for case in meant)
    told = [f"{one} {counts[one]}" for one in (HOLDS, FAILS, UNDECIDED, UNTESTABLE) if counts[one]]
    return Claim(paper, text, evidence, encoders, verdict, f"of {len(meant)} cases: {', '.join(told)}", cases)


def _untested(encoders: tuple[str, ...], cases: list[Case], meant: list[Case]) -> str:
    if meant:
        return meant[0].how
    if cases:
        return f"made about {', '.join(encoders)}, not in this run; the cases are on other encoders"
    return "the methods or the data that it needs are not in this run"


def _level(
    measured: Measured,
    encoder: str,
    method: str,
    view: str,
    task: str,
    dataset: str,
    metric: str = P_AT_1,
) -> Number | None:
    name = "sentence" if method == ORIGINAL else view
    return measured.mean(Name(encoder, method, name, task, dataset, metric))


def _sets(measured: Measured, tasks: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(task, data set) of the run; a direction can be tested on other data than the paper's."""
    for task in tasks:
        for dataset in measured.datasets(task):
            yield task, dataset


def _hosted(measured: Measured, tasks: Sequence[str]) -> Iterator[tuple[str, str, str, str, str]]:
    for encoder in measured.encoders:
        methods = measured.methods_of(encoder)
        for task, dataset in _sets(measured, tasks):
            for method in methods:
                if host := host_of(method, methods):
                    yield encoder, task, dataset, host, method


def leakage_ratio(measured: Measured) -> Iterator[Case]:
    """Accuracy of the host's language view over that with ORACLE.

    The interval takes the extremes of h / (h + d) over the intervals of the host h and of the paired difference
    d; without a paired difference, those of h / o over the intervals of both. Both are 95 % intervals, so it covers
    the ratio of the true means at least 90 % of the time. Nothing can halve a host that chance alone
    keeps above its half.
    """
    for encoder, task, dataset, host, method in _hosted(measured, RETRIEVAL):
        before = _level(measured, encoder, host, "language", task, dataset)
        after = _level(measured, encoder, method, "language", task, dataset)
        if before is None or after is None:
            continue
        quantity = f"{host} / {method}, language view"
        data = f"{task} {dataset}"
        if before.value <= 2 * (before.chance or 0.0):
            how = f"chance ({before.chance or 0.0:.2f}) is half of {host}'s {before.value:.2f} or more"
            yield Case(encoder, data, quantity, None, None, None, (), UNTESTABLE, how)
            continue
        change = measured.difference(Name(encoder, method, "language", task, dataset, P_AT_1), host)
        low, high = _ratio(before, after, change)
        seeds = tuple(_over(mine, other) for mine, other in paired(before, after).values())
        verdict = Region(least=2.0).verdict(low, high, seeds)
        how = f"{before.value:.2f} / {after.value:.2f}; {PAIRED if change else APART}; at least 90 %"
        yield Case(encoder, data, quantity, _over(before.value, after.value), low, high, seeds, verdict, how)


def _ratio(before: Number, after: Number, change: Number | None) -> tuple[float | None, float | None]:
    if before.low is None or before.high is None:
        return None, None
    if change is not None and change.low is not None and change.high is not None:
        hosts, changes = (before.low, before.high), (change.low, change.high)
        found = [_over(host, max(host + by, 0.0)) for host in hosts for by in changes]
        return min(found), max(found)
    if after.low is None or after.high is None:
        return None, None
    return _over(before.low, after.high), _over(before.high, after.low)


def _over(above: float, below: float) -> float:
    return above / below if below > 0 else math.inf


def meaning_moves_little(measured: Measured) -> Iterator[Case]:
    """Difference of the meaning view with ORACLE to its host, in points."""
    for encoder, task, dataset, host, method in _hosted(measured, RETRIEVAL):
        name = Name(encoder, method, "meaning", task, dataset, P_AT_1)
        found = measured.difference(name, host)
        if found is not None:
            region = Region(-MEANING_RANGE, MEANING_RANGE)
            yield paired_case(found, encoder, f"{task} {dataset}", f"{method} − {host}, meaning view", region)


def sts_toward_zero(measured: Measured) -> Iterator[Case]:
    """|Spearman| of the host's language view minus that with ORACLE; the host's is taken as fixed."""
    for encoder, task, dataset, host, method in _hosted(measured, ("sts",)):
        before = _level(measured, encoder, host, "language", task, dataset, "spearman")
        after = _level(measured, encoder, method, "language", task, dataset, "spearman")
        name = Name(encoder, method, "language", task, dataset, "spearman")
        change = measured.difference(name, host)
        if before is None or after is None:
            continue
        value = abs(before.value) - abs(after.value)
        low = high = None
        if change is not None and change.low is not None and change.high is not None:
            ends = before.value + change.low, before.value + change.high
            nearest = 0.0 if ends[0] <= 0 <= ends[1] else min(map(abs, ends))
            low, high = abs(before.value) - max(map(abs, ends)), abs(before.value) - nearest
        seeds = tuple(abs(mine) - abs(other) for mine, other in paired(before, after).values())
        how = f"from {before.value:+.1f} to {after.value:+.1f}; {PAIRED}, host fixed"
        quantity = f"|{host}| − |{method}|, language view, Spearman x 100"
        verdict = POSITIVE.verdict(low, high, seeds)
        yield Case(encoder, f"{task} {dataset}", quantity, value, low, high, seeds, verdict, how)


def intra_class_matters_more(measured: Measured) -> Iterator[Case]:
    """Leakage without IC minus leakage without IS."""
    for encoder, full in _ablated(measured):
        for task, dataset in _sets(measured, ("tatoeba",)):
            names = f"{full}-without-ic", f"{full}-without-is"
            yield from _levels_case(measured, encoder, task, dataset, *names, "language", P_AT_1)


def inter_class_serves_meaning(measured: Measured) -> Iterator[Case]:
    """Semantic STS of ORACLE minus that without IS."""
    for encoder, full in _ablated(measured):
        for task, dataset in _sets(measured, ("sts",)):
            names = full, f"{full}-without-is"
            yield from _levels_case(measured, encoder, task, dataset, *names, "meaning", "spearman")


def _ablated(measured: Measured) -> Iterator[tuple[str, str]]:
    for encoder in measured.encoders:
        for method in measured.methods_of(encoder):
            if printed_name(method) == "meat+oracle":
                yield encoder, method


def meat_leaks_more(measured: Measured) -> Iterator[Case]:
    """Leakage of MEAT minus leakage of DREAM."""
    yield from _meat_over_dream(measured, "language")


def meat_means_more(measured: Measured) -> Iterator[Case]:
    """Meaning of MEAT minus meaning of DREAM."""
    yield from _meat_over_dream(measured, "meaning")


def _meat_over_dream(measured: Measured, view: str) -> Iterator[Case]:
    for encoder in measured.encoders:
        for task, dataset in _sets(measured, ("tatoeba",)):
            for dream in ("dream", f"dream{RELEASED}"):
                yield from _levels_case(measured, encoder, task, dataset, "meat", dream, view, P_AT_1)


def every_loss_needed(measured: Measured) -> Iterator[Case]:
    """QE of SEED minus QE without one of its losses."""
    for encoder in measured.encoders:
        for task, dataset in _sets(measured, ("qe",)):
            for less in SEED_LOSSES:
                yield from _levels_case(measured, encoder, task, dataset, "seed", less, "meaning", "pearson")


def meaning_loss_matters_most(measured: Measured) -> Iterator[Case]:
    """QE without another loss minus QE without the meaning loss."""
    worst, *others = SEED_LOSSES
    for encoder in measured.encoders:
        for task, dataset in _sets(measured, ("qe",)):
            for less in others:
                yield from _levels_case(measured, encoder, task, dataset, less, worst, "meaning", "pearson")


def centering_helps_qe(measured: Measured) -> Iterator[Case]:
    """QE with mean centering minus QE of the original."""
    yield from _centering(measured, "qe", POSITIVE)


def centering_hurts_sts(measured: Measured) -> Iterator[Case]:
    """STS with mean centering minus STS of the original, cross-lingual tracks."""
    yield from _centering(measured, "sts", NEGATIVE)


def _centering(measured: Measured, task: str, region: Region) -> Iterator[Case]:
    for encoder in measured.encoders:
        for _, dataset in _sets(measured, (task,)):
            cross = _cross_lingual(measured, task, dataset)
            name = Name(encoder, "centering", "meaning", task, dataset, "pearson")
            # The run's paired difference is over all tracks, so it serves where all of them are cross-lingual.
            all_cross = cross == measured.subsets(task, dataset)
            found = measured.difference(name, ORIGINAL) if all_cross else None
            quantity = f"centering − {ORIGINAL}, Pearson x 100, {len(cross)} cross-lingual pairs"
            mine = _across(measured, name, cross)
            other = _across(measured, name._replace(method=ORIGINAL), cross)
            if found is not None:
                yield paired_case(found, encoder, f"{task} {dataset}", quantity, region)
            elif mine is not None and other is not None:
                yield apart_case(mine, other, encoder, f"{task} {dataset}", quantity, region)


def _cross_lingual(measured: Measured, task: str, dataset: str) -> list[str]:
    return [subset for subset in measured.subsets(task, dataset) if len(set(subset.split("-"))) > 1]


def seed_is_best(measured: Measured) -> Iterator[Case]:
    """SEED minus the best of the rivals that the paper has, on cross-lingual pairs as the paper does."""
    for encoder in measured.encoders:
        for task, dataset in _sets(measured, ("qe", "sts")):
            cross = _cross_lingual(measured, task, dataset)
            found = {
                method: number
                for method in ("seed", *SEED_RIVALS)
                if (
                    number := _across(
                        measured, Name(encoder, method, "meaning", task, dataset, "pearson"), cross
                    )
                )
            }
            rivals = [method for method in found if method != "seed"]
            if "seed" in found and rivals:
                best = max(rivals, key=lambda method: found[method].value)
                quantity = f"seed − {best}, Pearson x 100, {len(cross)} cross-lingual pairs"
                yield apart_case(found["seed"], found[best], encoder, f"{task} {dataset}", quantity, POSITIVE)


def _across(measured: Measured, name: Name, subsets: Sequence[str]) -> Number | None:
    view = "sentence" if name.method == ORIGINAL else name.view
    return measured.over([(name._replace(view=view), subset) for subset in subsets])


def _levels_case(
    measured: Measured, encoder: str, task: str, dataset: str, method: str, other: str, view: str, metric: str
) -> Iterator[Case]:
    """The case that `method` is higher than `other`; none where one of them is not there."""
    mine = _level(measured, encoder, method, view, task, dataset, metric)
    theirs = _level(measured, encoder, other, view, task, dataset, metric)
    if mine is not None and theirs is not None:
        quantity = f"{method} − {other}, {view} view, {metric}"
        name = Name(encoder, method, view, task, dataset, metric)
        found = measured.difference(name, other)
        if found is not None:
            yield paired_case(found, encoder, f"{task} {dataset}", quantity, POSITIVE)
        else:
            yield apart_case(mine, theirs, encoder, f"{task} {dataset}", quantity, POSITIVE)


_INSTRUCT = ("me5-large-instruct",)
_E5 = ("me5-base", "me5-large", *_INSTRUCT)
# Paper, claim, evidence, the encoders it is made about (none: every encoder), its cases.
CLAIMS: tuple[tuple[str, str, str, tuple[str, ...], Cases], ...] = (
    ("oracle", "ORACLE cuts language-view retrieval at least to half", "Tables 3, 8, 9", (), leakage_ratio),
    (
        "oracle",
        f"ORACLE moves meaning-view retrieval by at most {MEANING_RANGE} points",
        "Tables 3, 8, 9",
        (),
        meaning_moves_little,
    ),
    ("oracle", "ORACLE moves language-view STS toward 0", "Table 10", (), sts_toward_zero),
    (
        "oracle",
        "Dropping IC leaks more than dropping IS",
        "Table 4",
        ("labse",),
        intra_class_matters_more,
    ),
    ("oracle", "Dropping IS costs semantic STS", "Table 4", ("labse",), inter_class_serves_meaning),
    ("oracle", "MEAT leaks more than DREAM", "Table 9", ("labse",), meat_leaks_more),
    ("oracle", "MEAT has better semantics than DREAM", "Table 9", ("labse",), meat_means_more),
    ("seed", "Every loss of SEED is needed", "Table 5", _INSTRUCT, every_loss_needed),
    ("seed", "Dropping the meaning loss hurts most", "Table 5", _INSTRUCT, meaning_loss_matters_most),
    ("seed", "Mean centering helps QE", "Table 1", _E5, centering_helps_qe),
    ("seed", "Mean centering hurts cross-lingual STS", "Table 4", _E5, centering_hurts_sts),
    ("seed", "SEED has the best average", "Tables 1, 4", _E5, seed_is_best),
)
