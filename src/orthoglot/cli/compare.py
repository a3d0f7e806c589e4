"""Compare two runs number by number."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from orthoglot.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from orthoglot.statistics.records import Record
    from orthoglot.statistics.summary import Scored

app = typer.Typer()

# Where a revision has the records of its report.
RECORDS = "results/records.jsonl"
RESAMPLES, CONFIDENCE, SEED = 10_000, 0.95, 1
COLUMNS = ["task", "dataset", "view", "encoder", "method", "metric"]
PAIRED, APART = "paired", "apart"
NOTE = (
    "paired: 95 % bootstrap interval of B - A over the pivot sentences of both, for the same sentences. "
    "apart: the lowest B - A and the highest that the two intervals allow, which is wider."
)

Name = tuple[str, str, str, str, str, str]


class Run(NamedTuple):
    """The records of a run over all subsets and seeds, and per-item scores where there are any."""

    records: dict[Name, Record]
    scored: dict[tuple[str, str], Scored]


@app.command()
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
    """Print what two runs measured, and B - A. Example: orthoglot compare HEAD~1 results --view meaning

    A folder may be results/ or one with evaluations, e.g. evaluations/mini; of these there are scores of each
    sentence, and the interval of the difference is paired.
    """
    wanted = {"view": view, "task": task, "method": method}
    ours, theirs = (read_run(place, wanted) for place in (a, b))
    table = compared(ours, theirs)
    if csv:
        typer.echo(table.to_csv(index=False), nl=False)
    else:
        typer.echo(table.to_string(index=False, na_rep="", float_format="{:.2f}".format))
        typer.echo(NOTE)
    for name, mine, other in (("A", ours, theirs), ("B", theirs, ours)):
        only = [one for one in mine.records if one not in other.records]
        if only:
            typer.echo(f"only in {name}: {len(only)}", err=csv)
            for one in only:
                typer.echo(f"  {' '.join(one)}", err=csv)


def read_run(place: str, wanted: Mapping[str, str | None] | None = None) -> Run:
    """The run of a records file, a folder, or a git revision of the repository that the command runs in.

    Args:
        place: see `compare`.
        wanted: {field of a record: value}; None stands for every value.
    Raises:
        DataError: there is none, or its records are not in DVC's cache.
    """
    from orthoglot.statistics.summary import read_scores

    path, scores = Path(place), []
    if path.is_dir():
        files = [path / name for name in ("records.jsonl", "records.parquet") if (path / name).is_file()][:1]
        files = files or sorted(path.rglob("records.jsonl"))
        if not files:
            raise DataError(f"{path}: no records.jsonl in this folder")
        scores = [file for one in files if (file := one.with_name("scores.npz")).is_file()]
        records = [record for file in files for record in _read(file)]
    else:
        records = _read(path) if path.is_file() else _of_revision(place)
    wanted = {field: value for field, value in (wanted or {}).items() if value is not None}
    found: dict[Name, Record] = {}
    for record in _overall(records):
        if all(getattr(record, field) == value for field, value in wanted.items()):
            name = record.task, record.dataset, record.view, record.encoder, record.method, record.metric
            if name in found:
                raise DataError(f"{place}: two records of {' '.join(name)}")
            found[name] = record
    owners = {file: _read(file.with_name("records.jsonl"))[0] for file in scores}
    return Run(found, {(one.encoder, one.method): read_scores(file) for file, one in owners.items()})


def compared(ours: Run, theirs: Run) -> pd.DataFrame:
    """One row for each number that both runs have, with both values, B - A and its interval.

    Columns: task, dataset, view, encoder, method, metric, A, B, difference, low, high, interval. `interval` is "paired"
    (bootstrap over pivot sentences) where both have scores of the same sentences, else "apart" (from low B - high A to
    high B - low A), or nothing where a number has no interval.
    """
    import pandas as pd

    names = [name for name in ours.records if name in theirs.records]
    paired = _paired(names, ours, theirs)
    rows = []
    for name in names:
        mine, other = ours.records[name], theirs.records[name]
        low, high, how = None, None, ""
        if name in paired:
            (low, high), how = paired[name], PAIRED
        elif None not in (mine.low, mine.high, other.low, other.high):
            assert mine.low is not None and mine.high is not None  # noqa: PT018
            assert other.low is not None and other.high is not None  # noqa: PT018
            low, high, how = other.low - mine.high, other.high - mine.low, APART
        rows.append((*name, mine.value, other.value, other.value - mine.value, low, high, how))
    table = pd.DataFrame(rows, columns=[*COLUMNS, "A", "B", "difference", "low", "high", "interval"])
    return table.astype({"low": "float64", "high": "float64"})


def _paired(names: Iterable[Name], ours: Run, theirs: Run) -> dict[Name, tuple[float, float]]:
    """The intervals of the differences of per-item scores, in the unit of the records."""
    from orthoglot.statistics.comparisons import POINTS, chosen, differences
    from orthoglot.statistics.settings import ResamplingSettings

    settings = ResamplingSettings(resamples=RESAMPLES, confidence=CONFIDENCE, seed=SEED)
    found: dict[Name, tuple[float, float]] = {}
    for name in names:
        task, dataset, view, encoder, method, _ = name
        sides = [chosen(run.scored.get((encoder, method), {}), task, dataset, view) for run in (theirs, ours)]
        if name in found or not all(sides) or sides[0].keys() != sides[1].keys():
            continue
        try:
            answers = differences(
                [(sides[0], sides[1])], task, dataset, next(iter(sides[0])).measure, settings
            )
        except DataError:  # other sentences
            continue
        for one, (answer,) in answers.items():
            if answer is not None:
                ends = POINTS * answer.interval.low, POINTS * answer.interval.high
                found[task, dataset, view, encoder, method, one] = ends
    return found


def _overall(records: Iterable[Record]) -> Iterable[Record]:
    """Levels over all subsets and seeds; comparisons of two methods are left out."""
    from orthoglot.statistics.records import ALL, Comparison

    for record in records:
        if record.subset == ALL and record.seed is None and Comparison.parse(record.metric) is None:
            yield record


def _read(path: Path) -> list[Record]:
    import pandas as pd

    from orthoglot.statistics.records import Record, read_records

    if path.suffix != ".parquet":
        return read_records(path)
    table = pd.read_parquet(path).astype(object)
    rows = table.where(table.notna(), None).to_dict("records")
    return [Record(**{str(field): value for field, value in row.items()}) for row in rows]


def _of_revision(revision: str) -> list[Record]:
    """The records of a git revision, from git or from DVC's cache."""
    import tempfile

    resolved = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if resolved.returncode:
        raise DataError(f"{revision}: neither a file, nor a folder, nor a git revision here")
    try:
        from dvc.api import read  # type: ignore[import-untyped]
    except ImportError as error:
        raise DataError(
            f"{revision}: reading a revision needs DVC (pip install 'orthoglot[workflow]')"
        ) from error
    try:
        text = read(RECORDS, repo=".", rev=resolved.stdout.strip(), encoding="utf-8")
    except Exception as error:  # DVC's own, of a missing file, cache or remote
        raise DataError(
            f"{revision}: {RECORDS} is not in DVC's cache (git checkout {revision} && dvc pull {RECORDS}): {error}"
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.jsonl"
        path.write_text(text, encoding="utf-8")
        return _read(path)
