"""`orthoglot evaluate`: one's own model on one's own benchmarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError


def evaluate(
    model: options.ModelArgument,
    benchmark: Annotated[
        list[Path] | None,
        typer.Option(
            help="file of translations, or a table of pairs with a score in column 3; repeat for more"
        ),
    ] = None,
    columns: Annotated[
        str,
        typer.Option(
            metavar="SOURCE,TARGET[,SCORE]",
            help="of the benchmarks, by number from 1 or by name in the first row",
        ),
    ] = "",
    text: Annotated[
        list[Path] | None,
        typer.Option(help="file of translations on which centering and --method are fitted for comparison"),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="name in the catalogue, e.g. the first of orthoglot study results --advice; '' for none"
        ),
    ] = "seed+oracle",
    source_language: options.Language = None,
    target_language: options.Language = None,
    as_json: options.AsJson = False,
    output: Annotated[Path, options.output("file to write; - for standard output")] = options.STANDARD,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Compare a model with its encoder's vectors.

    Example: orthoglot evaluate my-labse --benchmark test.tsv

    With --text also with centering and another method.
    """
    if not benchmark:
        raise ConfigError("nothing to measure on: give --benchmark FILE")
    options.check_outputs(output, inputs=[*benchmark, *(text or ())])
    if as_json:
        options.check_ending(output, ".json", content="with --json, JSON is written")
    else:
        options.check_ending(output, ".md", ".txt", content="the table is written")
    options.check_model(model)
    # Only now the libraries that take seconds: a wrong option fails at once.
    from orthoglot import catalogue
    from orthoglot.apply import evaluate as evaluation
    from orthoglot.formats.rows import codes_of
    from orthoglot.text.bitext import write_lines

    if text and method:
        catalogue.method(method)
    tags = source_language, target_language
    benchmarks = [evaluation.read(path, tags, options.columns_of(columns, (2, 3))) for path in benchmark]
    rows = evaluation.evaluate(
        options.open_model(model, device, threads).model,
        benchmarks,
        text=text or (),
        method=method,
        languages=codes_of(tags),
    )
    if as_json:
        content = []
        for row in rows:
            gain = row.minus_original and row.minus_original._asdict()
            content.append({**row._asdict(), "score": row.score._asdict(), "minus_original": gain})
        write_lines(output, [json.dumps(content, indent=1, ensure_ascii=False)])
    else:
        write_lines(output, [evaluation.table(rows)])
    if output != options.STANDARD:
        options.say(f"{len(rows)} rows: {output}")
