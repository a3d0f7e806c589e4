"""The answer of a run in the few lines that fit a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from orthoglot.report.headline import Row, Score, headline

LINES = 10
HEADS = ("encoder", "method", "meaning ↑", "language ↓")
PROBE = "probe ↓"


def chosen(records: pd.DataFrame, lines: int = LINES) -> list[Row]:
    """Rows for a table of so many lines, its heading included: as many of each encoder as there is room for.

    At least the undivided vector and one method of an encoder; encoders without room are left out.
    """
    encoders = max(records["encoder"].nunique(), 1)
    return headline(records, most=max((lines - 1) // encoders, 2))[: lines - 1]


def table(rows: Sequence[Row], confidence: float = 0.95) -> list[str]:
    """The rows as lines of aligned columns: P@1 by each view in percent, and the change of that by meaning.

    Where the language of meaning vectors was probed, a column has that accuracy.
    """
    probed = any(row.probe for row in rows)
    heads = [*HEADS, *[PROBE] * probed, f"change [{confidence:.0%} interval]".replace("%", " %")]
    cells = [heads]
    encoder = ""
    for row in rows:
        name = (
            ""
            if row.encoder == encoder
            else f"{row.encoder} ({row.task if row.dataset == 'test' else row.dataset})"
        )
        encoder = row.encoder
        levels = [row.meaning, row.language, *[row.probe] * probed]
        change = "–" if row.change is None else _interval(row.change)
        cells.append(
            [name, row.method, *("–" if one is None else f"{one.value:.1f}" for one in levels), change]
        )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in cells
    ]


def _interval(score: Score) -> str:
    """A difference in points, with its interval."""
    return f"{score.value:+.1f} [{score.low:+.1f}, {score.high:+.1f}]"
