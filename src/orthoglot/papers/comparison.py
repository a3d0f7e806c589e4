"""Beside each number that ORACLE and SEED printed what a run measured, or why it could not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from orthoglot.papers.published_tables import (
    CHECKPOINTS,
    Printed,
    printed_name,
    printed_over,
    published,
    table_names,
)
from orthoglot.statistics.comparisons import ORIGINAL
from orthoglot.statistics.lookup import Measured, Name, Number
from orthoglot.statistics.records import ALL

# The benchmarks of params.yaml that hold the papers' items. Any held-out split, Tatoeba set or code-switched set
# counts, language by language; other STS and QE data (the STS benchmark, track 4b) and other wide files do not.
_SAME_ITEMS = {
    "sts": ("sts17", "sts17-turkish"),
    "qe": ("wmt20", "mlqe", "mlqe-south-asia"),
    "nway": ("flores", "flores-muse", "flores-low-resource"),
}
# The direction of a mean over all of a data set of this run.
WHOLE = "all"
NO_ENCODER = "no encoder"
NO_METHOD = "no method"
NO_DATA = "no data"
NO_LANGUAGE = "no language"
NO_RECORD = "no record"
REASONS = {
    NO_ENCODER: "its checkpoint is not in this run",
    NO_METHOD: "the method was not run on this encoder",
    NO_DATA: "the data set is not in this run, or held back by its owner",
    NO_LANGUAGE: "the data set is here, but not this language or track",
    NO_RECORD: "the run has this data set, but not this view or metric of it",
}


class Match(NamedTuple):
    """What a run has for a printed number: its own number, the members and data sets of that; or why it has none."""

    number: Number | None = None
    over: tuple[str, ...] = ()
    dataset: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Compared:
    """A cell of a paper's table and what the run says to it; numbers in the paper's scale.

    Attributes:
        paper: and table, encoder, method, view, task, dataset, subset, direction, metric, scale, note: of
            the printed number; a row that the paper does not have has our encoder and method there.
        published: the printed number, None where the paper prints none.
        like: the printed number over `over` alone, where the paper prints each of them.
        encoder_here: our encoder, "" where there is none.
        method_here: our method, in one of its readings.
        dataset_here: the run's data set, or several.
        measured: mean over seeds.
        low: lower end of its interval over sentences.
        high: upper end.
        averaged: the ends are means of the languages' ends, at least as wide as the interval of the mean.
        sd: standard deviation over seeds, None for one seed.
        seeds: how many.
        difference: measured minus `like` or `published`.
        over: members measured.
        missing: members that were not.
        reason: why nothing was measured, else "".
    """

    paper: str
    table: str
    encoder: str
    method: str
    view: str
    task: str
    dataset: str
    subset: str
    direction: str
    metric: str
    scale: str
    published: float | None
    encoder_here: str
    method_here: str
    dataset_here: str = ""
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    averaged: bool = False
    sd: float | None = None
    seeds: int = 0
    like: float | None = None
    difference: float | None = None
    over: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    reason: str = ""
    note: str = ""

    @property
    def like_for_like(self) -> bool:
        """Whether `difference` compares the same languages."""
        return self.difference is not None and (not self.missing or self.like is not None)


def beside(paper: str, measured: Measured) -> list[Compared]:
    """Every printed number beside each of our encoders and methods that it speaks of.

    A method that was run in the printed and in the released reading gives two rows: the published rows of
    ORACLE most likely come from the released one (O1).
    """
    compared = []
    for one in published(paper):
        encoders = [name for name in CHECKPOINTS[one.encoder] if name in measured.encoders] or [""]
        for encoder in encoders:
            run = measured.methods_of(encoder) if encoder else measured.methods
            methods = [name for name in run if printed_name(name) == one.method] or [""]
            compared += [
                _compare(one, encoder, method, measured) for method in (methods if encoder else methods[:1])
            ]
    return compared


def beyond(paper: str, measured: Measured) -> list[Compared]:
    """The columns of a paper's tables for what it has no row for: our encoders, and further methods.

    Each row ends with the mean over the whole of each data set here. What was not measured is left out.
    """
    compared: list[Compared] = []
    for table in table_names(paper):
        rows = [one for one in published(paper) if one.table == table]
        columns = {one.column: one for one in rows}
        views = [view for view in ("meaning", "language") if any(one.view == view for one in rows)]
        known = {(name, one.method) for one in rows for name in CHECKPOINTS[one.encoder]}
        for encoder in measured.encoders:
            for method in measured.methods_of(encoder):
                if (encoder, printed_name(method)) in known:
                    continue
                for view in ["sentence"] if method == ORIGINAL else views:
                    mine = {"encoder": encoder, "method": method, "view": view, "value": "", "note": ""}
                    asked = [one._replace(**mine) for one in columns.values()]
                    compared += [_compare(one, encoder, method, measured) for one in asked]
                    compared += _whole(asked, encoder, method, measured)
    return [one for one in compared if one.measured is not None]


def _whole(asked: Sequence[Printed], encoder: str, method: str, measured: Measured) -> Iterator[Compared]:
    """The mean over all of each data set of the run in these tasks, whatever its languages."""
    for task, metric in dict.fromkeys((one.task, one.metric) for one in asked):
        one = next(one for one in asked if (one.task, one.metric) == (task, metric))
        for dataset in measured.datasets(task):
            found = measured.mean(Name(encoder, method, one.view, task, dataset, metric))
            if found is not None:
                whole = one._replace(dataset=dataset, subset=ALL, direction=WHOLE)
                blank = Compared(**_names(whole), published=None, encoder_here=encoder, method_here=method)
                yield _filled(replace(blank, dataset_here=dataset), whole, found, found.subsets)


def _compare(one: Printed, encoder: str, method: str, measured: Measured) -> Compared:
    blank = Compared(
        **_names(one),
        published=float(one.value) if one.value else None,
        encoder_here=encoder,
        method_here=method if encoder else "",
        missing=one.members,
    )
    if not encoder or not method:
        return replace(blank, reason=NO_METHOD if encoder else NO_ENCODER)
    found = match(one, encoder, method, measured)
    blank = replace(blank, dataset_here=found.dataset, reason=found.reason)
    return blank if found.number is None else _filled(blank, one, found.number, found.over)


def match(one: Printed, encoder: str, method: str, measured: Measured) -> Match:
    """What one of our encoders and methods has for a printed number."""
    if not _datasets(one.task, measured):
        return Match(reason=NO_DATA)
    parts = _parts(one, measured)
    if not parts:
        return Match(reason=NO_LANGUAGE)
    places = [place for some in parts.values() for place in some]
    about = encoder, method, one.view, one.task
    found = measured.over([(Name(*about, dataset, one.metric), subset) for dataset, subset in places])
    datasets = " + ".join(dict.fromkeys(dataset for dataset, _ in places))
    return Match(found, tuple(parts), datasets) if found else Match(dataset=datasets, reason=NO_RECORD)


def _names(one: Printed) -> dict[str, Any]:
    return {field: getattr(one, field) for field in Printed._fields if field != "value"}


def _filled(blank: Compared, one: Printed, found: Number, over: tuple[str, ...]) -> Compared:
    missing = tuple(member for member in blank.missing if member not in over)
    like = printed_over(one, over) if missing and blank.published is not None else None
    against = like if like is not None else blank.published
    measured = found.value / one.unit
    return replace(
        blank,
        measured=measured,
        low=None if found.low is None else found.low / one.unit,
        high=None if found.high is None else found.high / one.unit,
        averaged=found.averaged,
        sd=None if found.sd is None else found.sd / one.unit,
        seeds=len(found.by_seed),
        like=like,
        difference=None if against is None else measured - against,
        over=over,
        missing=missing,
    )


def _parts(one: Printed, measured: Measured) -> dict[str, list[tuple[str, str]]]:
    """{member: its (data set, subset)} for what the run has; the data set with most members comes first."""
    served: list[dict[str, list[tuple[str, str]]]] = []
    for dataset in _datasets(one.task, measured):
        have = set(measured.subsets(one.task, dataset))
        wanted = {member: list(_subsets(one, member, have)) for member in one.members}
        served.append(
            {
                name: [(dataset, subset) for subset in some]
                for name, some in wanted.items()
                if set(some) <= have
            }
        )
    served.sort(key=len, reverse=True)
    places = {member: next((some[member] for some in served if member in some), []) for member in one.members}
    return {member: parts for member, parts in places.items() if parts}


def _datasets(task: str, measured: Measured) -> list[str]:
    return [name for name in measured.datasets(task) if name in _SAME_ITEMS.get(task, (name,))]


def _subsets(one: Printed, member: str, have: set[str]) -> Iterator[str]:
    pivot, foreign = member.split("-")
    if one.direction in ("en->xx", "both"):
        yield f"{pivot}->{foreign}"
    if one.direction in ("xx->en", "both"):
        yield f"{foreign}->{pivot}"
    if not one.direction:
        turned = f"{foreign}-{pivot}"
        # The cosine of two sentences has no direction; a translation's quality has.
        yield turned if one.task == "sts" and turned in have else member
