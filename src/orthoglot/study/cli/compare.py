"""Compare two runs number by number."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from orthoglot import receipts
from orthoglot.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from orthoglot.statistics.summary import Scored


# Where a revision has the records of its report.
RESULTS, RECORDS, SCORES = "results", "records.jsonl", "scores.npz"
RESAMPLES, CONFIDENCE, SEED = 10_000, 0.95, 1
COLUMNS = ["task", "dataset", "view", "encoder", "method", "metric"]
NOTE = (
    "paired: 95 % bootstrap interval of B - A over the pivot sentences of both, for the same sentences. "
    "apart: the lowest B - A and the highest that the two intervals allow, which is wider."
)

# A value of each of `COLUMNS`.
Name = tuple[str, str, str, str, str, str]


class Run(NamedTuple):
    """A run."""

    # value, low and high by `COLUMNS`, over all subsets and seeds, without comparisons of methods
    numbers: pd.DataFrame
    scored: dict[tuple[str, str], Scored]  # per-item scores by encoder and method, where there are any


def compare(
    a: Annotated[
        str, typer.Argument(help="records (.jsonl, .parquet), a folder of results, or a git revision")
    ],
    b: Annotated[str, typer.Argument(help="the same, of the other run")],
    view: Annotated[str | None, typer.Option(help="meaning, language or sentence")] = None,
    task: Annotated[str | None, typer.Option(help="e.g. tatoeba")] = None,
    method: Annotated[str | None, typer.Option(help="e.g. dream")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="print CSV, unrounded")] = False,
) -> None:
    """Print what two runs measured, and B - A.

    Example: orthoglot study compare HEAD~1 results --view meaning

    A folder may be results/ or one with evaluations, e.g. evaluations/mini. Where both sides have the scores of each
    sentence, in the folder itself or in the evaluations that results/ were made of, the interval of the difference is
    paired.
    """
    wanted = {"view": view, "task": task, "method": method}
    given = {field: value for field, value in wanted.items() if value is not None}
    ours, theirs = (read_run(place, **given) for place in (a, b))
    table = compared(ours, theirs)
    if csv:
        typer.echo(table.to_csv(index=False), nl=False)
    else:
        typer.echo(table.to_string(index=False, na_rep="", float_format="{:.2f}".format))
        typer.echo(NOTE)
    for name, mine, other in (("A", ours, theirs), ("B", theirs, ours)):
        only = [number for number in mine.numbers.index if number not in other.numbers.index]
        if only:
            typer.echo(f"only in {name}: {len(only)}", err=csv)
            for number in only:
                typer.echo(f"  {' '.join(number)}", err=csv)


def read_run(place: str, **wanted: str) -> Run:
    """The run of a place, see `compare`, with those records whose fields have the wanted values.

    Raises:
        DataError: there is none, or its records are not in DVC's cache.
    """
    import pandas as pd

    from orthoglot.statistics.records import ALL, COMPARISON
    from orthoglot.statistics.summary import read_scores
    from orthoglot.study.report.frame import where

    path, scored = Path(place), {}
    if path.is_dir():
        listed = receipts.listed(path, RECORDS)
        both = path / RECORDS, path / "records.parquet"
        files = [file for file in both if file in listed or file.is_file()][:1] or listed
        if not files:
            raise DataError(f"{path}: no records.jsonl in this folder")
        tables = {file: _read(file) for file in files}
        records = pd.concat(tables.values())
        evaluations = {file: _read(file) for file in _evaluations(path)}
        for file, table in {**tables, **evaluations}.items():
            if receipts.holds(scores := file.with_name(SCORES)):
                scored[table["encoder"].iloc[0], table["method"].iloc[0]] = read_scores(scores)
    else:
        records = _read(path) if path.is_file() else _of_revision(place)
    levels = records["seed"].isna() & ~records["metric"].str.fullmatch(COMPARISON)
    numbers = where(records[levels], subset=ALL, **wanted).set_index(COLUMNS)[["value", "low", "high"]]
    if not numbers.index.is_unique:
        raise DataError(f"{place}: two records of {' '.join(numbers.index[numbers.index.duplicated()][0])}")
    return Run(numbers, scored)


def compared(ours: Run, theirs: Run) -> pd.DataFrame:
    """One row for each number that both runs have, with both values, B - A and its interval.

    Columns: task, dataset, view, encoder, method, metric, A, B, difference, low, high, interval. `interval` is "paired"
    (bootstrap over pivot sentences) where both have scores of the same sentences, else "apart" (from low B - high A to
    high B - low A), or nothing where a number has no interval.
    """
    names = [name for name in ours.numbers.index if name in theirs.numbers.index]
    a, b = ours.numbers.loc[names], theirs.numbers.loc[names]
    table = a[[]].assign(A=a["value"], B=b["value"], difference=b["value"] - a["value"])
    table = table.assign(low=b["low"] - a["high"], high=b["high"] - a["low"])
    table["interval"] = (table["high"] - table["low"]).notna().map({True: "apart", False: ""})
    table = table.reset_index()
    paired = _paired(names, ours, theirs)
    for row, name in enumerate(names):
        if name in paired:
            table.loc[row, ["low", "high"]] = paired[name]
            table.loc[row, "interval"] = "paired"
    return table


def _paired(names: Iterable[Name], ours: Run, theirs: Run) -> dict[Name, tuple[float, float]]:
    """The intervals of the differences of per-item scores, in the unit of the records."""
    from orthoglot.statistics.settings import ResamplingSettings
    from orthoglot.study.report.comparisons import POINTS, chosen, differences

    settings = ResamplingSettings(resamples=RESAMPLES, confidence=CONFIDENCE, seed=SEED)
    intervals: dict[Name, tuple[float, float]] = {}
    for about in dict.fromkeys(name[:5] for name in names):
        task, dataset, view, encoder, method = about
        sides = [chosen(run.scored.get((encoder, method), {}), task, dataset, view) for run in (theirs, ours)]
        if not all(sides) or sides[0].keys() != sides[1].keys():
            continue
        measure = next(iter(sides[0])).measure
        try:
            answers = differences([(sides[0], sides[1])], task, dataset, measure, settings)
        except DataError:  # other sentences
            continue
        for metric, (answer,) in answers.items():
            if answer is not None:
                intervals[(*about, metric)] = POINTS * answer.interval.low, POINTS * answer.interval.high
    return intervals


def _evaluations(results: Path) -> list[Path]:
    """The records of the evaluations that a report was made of, if they are beside it as they were then."""
    receipt = receipts.read(results)
    inputs = receipt.inputs.items() if receipt else ()
    folders = [
        results.resolve().parent / folder
        for folder, (key, contents) in inputs
        if contents and receipts.contents(results.resolve().parent / folder, key) == contents
    ]
    return [folder / RECORDS for folder in folders if receipts.holds(folder / SCORES)]


def _read(path: Path) -> pd.DataFrame:
    from orthoglot.statistics.records import read_records
    from orthoglot.study.report.frame import frame

    return frame(read_records(path))


def _of_revision(revision: str) -> pd.DataFrame:
    """The records of a git revision, from git or from DVC's cache."""
    resolved = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if resolved.returncode:
        raise DataError(f"{revision}: neither a file, nor a folder, nor a git revision here")
    try:
        from dvc.api import DVCFileSystem  # type: ignore[import-untyped]
    except ImportError as error:
        raise DataError(
            f"{revision}: reading a revision needs DVC (pip install 'orthoglot[workflow]')"
        ) from error
    with TemporaryDirectory() as place:
        copy = Path(place) / RESULTS
        try:
            stored = DVCFileSystem(".", rev=resolved.stdout.strip())
            copy.mkdir()
            stored.get_file(f"{RESULTS}/{RECORDS}", str(copy / RECORDS))
            if stored.exists(f"{RESULTS}/{receipts.NAME}"):
                stored.get(f"{RESULTS}/{receipts.NAME}", str(copy / receipts.NAME), recursive=True)
        except Exception as error:  # DVC's own, of a missing file, cache or remote
            raise DataError(
                f"{revision}: {RESULTS}/{RECORDS} is not in DVC's cache "
                f"(git checkout {revision} && dvc pull {RESULTS}/{RECORDS}): {error}"
            ) from error
        try:
            return _read(copy / RECORDS)
        except DataError as error:
            raise DataError(f"{revision}: {str(error).replace(f'{place}/', '')}") from error
