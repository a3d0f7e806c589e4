"""`orthoglot score`: how good translations are, without references."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError

if TYPE_CHECKING:
    from orthoglot.apply.score import Scored


def score(
    files: options.PairFiles,
    model: options.ModelFolder = None,
    output: Annotated[
        Path, options.output("file to write, plain, .gz or .zst; - for standard output")
    ] = Path("-"),
    form: Annotated[
        Literal["tsv", "jsonl"], typer.Option("--format", help="tab-separated, or JSON lines")
    ] = "tsv",
    threshold: Annotated[
        float | None, typer.Option(help="leave out pairs with a lower score", callback=options.finite)
    ] = None,
    source_language: options.Language = None,
    target_language: options.Language = None,
    device: options.Device = "auto",
    threads: options.Threads = None,
    identify: options.Identify = True,
) -> None:
    """Score translations without references.

    Example: orthoglot score en.txt gn.txt --model my-labse -o scores.tsv

    A line per pair: its score from -1 to 1, and a flag: copy, untranslated, other_language or blank. A flag with a
    question mark is a guess. A blank line has no score.
    """
    options.check_outputs(output)
    from orthoglot.text.bitext import write_lines

    def line(pair: tuple[str, str], scored: Scored) -> str:
        if form == "jsonl":
            content = {**scored._asdict(), "source": pair[0], "target": pair[1]}
            return json.dumps(content, ensure_ascii=False)
        return f"{shown(scored)}\t{scored.flag}"

    pairs = read(files)
    every = scores(pairs, model, (source_language, target_language), device, threads, identify)
    write_lines(
        output,
        (
            line(pair, scored)
            for pair, scored in zip(pairs, every, strict=True)
            if threshold is None or (scored.score is not None and scored.score >= threshold)
        ),
    )


def shown(scored: Scored) -> str:
    """A score in text; nothing of a blank line."""
    return "" if scored.score is None else f"{scored.score:.6f}"


def read(files: list[Path]) -> list[tuple[str, str]]:
    """The pairs of one TSV file, or of a source and its translation."""
    from orthoglot.text.bitext import read_pairs

    if len(files) > 2 or [str(path) for path in files].count("-") > 1:
        raise ConfigError(f"{' '.join(map(str, files))}: give one TSV file, or a source and its translation")
    return list(read_pairs(files))


def scores(
    pairs: list[tuple[str, str]],
    folder: Path | None,
    languages: tuple[str | None, str | None],
    device: str,
    threads: int | None,
    identify: bool,
) -> Iterator[Scored]:
    """The scores of pairs by the model of a folder, with progress on standard error."""
    from orthoglot.apply.score import score as scoring
    from orthoglot.progress import Meter

    model = options.open_model(folder, device, threads).model
    with Meter(total=2 * len(pairs), label="score", unit="sentences") as meter:
        yield from scoring(model, pairs, languages, done=meter.add, identify=identify)
