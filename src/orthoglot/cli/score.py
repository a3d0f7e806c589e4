"""`orthoglot score`: how good translations are, without references."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orthoglot.cli import options

if TYPE_CHECKING:
    from orthoglot.apply.scored import Scored
    from orthoglot.encoders.settings import Precision
    from orthoglot.formats.pairs import Pairs

ADDED, OF_WORDS = ("score", "flag"), ("quality", "source_words", "target_words")


def score(
    files: options.PairFiles,
    output: options.PairsOutput = options.STANDARD,
    model: options.ModelFolder = None,
    columns: options.Columns = "",
    threshold: Annotated[
        float | None, typer.Option(help="leave out pairs with a lower score", callback=options.finite)
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="SVG to write: how many pairs have which score")] = None,
    words: Annotated[
        bool,
        typer.Option("--words", help="compare words, too: add quality, source_words and target_words"),
    ] = False,
    source_language: options.Language = None,
    target_language: options.Language = None,
    precision: options.PrecisionOption = "float32",
    device: options.Device = "auto",
    threads: options.Threads = None,
    identify: options.Identify = True,
) -> None:
    """Score translations without references.

    Example: orthoglot score en.txt gn.txt --model my-labse -o scores.tsv

    Each pair gets two more columns: its score from -1 to 1, and a flag: copy, untranslated, other_language or blank.
    Where translations stand some lines away, or nowhere, the flag is shifted or unrelated.
    A flag with a question mark is a guess. A blank line has no score. With --words, a pair also gets its quality, by
    sentences and words, and the words of each side that have no counterpart on the other.
    """
    options.check_outputs(output, plot)
    options.check_model(model)
    from orthoglot.apply.scored import Words
    from orthoglot.formats.pairs import read

    pairs = read(files, (source_language, target_language), options.columns_of(columns))
    pairs.check_output(output)
    every = list(scores(pairs, model, device, threads, precision, identify, words))
    pairs.write(
        output,
        (*ADDED, *OF_WORDS) if words else ADDED,
        (
            (number, (scored.score, scored.flag, *((scored.words or Words()) if words else ())))
            for number, scored in enumerate(every)
            if threshold is None or (scored.score is not None and scored.score >= threshold)
        ),
        others="flag" if threshold is None else "",
        # Of an earlier run, perhaps of another model.
        without=() if words else OF_WORDS,
    )
    if plot is not None:
        from orthoglot import atomic
        from orthoglot.apply.score import picture

        with atomic.replacing(plot) as partial:
            partial.write_text(picture(every), encoding="utf-8")


def scores(
    pairs: Pairs,
    folder: Path | None,
    device: str,
    threads: int | None,
    precision: Precision,
    identify: bool,
    words: bool = False,
) -> Iterator[Scored]:
    """The scores of pairs by the model of a folder, with progress on standard error."""
    from orthoglot.apply.score import score as scoring
    from orthoglot.apply.score import text_bytes
    from orthoglot.progress import Meter

    model = options.open_model(folder, device, threads, precision=precision).model
    with Meter(total=text_bytes(pairs.pairs), label="score", unit="bytes") as meter:
        yield from scoring(
            model, pairs.pairs, pairs.languages, done=meter.add, identify=identify, words=words
        )
