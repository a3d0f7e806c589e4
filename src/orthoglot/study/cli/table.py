"""A paper's tables with a run's numbers, and what papers claim, tested on a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def table(
    paper: Annotated[str, typer.Argument(help="oracle, seed, ems-encoders, xrete; or claims")],
    records: Annotated[Path, typer.Argument(help="records.jsonl or records.parquet of a report")],
    output: Annotated[Path, typer.Argument(help="folder for the tables as Markdown, HTML, CSV and JSON")],
) -> None:
    """Write a paper's tables with a run's numbers, or what ORACLE and SEED claim, tested on a run.

    Example: orthoglot study table oracle results/records.jsonl tables
    """
    from orthoglot.statistics.records import read_records
    from orthoglot.study.papers.table import write_claims, write_results

    if paper == "claims":
        write_claims(read_records(records), output)
    else:
        write_results(paper, records, output)
