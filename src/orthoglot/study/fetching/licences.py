"""What the licences of corpora allow: licences.csv, read by name. A summary of published terms, and no legal advice."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, cast

Answer = Literal["yes", "no", "unknown"]


class Terms(NamedTuple):
    """What a licence says."""

    commercial: Answer  # whether text under it, and so a model trained on it, may be used commercially
    attribution: Answer  # whether its source must be named
    share_alike: Answer  # whether what is made of it stays under the same licence
    stated: str  # by whom these terms are stated


UNKNOWN = Terms("unknown", "unknown", "unknown", "nobody that orthoglot knows of")


def terms(licence: str) -> Terms:
    """The terms of a licence by the name that entries of the catalogue give; `UNKNOWN` if the file has no such name."""
    return _table().get(licence, UNKNOWN)


@cache
def _table() -> dict[str, Terms]:
    with Path(__file__).with_name("licences.csv").open(encoding="utf-8", newline="") as file:
        rows = [[cast(Answer, cell) for cell in row] for row in csv.reader(file)]
    return {row[0]: Terms(*row[1:]) for row in rows[1:]}
