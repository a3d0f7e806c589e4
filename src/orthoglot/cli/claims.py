"""`orthoglot claims`: what papers claim, tested on a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orthoglot.cli import options


def claims(
    records: options.RecordsFile,
    output: Annotated[Path, typer.Argument(help="folder for claims.md, .html and .json")],
) -> None:
    """Test what ORACLE and SEED claim.

    Example: orthoglot claims results/records.jsonl tables
    """
    from orthoglot.papers.table import write_claims
    from orthoglot.statistics.records import read_records

    write_claims(read_records(records), output)
