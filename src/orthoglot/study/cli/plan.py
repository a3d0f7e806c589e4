"""`orthoglot study plan`: what a preset takes and which printed numbers it measures, before anything is fetched."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from orthoglot.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orthoglot.study.config import Params
    from orthoglot.study.fetching.forecast import Estimate, Total
    from orthoglot.study.papers.published import Paper
    from orthoglot.study.papers.reachable import Count
    from orthoglot.study.pretraining.gpu_hours import Work


def plan(
    preset: options.Preset = None,
    as_json: options.AsJson = False,
    megabits: Annotated[float, typer.Option(min=0.001, help="of the connection, per second")] = 100.0,
    params: options.Params = None,
) -> None:
    """Say what a preset takes, and how many of the papers' printed numbers it measures, without a network.

    Bytes and hours of text and test sets; hours of trainings on GPUs, from the rates of one H100; licences.

    Example: orthoglot study plan --preset ems-62
    """
    from orthoglot import catalogue
    from orthoglot.study import config
    from orthoglot.study.fetching import lock
    from orthoglot.study.fetching.forecast import estimates, fetched, total
    from orthoglot.study.papers.published import DECOMPOSER_PAPERS, SUITES, load_paper

    settings = config.load(catalogue.file_of(params), {"preset": preset} if preset else None)
    name, chosen, corpora = settings.preset, settings.selected, settings.corpora_of(settings.preset)
    addresses = settings.addresses_of(name)
    licences = {f"corpora.{entry}": str(getattr(corpus, "licence", "")) for entry, corpus in corpora.items()}
    tests = settings.benchmarks_read(name)
    licences |= {f"benchmarks.{entry}": test.licence for entry, test in tests.items()}
    others = {entry: corpus for entry, corpus in corpora.items() if f"corpora.{entry}" not in addresses}
    rows = [row for row in estimates(others, chosen.max_pairs) if chosen.takes(*row.pair.split("-"))]
    rows += estimates(settings.releases_of(name))
    rows += fetched(addresses, licences, lock.read(lock.LOCK))
    whole = total(rows)
    trainings = list(_trainings(settings, rows))
    papers = {paper.name: counts(paper, settings) for paper in map(load_paper, (*DECOMPOSER_PAPERS, *SUITES))}
    fetching = None if whole.download is None else whole.download * 8 / (megabits * 1e6) / 3600
    if as_json:
        content = {
            "preset": name,
            "rows": [asdict(row) for row in rows],
            "total": {**asdict(whole), "download_hours": fetching},
            "trainings": [training._asdict() for training in trainings],
            "papers": {paper: list(map(_table, tables)) for paper, tables in papers.items()},
        }
        typer.echo(json.dumps(content, indent=1))
        return
    lines = [("corpus", "pair", "sentence pairs", "download", "disk", "hours", "licence")]
    for entry, group in groupby(rows, lambda row: row.corpus):
        members = list(group)
        lines += [(entry, row.pair, *_amounts(row), row.licence) for row in members]
        if entry not in addresses:
            lines.append((entry, "all", *_amounts(total(members)), members[0].release))
    lines.append(("all", "all", *_amounts(whole), ""))
    options.print_table(lines, right=range(2, 6))
    if fetching is not None:
        typer.echo(f"\n{name}: the download takes {_time(fetching)} at {megabits:g} Mbit/s.")
    if whole.hours is not None:
        typer.echo(
            f"Preparing it takes {_time(whole.hours)} on one core, less where language pairs run side by side."
        )
    if whole.unknown:
        typer.echo(f"Not counted: {whole.unknown} lines whose size nothing here says.")
    for row in rows:
        if len(row.archives) > 1:
            typer.echo(f"{row.corpus} has {row.pair} in several spellings: {_sizes(row.archives)}.")
        if row.left_out:
            typer.echo(
                f"{row.corpus} leaves out of {row.pair}: {_sizes(row.left_out)}; `spellings` can name them."
            )
    typer.echo("\nOn GPUs, at the rates of an H100 (measurements/gpu/README.md); trainings at most:")
    amounts = [(work.name, work.amount, str(work.gpus), _hours(work.hours)) for work in trainings]
    options.print_table([("what", "amount", "GPUs", "hours"), *amounts], right=range(2, 4))
    paper = max(papers, key=lambda paper: sum(table.measured for table in papers[paper]))
    if any(table.measured for table in papers[paper]):
        typer.echo(f"\n{paper}: {_counted(papers[paper])}")
    for entry in (entry for entry in chosen.corpora if entry not in corpora):
        typer.echo(f"{entry} brings nothing: other corpora have its language pairs, or `languages` has none.")


def counts(paper: Paper, settings: Params) -> list[Count]:
    """The printed numbers of each table of a paper that the selected preset measures, test sets by hand included."""
    from orthoglot.languages import parse_pair
    from orthoglot.study.papers.reachable import Planned, reachable

    preset, sets = settings.selected, settings.benchmarks_of(settings.preset)
    pairs = {
        entry: [pair for pair in corpus.pair_sources("") if preset.takes(*parse_pair(pair))]
        for entry, corpus in settings.corpora_of(settings.preset).items()
    }
    read, tested = settings.benchmarks_read(settings.preset), settings.taught(preset)
    encoders = {}
    for name in preset.encoders:
        part = preset.part(name)
        seen = {entry: test for entry, test in sets.items() if entry in part.benchmarks}
        held_out = sorted({pair for entry in part.corpora for pair in pairs.get(entry, ())})
        tuned = {entry: read[entry] for entry in tested} if name in settings.tuned_encoders(preset) else {}
        encoders[name] = Planned(settings.encoders[name], seen, held_out, tuned)
    methods = {name: settings.methods[name] for name in settings.losses}
    return reachable(paper, encoders, methods, preset.evaluation.tasks)


def _table(count: Count) -> dict[str, object]:
    missing = [
        {"encoder": encoder, "reason": reason, "numbers": numbers}
        for (encoder, reason), numbers in count.missing.items()
    ]
    return {**count._asdict(), "missing": missing}


def _counted(tables: Sequence[Count]) -> str:
    """How many numbers of a paper are measured, and why not the others."""
    from orthoglot.study.papers.reachable import WHY

    measured, printed = (sum(getattr(table, name) for table in tables) for name in ("measured", "printed"))
    reasons: Counter[str] = Counter()
    for table in tables:
        for (_, reason), count in table.missing.items():
            reasons[reason] += count
    missing = "".join(f"\n  not {count}: {WHY[reason]}" for reason, count in reasons.most_common())
    return f"measures {measured:,} of the {printed:,} printed numbers{missing}"


def _trainings(settings: Params, rows: Sequence[Estimate]) -> Iterator[Work]:
    from orthoglot.study.pretraining.gpu_hours import work

    preset = settings.selected
    most = min(preset.splits.max_train or math.inf, preset.embedding.train_pairs)
    text = [row for row in rows if row.pairs and not row.corpus.startswith("benchmarks.")]
    pairs = sum(int(min(row.pairs or 0, most)) for row in text)
    # The sizes of test sets are known if they are drawn.
    drawn = sum(row.pairs or 0 for row in rows if row.corpus.startswith("benchmarks."))
    trainings = list(settings.taught(preset).values())
    tuned = len({str(stages) for stages in trainings}) * len(settings.tuned_encoders(preset))
    seeds = len(preset.fine_tuning.seeds) if preset.fine_tuning else 0
    return work(
        {name: settings.encoders[name] for name in preset.encoders},
        {name: settings.methods[name] for name in settings.losses},
        preset.decomposition,
        seeds=len(preset.seeds),
        sentences=2 * (pairs + drawn),
        pairs=pairs,
        fine_tunings=tuned * seeds,
    )


def _amounts(row: Estimate | Total) -> tuple[str, str, str, str]:
    pairs = "?" if row.pairs is None else f"{row.pairs:,}"
    return pairs, _amount(row.download), _amount(row.disk), _hours(row.hours)


def _sizes(archives: dict[str, int]) -> str:
    return ", ".join(f"{spelled} {pairs:,}" for spelled, pairs in archives.items())


def _amount(count: int | None) -> str:
    """Bytes in the largest unit that leaves a number of 1 or more."""
    if count is None:
        return "?"
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def _hours(hours: float | None) -> str:
    return "?" if hours is None else f"{hours:,.2f}"


def _time(hours: float) -> str:
    return f"{hours:,.2f} h" if hours >= 1 else f"{60 * hours:.1f} min"
