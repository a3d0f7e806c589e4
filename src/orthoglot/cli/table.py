"""`orthoglot table`: a paper's tables with a run's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orthoglot.cli import options


def table(
    paper: Annotated[str, typer.Argument(help="oracle, seed, ems-encoders or xrete")],
    records: options.RecordsFile,
    output: Annotated[Path, typer.Argument(help="folder for <paper>-table.md, .html, .csv and .json")],
) -> None:
    """Write a paper's tables with a run's numbers.

    Example: orthoglot table oracle results/records.jsonl tables
    """
    from orthoglot.papers.table import write_results

    write_results(paper, records, output)
