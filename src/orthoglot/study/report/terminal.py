"""The answer of a run in a few lines of a terminal: a table of the first encoder, a sentence on each other one."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from orthoglot.study.report.headline import Row, sentences
from orthoglot.study.report.table import number

METHODS, WIDTH = 9, 100


def screen(answer: Sequence[Row], confidence: float = 0.95) -> list[str]:
    """Lines for the rows of `orthoglot.study.report.headline.headline`, at least one."""
    first = answer[0].encoder
    lines = table([row for row in answer if row.encoder == first], confidence)
    for encoder, sentence in sentences(answer):
        if encoder != first:
            lines += wrap(f"{encoder} {sentence}", WIDTH, subsequent_indent="  ")
    return lines


def table(answer: Sequence[Row], confidence: float = 0.95) -> list[str]:
    """The rows of one encoder as aligned columns: P@1 by each view in percent, and the change of that by meaning.

    Where the language of meaning vectors was probed, a column has that accuracy; where methods were trained, how.
    """
    columns = {"method": [row.method for row in answer]}
    columns["meaning ↑"] = [number(row.meaning).text for row in answer]
    columns["language ↓"] = [number(row.language).text for row in answer]
    if any(row.probe for row in answer):
        columns["probe ↓"] = [number(row.probe).text for row in answer]
    changes = [number(row.change, "+.1f") for row in answer]
    heading = f"change [{confidence:.0%} interval]".replace("%", " %")
    columns[heading] = [f"{change.text} {change.small}".rstrip() for change in changes]
    if any(row.training for row in answer):
        columns["training"] = [row.training for row in answer]
    padded = []
    for heading, cells in columns.items():
        width = max(map(len, (heading, *cells)))
        pad = str.ljust if heading in ("method", "training") else str.rjust
        padded.append([pad(cell, width) for cell in (heading, *cells)])
    task, dataset = answer[0].task, answer[0].dataset
    title = f"{answer[0].encoder} ({task if dataset == 'test' else dataset})"
    return [title, *("  ".join(line).rstrip() for line in zip(*padded, strict=True))]
