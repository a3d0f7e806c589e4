"""`orthoglot recommend`: which method a run speaks for."""

from __future__ import annotations

import json

import typer

from orthoglot.cli import options


def recommend(records: options.RecordsFile, as_json: options.AsJson = False) -> None:
    """Say which method is best for retrieval, scoring and search.

    Example: orthoglot recommend results/records.jsonl
    """
    from orthoglot.report import recommend as recommendation
    from orthoglot.report.tables import markdown
    from orthoglot.statistics.records import read_records

    found = read_records(records)
    every = [recommendation.recommend(found, use) for use in recommendation.USES]
    if as_json:
        content = [{**one._asdict(), "standings": [row._asdict() for row in one.standings]} for one in every]
        typer.echo(json.dumps(content, indent=1))
        return
    for advice in every:
        typer.echo(
            markdown([recommendation.table(advice)]) if advice.standings else recommendation.verdict(advice)
        )
