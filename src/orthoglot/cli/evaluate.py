"""`orthoglot evaluate`: one's own model on one's own benchmarks."""

from __future__ import annotations

import json
import logging
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from orthoglot.cli import options
from orthoglot.cli.network import allow_hub
from orthoglot.errors import ConfigError

PREFIX = "mteb:"  # of the name of a task
METHOD = "seed+oracle"  # that is fitted if none is named


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
    ] = METHOD,
    tasks: Annotated[
        str,
        typer.Option(
            metavar="mteb:NAME[,mteb:NAME]",
            help="tasks of mteb in place of benchmarks, e.g. mteb:Tatoeba, whose text mteb fetches; with languages, "
            "the subsets in these alone",
        ),
    ] = "",
    part: options.Part = None,
    source_language: options.Language = None,
    target_language: options.Language = None,
    as_json: options.AsJson = False,
    output: Annotated[
        Path, options.output("file to write, - for standard output; of --tasks a folder for mteb's results")
    ] = options.STANDARD,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Compare a model with its encoder's vectors.

    Example: orthoglot evaluate my-labse --benchmark test.tsv

    With --text also with centering and another method. With --tasks the model's scores on tasks of mteb.
    """
    if tasks:
        if benchmark or text or columns or as_json or method != METHOD:
            raise ConfigError(
                "--tasks: mteb's tasks take no --benchmark, --text, --columns, --method and --json"
            )
        languages = [tag for tag in (source_language, target_language) if tag]
        _evaluate_tasks(model, tasks, part, languages, output, device, threads)
        return
    if not benchmark:
        raise ConfigError("nothing to measure on: give --benchmark FILE, or --tasks mteb:NAME")
    if part:
        raise ConfigError("--part: a benchmark is measured with all vectors; only --tasks takes one part")
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


def _evaluate_tasks(
    model: Path,
    tasks: str,
    part: str | None,
    languages: list[str],
    output: Path,
    device: str,
    threads: int | None,
) -> None:
    """Run tasks of mteb, and print their scores."""
    names = tasks.split(",")
    if wrong := [name for name in names if not name.startswith(PREFIX) or name == PREFIX]:
        raise ConfigError(
            f"--tasks {wrong[0]}: write {PREFIX} and the name of a task of mteb, e.g. mteb:Tatoeba"
        )
    if output == options.STANDARD or output.is_file():
        raise ConfigError(f"--output {output}: name the folder for mteb's results")
    options.check_place(output)
    options.check_model(model)
    if find_spec("mteb") is None:
        raise ConfigError("mteb is not installed: pip install 'orthoglot[mteb]'")
    allow_hub()
    for library in ("httpx", "mteb"):  # they log every request and step
        logging.getLogger(library).setLevel(logging.WARNING)
    from orthoglot.apply import mteb_tasks
    from orthoglot.apply.mteb_model import MtebModel
    from orthoglot.languages import language_of

    chosen = mteb_tasks.tasks(
        [name.removeprefix(PREFIX) for name in names], [language_of(tag) for tag in languages]
    )
    options.use_threads(threads)
    scores = mteb_tasks.run(MtebModel(model, part, device), chosen, output)
    typer.echo(mteb_tasks.table(scores))
    options.say(f"{len(chosen)} tasks: {output / 'results'}")
