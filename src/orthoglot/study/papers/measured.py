"""What a run measured for each printed number of a paper, or why it has nothing."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from orthoglot.statistics.records import ALL, HEAD, LONG_TAIL, VIEWS
from orthoglot.study.finetuning.settings import FINE_TUNED
from orthoglot.study.papers.matching import SENTENCE, Run
from orthoglot.study.papers.published import (
    P_AT_1,
    RETRIEVAL,
    TIME,
    Paper,
    Printed,
    printed_mean,
    printed_numbers,
)
from orthoglot.study.report.comparisons import ORIGINAL
from orthoglot.study.report.frame import Name, Number
from orthoglot.study.report.table import EMPTY, Cell

# The direction of a mean over a data set of the run as a whole.
WHOLE = "all"
# Methods that have one view, the sentence vector or what a head makes of it.
WHOLE_VECTORS = (ORIGINAL, FINE_TUNED)
NO_ENCODER = "no encoder"
NO_VARIANT = "no variant"
NO_METHOD = "no method"
NO_TASK = "no task"
NO_DATA = "no data"
NO_LANGUAGE = "no language"
NO_RECORD = "no record"
NO_RUN = "no run"
NO_TIME = "no time"
NO_TUNING = "no fine-tuning"
REASONS = {
    NO_ENCODER: "its checkpoint is not in this run",
    NO_VARIANT: "the settings have no such variant",
    NO_METHOD: "the method was not run on this encoder",
    NO_TASK: "the run has no data of this task",
    NO_DATA: "the data set is not in this run, or held back by its owner",
    NO_LANGUAGE: "the data set is here, but not this language or track",
    NO_RECORD: "the run has this data set, but not this view or metric of it",
    NO_RUN: "no run can have it, as its table says",
    NO_TIME: "its training was not timed, or its logs were removed",
    NO_TUNING: "the task fine-tuning is not in this run, or not on this benchmark",
}


def absent(reason: str) -> Cell:
    """The grey cell of a table for what a run does not have; a key of `REASONS`."""
    return Cell(EMPTY.text, reason, "absent", REASONS[reason])


@dataclass(frozen=True)
class PaperCell:
    """A cell of a paper's table with what the run measured; all numbers are in the paper's scale."""

    printed: Printed  # the cell; one that the paper does not have has no value
    encoder: str  # ours, "" where there is none
    method: str  # ours, in one of its readings
    reason: str = ""  # why nothing was measured, "" where something was
    measured: Number | None = None  # the number
    over: tuple[str, ...] = ()  # the members that it is the mean of
    dataset: str = ""  # ours, several joined by " + "
    candidates: tuple[tuple[int | None, int | None], ...] = ()  # (here, in the paper), one for each subset
    stand_in: str = ""  # the source of the data set if it is not the paper's
    printed_less_base: float | None = None  # a variant's printed number less the base variant's
    less_base: Number | None = None  # a variant's measured number less the base variant's

    @property
    def missing(self) -> tuple[str, ...]:
        """Members that were not measured."""
        if self.printed.direction == WHOLE:
            return ()
        return tuple(member for member in self.printed.members if member not in self.over)

    @property
    def why(self) -> str:
        """The reason in a sentence, "" where something was measured."""
        if self.reason == NO_RUN and self.printed.unmeasured:
            return self.printed.unmeasured
        return REASONS.get(self.reason, "")

    @property
    def like(self) -> float | None:
        """The printed mean over the measured members alone, where the paper prints each of them."""
        if self.measured is None or not self.printed.value or not self.missing:
            return None
        return printed_mean(self.printed, self.over)

    @property
    def difference(self) -> float | None:
        """Measured less printed, over the same members where the paper prints them."""
        against = self.printed.number if self.like is None else self.like
        return None if self.measured is None or against is None else self.measured.value - against

    @property
    def same_candidates(self) -> bool:
        """Whether each query was searched for among as many sentences as in the paper."""
        return self.printed.metric != P_AT_1 or all(
            here is not None and here == there for here, there in self.candidates
        )

    @property
    def like_for_like(self) -> bool:
        """Whether `difference` compares the same languages of the same data, searched among as many candidates."""
        return (
            self.difference is not None
            and self.printed.task != TIME  # measured on other hardware
            and self.same_candidates
            and not self.stand_in
            and (not self.missing or self.like is not None)
        )

    def row(self) -> dict[str, Any]:
        """The cell as plain values, for a file."""
        fields = self.printed._asdict() | {"published": self.printed.number}
        del fields["value"]
        for name, number in (("measured", self.measured), ("less_base", self.less_base)):
            seeds = number.by_seed if number else {}
            fields |= {
                name: number and number.value,
                f"{name}_low": number and number.low,
                f"{name}_high": number and number.high,
                f"{name}_sd": number and number.sd,
                f"{name}_by_seed": [f"{seed}:{round(value, 6)}" for seed, value in seeds.items()],
            }
        here, there = self._candidates
        return fields | {
            "averaged": self.measured is not None and self.measured.averaged,
            "encoder_here": self.encoder,
            "method_here": self.method,
            "dataset_here": self.dataset,
            "candidates": here,
            "published_candidates": there,
            "like": self.like,
            "difference": self.difference,
            "like_for_like": self.like_for_like,
            "published_less_base": self.printed_less_base,
            "over": self.over,
            "missing": self.missing,
            "reason": self.reason,
        }

    def among(self) -> str:
        """How many candidates there are, here and in the paper where that differs; "" where none are stated."""
        here, there = self._candidates
        if not here or self.printed.number is None or self.same_candidates:
            return here and f"among {here}"
        return f"among {here}, paper {there or 'not stated'}"

    @property
    def _candidates(self) -> tuple[str, str]:
        here, there = zip(*self.candidates, strict=True) if self.candidates else ((), ())
        return _range(here), _range(there)


def _range(counts: Sequence[int | None]) -> str:
    stated = [count for count in counts if count is not None]
    if not stated or len(stated) < len(counts):
        return ""
    low, high = min(stated), max(stated)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def cells(run: Run) -> list[PaperCell]:
    """Every printed number with each encoder and method of the run that counts as what it is about.

    A method that was run in the printed and in the released reading gives two cells: the published rows of ORACLE most
    likely come from the released one (docs/papers.md#oracle-inter-class). An ablation has a cell for each variant and
    column.
    """
    filled = []
    for printed in _grid(run.paper):
        for encoder in run.encoders_of(printed.encoder) or [""]:
            methods = run.methods_of(encoder, printed.method).values() if encoder else ()
            filled += [_cell(printed, encoder, method, run) for method in methods or [""]]
    return filled


def further_cells(run: Run) -> list[PaperCell]:
    """What was measured in the columns of a paper's tables on encoders, methods and variants that it does not have.

    A suite also has what was not measured, where any other column of the table was.
    """
    filled: list[PaperCell] = []
    for table in run.paper.tables:
        rows = [entry for entry in _grid(run.paper) if entry.table == table]
        columns = {entry.column: entry for entry in rows}
        views = {SENTENCE, *(entry.view for entry in rows)}
        known = {(here, entry.method) for entry in rows for here in run.encoders_of(entry.encoder)}
        # An encoder that is called as the paper calls it stands in the paper's row.
        same = {
            (entry.encoder, entry.method, entry.column)
            for entry in rows
            if entry.encoder in run.encoders_of(entry.encoder)
        }
        for encoder, method, view in _rows(run):
            name = run.method_label(encoder, method)
            if not run.paper.suite and ((encoder, name) in known or view not in views):
                continue
            cells_of_row = [
                _cell(_blank(entry, encoder, method, view, run), encoder, method, run)
                for entry in columns.values()
                if (encoder, name, entry.column) not in same
            ]
            measured = [cell for cell in cells_of_row if cell.measured is not None]
            filled += cells_of_row if measured and run.paper.suite else measured
    return filled


def whole_cells(run: Run) -> list[PaperCell]:
    """Each data set of the run over all its languages, and over the long tail and the others alone."""
    columns: dict[tuple[str, str], Printed] = {}
    for entry in printed_numbers(run.paper.name):
        if entry.method != FINE_TUNED or run.paper.suite:
            columns.setdefault((entry.task, entry.metric), entry)
    if run.paper.variants:
        first = printed_numbers(run.paper.name)[0]._replace(metric=P_AT_1, scale="0..100")
        columns = {(task, P_AT_1): first._replace(task=task) for task in RETRIEVAL}
    filled = []
    for (encoder, method, view), column in product(_rows(run), columns.values()):
        for dataset, part in product(run.measured.datasets(column.task), (ALL, HEAD, LONG_TAIL)):
            subsets = run.subsets(column.task, dataset, part)
            name = Name(encoder, method, view, column.task, dataset, column.metric)
            number = run.level(name, None if part == ALL else subsets) if subsets else None
            if number is None:
                continue
            printed = _blank(column, encoder, method, view, run)
            printed = printed._replace(table="", dataset=dataset, subset=part, direction=WHOLE)
            cell = PaperCell(
                printed,
                encoder,
                method,
                measured=number.divided(printed.unit),
                over=number.subsets,
                dataset=dataset,
                candidates=tuple((count, None) for count in number.candidates),
            )
            filled.append(_less_base(cell, run) if run.paper.base else cell)
    return filled


def _blank(printed: Printed, encoder: str, method: str, view: str, run: Run) -> Printed:
    """A cell in the column of a printed one that the paper does not have."""
    return printed._replace(encoder=run.label(encoder), method=method, view=view, value="", note="")


def _rows(run: Run) -> Iterator[tuple[str, str, str]]:
    """Encoder, method and view of the run's numbers, if the paper prints the view; a suite has the meaning view."""
    printed = {entry.view for entry in printed_numbers(run.paper.name)} - {SENTENCE}
    views = ["meaning"] if run.paper.suite else [view for view in VIEWS if view in printed]
    for encoder in run.encoders:
        for method in run.measured.methods_of(encoder):
            for view in [SENTENCE] if run.method_label(encoder, method) in WHOLE_VECTORS else views:
                yield encoder, method, view


def _grid(paper: Paper) -> Iterator[Printed]:
    printed = printed_numbers(paper.name)
    columns = [entry for entry in printed if entry.encoder == paper.base]
    by_column = {(entry.encoder, entry.column): entry for entry in printed}
    if not paper.variants:
        yield from printed
    for variant, column in product(paper.variants, columns):
        blank = column._replace(encoder=variant, value="", note="")
        yield by_column.get((variant, column.column), blank)._replace(table=column.table)


def _cell(printed: Printed, encoder: str, method: str, run: Run) -> PaperCell:
    reason = _why_not(printed, encoder, method, run)
    cell = PaperCell(printed, encoder, method, reason) if reason else find(printed, encoder, method, run)
    return _less_base(cell, run) if run.paper.base else cell


def _why_not(printed: Printed, encoder: str, method: str, run: Run) -> str:
    """Why no record of the run can have a number; "" where one may."""
    # An encoder that no run has may have one in this run that stands for it.
    if printed.data.unmeasured if encoder else printed.unmeasured:
        return NO_RUN
    if encoder and method:
        return ""
    if not encoder and not run.paper.variants:
        return NO_ENCODER
    # The variants of an ablation are measured by retrieval alone.
    if printed.method == FINE_TUNED:
        return NO_TUNING
    return NO_METHOD if encoder else NO_VARIANT


def _less_base(cell: PaperCell, run: Run) -> PaperCell:
    """The cell of a variant with what it and the printed one differ from those of the base variant."""
    printed, base = cell.printed, run.paper.base
    levels = (
        entry.number for entry in _grid(run.paper) if (entry.encoder, entry.column) == (base, printed.column)
    )
    level = next(levels, None)
    less = None
    if level is not None and printed.number is not None:
        less = round(printed.number - level, 6)
    number: Number | None = None
    for encoder in run.encoders_of(base)[:1]:
        if printed.direction == WHOLE:
            name = Name(encoder, ORIGINAL, SENTENCE, printed.task, printed.dataset, printed.metric)
            number = run.level(name, run.subsets(printed.task, printed.dataset, printed.subset))
        elif cell.measured is not None:
            number = find(printed, encoder, ORIGINAL, run).measured
    return replace(cell, printed_less_base=less, less_base=run.subtract(cell.measured, number))


def find(printed: Printed, encoder: str, method: str, run: Run) -> PaperCell:
    """What an encoder and method of a run have for a printed number."""
    cell = PaperCell(printed, encoder, method)
    # An encoder is fine-tuned on some benchmarks of a run; frozen vectors are measured on all of them.
    tuned = run.method_label(encoder, method) == FINE_TUNED
    owner = {"encoder": encoder, "method": method} if tuned else {}
    datasets, parts = _places(printed, run, owner)
    if not datasets:
        measured = run.measured.names("dataset", task=printed.task, **owner)
        if measured and not (tuned and _places(printed, run, {})[0]):
            return replace(cell, reason=NO_DATA)
        if printed.task == TIME:
            return replace(cell, reason=NO_TIME)
        return replace(cell, reason=NO_TUNING if tuned else NO_TASK)
    if not parts:
        return replace(cell, reason=NO_LANGUAGE)
    subsets = [(member, *place) for member, places in parts.items() for place in places]
    about = Name(encoder, method, printed.view, printed.task, printed.dataset, printed.metric)
    number = run.over([(about._replace(dataset=dataset), subset) for _, dataset, subset in subsets])
    cell = replace(cell, dataset=" + ".join(dict.fromkeys(dataset for _, dataset, _ in subsets)))
    if number is None:
        return replace(cell, reason=NO_TIME if printed.task == TIME else NO_RECORD)
    paper = [printed.data.candidates.get(member) for member, _, _ in subsets]
    source = run.measured.stated("source", task=printed.task, dataset=datasets[0])
    return replace(
        cell,
        measured=number.divided(printed.unit),
        over=tuple(parts),
        candidates=tuple(zip(number.candidates, paper, strict=True)),
        stand_in=source if source == printed.data.stand_in else "",
    )


def _places(
    printed: Printed, run: Run, owner: Mapping[str, str]
) -> tuple[list[str], dict[str, list[tuple[str, str]]]]:
    """The data sets of the run that have the printed one, and {member: its (data set, subset)}."""
    if printed.task == TIME:
        datasets = _datasets(printed, run, owner)
        return datasets, {ALL: [(datasets[0], ALL)]} if datasets else {}
    datasets, parts = [], dict[str, list[tuple[str, str]]]()
    for name in printed.data.parts or (printed.dataset,):
        part = printed._replace(dataset=name)
        here = _datasets(part, run, owner)
        prefix = f"{name} " if printed.data.parts else ""
        datasets += here
        parts |= {prefix + member: places for member, places in _parts(part, here, run, owner).items()}
    return datasets, parts


def _datasets(printed: Printed, run: Run, owner: Mapping[str, str]) -> list[str]:
    """Data sets of the run, with records of the owner, that are the printed one; else those that stand in for it."""
    sources = {
        name: run.measured.stated("source", task=printed.task, dataset=name)
        for name in run.measured.names("dataset", task=printed.task, **owner)
    }
    data = printed.data
    same = [name for name, source in sources.items() if data.source in ("", source)]
    return same or [name for name, source in sources.items() if data.stand_in and source == data.stand_in]


def _parts(
    printed: Printed, datasets: Sequence[str], run: Run, owner: Mapping[str, str]
) -> dict[str, list[tuple[str, str]]]:
    """{member: its (data set, subset)} for what the run has; the data set with most members comes first."""
    served = []
    for dataset in datasets:
        have = {ALL, *run.measured.names("subset", task=printed.task, dataset=dataset, **owner)}
        subsets = {member: list(_subsets(printed, member, have)) for member in printed.members}
        served.append(
            {
                member: [(dataset, subset) for subset in of_member]
                for member, of_member in subsets.items()
                if have.issuperset(of_member)
            }
        )
    merged = ChainMap(*sorted(served, key=len, reverse=True))
    return {member: merged[member] for member in printed.members if merged.get(member)}


def _subsets(printed: Printed, member: str, have: set[str]) -> Iterator[str]:
    if "-" not in member:
        yield printed.direction.replace("xx", member) or member
        return
    pivot, foreign = member.split("-")
    if printed.direction in ("en->xx", "both"):
        yield f"{pivot}->{foreign}"
    if printed.direction in ("xx->en", "both"):
        yield f"{foreign}->{pivot}"
    if not printed.direction:
        turned = f"{foreign}-{pivot}"
        # A translation's quality has a direction; the cosine of two sentences has none, nor has mining.
        yield turned if printed.task != "qe" and turned in have else member
