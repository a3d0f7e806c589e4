"""The verbs about the text of a preset before it is fetched: `plan` and `licences`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orthoglot.cli.options import AsJson
from orthoglot.errors import ConfigError

if TYPE_CHECKING:
    from orthoglot.config import CorpusSettings, Preset
    from orthoglot.corpora.forecast import Estimate, Total

app = typer.Typer()
PresetName = Annotated[
    str | None, typer.Option("--preset", help="the one that params.yaml selects if not given")
]
Params = Annotated[
    Path | None,
    typer.Option(help="a params.yaml; the one in this folder, or the one that comes with orthoglot"),
]


@app.command()
def plan(
    preset: PresetName = None,
    as_json: AsJson = False,
    megabits: Annotated[float, typer.Option(min=0.001, help="of the connection, per second")] = 100.0,
    params: Params = None,
) -> None:
    """Say what the text of a preset takes, without a network. Example: orthoglot plan --preset ems-62"""
    from orthoglot.corpora.forecast import estimates, total

    name, chosen, corpora = _corpora(preset, params)
    rows = [row for row in estimates(corpora, chosen.max_pairs) if chosen.takes(*row.pair.split("-"))]
    whole = total(rows)
    fetching = whole.download * 8 / (megabits * 1e6) / 3600
    if as_json:
        totals = {**asdict(whole), "download_hours": fetching}
        typer.echo(
            json.dumps({"preset": name, "rows": [asdict(row) for row in rows], "total": totals}, indent=1)
        )
        return
    lines = [("corpus", "pair", "sentence pairs", "download", "disk", "hours", "licence")]
    for entry, group in groupby(rows, lambda row: row.corpus):
        members = list(group)
        lines += [(entry, row.pair, *_amounts(row), row.licence) for row in members]
        lines.append((entry, "all", *_amounts(total(members)), members[0].release))
    lines.append(("all", "all", *_amounts(whole), ""))
    _table(lines, right=range(2, 6))
    typer.echo(
        f"\n{name}: the download takes {_hours(fetching)} h at {megabits:g} Mbit/s, preparing it then "
        f"{_hours(whole.hours)} h on one core, less where language pairs run side by side."
    )
    if whole.unknown:
        typer.echo(f"Not counted: {whole.unknown} lines with ?, whose size the catalogue does not have.")
    for row in rows:
        if len(row.archives) > 1:
            typer.echo(f"{row.corpus} has {row.pair} in several spellings: {_sizes(row.archives)}.")
        if row.left_out:
            typer.echo(
                f"{row.corpus} leaves out of {row.pair}: {_sizes(row.left_out)}; `spellings` can name them."
            )
    for entry in (entry for entry in chosen.corpora if entry not in corpora):
        typer.echo(f"{entry} brings nothing: other corpora have its language pairs, or `languages` has none.")


@app.command()
def licences(
    preset: PresetName = None,
    commercial: Annotated[
        bool, typer.Option(help="fail if a corpus forbids commercial use, or if that is not known")
    ] = False,
    as_json: AsJson = False,
    params: Params = None,
) -> None:
    """Say what a model trained on a preset may be used for. Example: orthoglot licences --preset ems-62"""
    from orthoglot.corpora.licences import terms

    name, _, corpora = _corpora(preset, params)
    stated = {entry: str(getattr(corpus, "licence", "")) for entry, corpus in corpora.items()}
    found = {entry: terms(licence) for entry, licence in stated.items()}
    if as_json:
        listed = {entry: {"licence": stated[entry], **one._asdict()} for entry, one in found.items()}
        typer.echo(json.dumps({"preset": name, "corpora": listed}, indent=1))
    else:
        lines = [("corpus", "licence", "commercial use", "name the source", "share alike", "stated by")]
        lines += [(entry, stated[entry], *one) for entry, one in found.items()]
        _table(lines)
        typer.echo(f"\nA model trained on {name}:")
        for question, answers in (
            ("commercial use", [one.commercial for one in found.values()]),
            ("name the sources", [one.attribution for one in found.values()]),
            ("share alike", [one.share_alike for one in found.values()]),
        ):
            typer.echo(f"  {question}: {_answer(question, answers)}")
    forbidding = [entry for entry, one in found.items() if one.commercial == "no"]
    unknown = [entry for entry, one in found.items() if one.commercial == "unknown"]
    if commercial and (forbidding or unknown):
        verb = "forbids" if len(forbidding) == 1 else "forbid"
        reasons = [f"{', '.join(forbidding)} {verb} it"] * bool(forbidding)
        reasons += [f"it is not known of {', '.join(unknown)}"] * bool(unknown)
        raise ConfigError(f"presets.{name}: commercial use: {'; '.join(reasons)}")


def _corpora(preset: str | None, params: Path | None) -> tuple[str, Preset, dict[str, CorpusSettings]]:
    """A preset's name, the preset, and the corpora of which something is left."""
    from orthoglot import config

    settings = config.load(config.file_of(params), {"preset": preset} if preset else None)
    return settings.preset, settings.selected, settings.corpora_of(settings.preset)


def _answer(question: str, answers: Sequence[str]) -> str:
    """What holds for a mixture: the strictest answer; a licence that is not known leaves it open."""
    strict = "no" if question == "commercial use" else "yes"
    if strict in answers:
        return strict
    return "unknown" if "unknown" in answers else {"no": "yes", "yes": "no"}[strict]


def _amounts(row: Estimate | Total) -> tuple[str, str, str, str]:
    pairs = "?" if row.pairs is None else f"{row.pairs:,}"
    return pairs, _amount(row.download), _amount(row.disk), "?" if row.hours is None else _hours(row.hours)


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


def _hours(hours: float) -> str:
    return f"{hours:,.2f}"


def _table(lines: Sequence[Sequence[str]], right: Iterable[int] = ()) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    to_the_right = set(right)
    for line in lines:
        cells = [
            cell.rjust(width) if place in to_the_right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        typer.echo("  ".join(cells).rstrip())
