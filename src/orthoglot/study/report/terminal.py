"""The answer of a run in a few lines of a terminal: a table of the first encoder, a sentence on each other one."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from orthoglot.study.report.headline import Row, Score, sentences

METHODS, WIDTH = 9, 100


def screen(found: Sequence[Row], confidence: float = 0.95) -> list[str]:
    """Lines for the rows of `orthoglot.study.report.headline.headline`, at least one."""
    first = found[0].encoder
    lines = table([row for row in found if row.encoder == first], confidence)
    for encoder, sentence in sentences(found):
        if encoder != first:
            lines += wrap(f"{encoder} {sentence}", WIDTH, subsequent_indent="  ")
    return lines


def table(own: Sequence[Row], confidence: float = 0.95) -> list[str]:
    """The rows of an encoder as aligned columns: P@1 by each view in percent, and the change of that by meaning.

    Where the language of meaning vectors was probed, a column has that accuracy; where methods were trained, how.
    """
    probed, trained = any(row.probe for row in own), any(row.training for row in own)
    change = f"change [{confidence:.0%} interval]".replace("%", " %")
    heads = ["method", "meaning ↑", "language ↓", *["probe ↓"] * probed, change, *["training"] * trained]
    cells = [heads]
    for row in own:
        levels = [row.meaning, row.language, *[row.probe] * probed]
        gap = "–" if row.change is None else _interval(row.change)
        numbers = ["–" if level is None else f"{level.value:.1f}" for level in levels]
        cells.append([row.method, *numbers, gap, *[row.training] * trained])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    at_left = {0, len(heads) - trained}
    first = own[0]
    return [
        f"{first.encoder} ({first.task if first.dataset == 'test' else first.dataset})",
        *(
            "  ".join(
                cell.ljust(width) if place in at_left else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in cells
        ),
    ]


def _interval(score: Score) -> str:
    """A difference in points, with its interval."""
    return f"{score.value:+.1f} [{score.low:+.1f}, {score.high:+.1f}]"
