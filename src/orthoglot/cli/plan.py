"""`orthoglot plan`: what the text of a preset takes, before it is fetched."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from orthoglot.cli import options

if TYPE_CHECKING:
    from orthoglot.fetching.forecast import Estimate, Total


def plan(
    preset: options.Preset = None,
    as_json: options.AsJson = False,
    megabits: Annotated[float, typer.Option(min=0.001, help="of the connection, per second")] = 100.0,
    params: options.Params = None,
) -> None:
    """Say what the text and the test sets of a preset take, without a network.

    Example: orthoglot plan --preset ems-62
    """
    from orthoglot import config
    from orthoglot.fetching import lock
    from orthoglot.fetching.forecast import estimates, fetched, total

    settings = config.load(config.file_of(params), {"preset": preset} if preset else None)
    name, chosen, corpora = settings.preset, settings.selected, settings.corpora_of(settings.preset)
    addresses = settings.addresses_of(name)
    licences = {f"corpora.{entry}": str(getattr(one, "licence", "")) for entry, one in corpora.items()}
    licences |= {
        f"benchmarks.{entry}": settings.benchmarks[entry].licence
        for entry in settings.benchmarks_of(settings.preset)
    }
    others = {entry: one for entry, one in corpora.items() if f"corpora.{entry}" not in addresses}
    rows = [row for row in estimates(others, chosen.max_pairs) if chosen.takes(*row.pair.split("-"))]
    rows += fetched(addresses, licences, lock.read(lock.LOCK))
    whole = total(rows)
    fetching = None if whole.download is None else whole.download * 8 / (megabits * 1e6) / 3600
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
    for entry in (entry for entry in chosen.corpora if entry not in corpora):
        typer.echo(f"{entry} brings nothing: other corpora have its language pairs, or `languages` has none.")


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
