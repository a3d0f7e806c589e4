"""`orthoglot score`: how good translations are, without references."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orthoglot.cli import options

if TYPE_CHECKING:
    from orthoglot.apply.scored import Scored
    from orthoglot.encoders.settings import Precision
    from orthoglot.formats.pairs import Pairs

ENCODERS = "orthoglot.encoders"  # whose loggers say what is truncated
logger = logging.getLogger(__name__)
ADDED, OF_WORDS = ("score", "flag"), ("quality", "source_words", "target_words")


def score(
    files: options.PairFiles,
    output: Annotated[Path, options.output(options.SCORED_OUTPUT)] = options.STANDARD,
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
    bad: options.Bad = None,
    safe_csv: options.SafeCsv = False,
) -> None:
    """Score translations without references.

    Example: orthoglot score en.txt gn.txt --model my-labse -o scores.tsv

    Each pair gets two more columns: its score from -1 to 1, and a flag: copy, no_letters, untranslated, other_language
    or blank. Where translations stand some lines away, or nowhere, the flag is shifted or unrelated. A flag with a
    question mark is a guess. A blank line has no score. The log ends with the corpus score, a histogram and counts of
    flags. With --words, a pair also gets its quality, by sentences and words, and the words of each side that have no
    counterpart on the other.
    """
    options.check_outputs(output, plot, bad)
    options.check_outputs(plot, bad, inputs=files)
    options.check_ending(plot, ".svg", content="the picture is written")
    options.check_model(model)
    from orthoglot.apply.scored import Words, summary
    from orthoglot.formats.pairs import read

    pairs = read(files, (source_language, target_language), options.columns_of(columns), bad=bad)
    pairs.check_output(output)
    with Truncated() as truncated:
        scored_pairs = list(scores(pairs, model, device, threads, precision, identify, words))
    pairs.write(
        output,
        (*ADDED, *OF_WORDS) if words else ADDED,
        (
            (number, (scored.score, scored.flag, *((scored.words or Words()) if words else ())))
            for number, scored in enumerate(scored_pairs)
            if threshold is None or (scored.score is not None and scored.score >= threshold)
        ),
        others="flag" if threshold is None else "",
        # These may be of an earlier run, perhaps of another model.
        without=() if words else OF_WORDS,
        safe=safe_csv,
    )
    if plot is not None:
        from orthoglot import atomic
        from orthoglot.apply.score import picture

        with atomic.replacing(plot) as partial:
            partial.write_text(picture(scored_pairs), encoding="utf-8")
    for line in summary(scored_pairs):
        logger.info(line)
    if truncated.count:
        logger.info(
            "%d sentences are longer than the encoder reads: their ends do not count", truncated.count
        )


class Truncated(logging.Handler):
    """Counts the sentences that encoders log as truncated; a context manager."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Add those of a line of the log."""
        self.count += getattr(record, "truncated", 0)

    def __enter__(self) -> Truncated:
        logging.getLogger(ENCODERS).addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger(ENCODERS).removeHandler(self)


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
    from orthoglot.progress import EarlyMeter

    model = options.open_model(folder, device, threads, precision=precision).model
    with EarlyMeter(total=text_bytes(pairs.pairs), label="score", unit="bytes") as meter:
        yield from scoring(
            model, pairs.pairs, pairs.languages, done=meter.add, identify=identify, words=words
        )
