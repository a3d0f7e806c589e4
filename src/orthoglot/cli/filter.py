"""`orthoglot filter`: the translations that score well."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orthoglot.cli import options
from orthoglot.cli.score import read, scores, shown
from orthoglot.errors import ConfigError, DataError

if TYPE_CHECKING:
    from orthoglot.apply.score import Scored


def filter(
    files: options.PairFiles,
    output: Annotated[Path, options.output("TSV of the pairs that pass, plain, .gz or .zst; - for stdout")],
    model: options.ModelFolder = None,
    threshold: Annotated[
        float | None, typer.Option(help="least score of a pair that passes", callback=options.finite)
    ] = None,
    good: Annotated[
        list[Path] | None,
        typer.Option(help="good translations like yours, a TSV file: they decide the threshold, by --loss"),
    ] = None,
    loss: Annotated[
        float, typer.Option(min=0, max=1, help="share of the --good ones that are below the threshold")
    ] = 0.05,
    drop_guesses: Annotated[
        bool,
        typer.Option(
            "--drop-guesses", help="drop what the language parts alone take for another language, too"
        ),
    ] = False,
    rejected: Annotated[
        Path | None, typer.Option(help="TSV of the others, likewise: reason, score, source, translation")
    ] = None,
    source_language: options.Language = None,
    target_language: options.Language = None,
    device: options.Device = "auto",
    threads: options.Threads = None,
    identify: options.Identify = True,
    as_json: options.AsJson = False,
) -> None:
    """Keep translations that score well.

    Example: orthoglot filter web.tsv --model my-labse --good dev.tsv -o ok.tsv

    Prints how many pairs came in, how many were kept, and how many were dropped for which reason.
    """
    options.check_outputs(output, rejected)
    from orthoglot.text.bitext import write_lines

    if (threshold is None) == (good is None):
        raise ConfigError("give --threshold, or --good with translations that decide it")
    pairs = read(files)
    how = model, (source_language, target_language), device, threads, identify
    if good:
        samples = [scored for scored in scores(read(good), *how) if not _dropped(scored, drop_guesses)]
        threshold = quantile([scored.score for scored in samples if scored.score is not None], loss)
        if not as_json:
            typer.echo(
                f"threshold {threshold:.4f}: below it are {loss:.0%} of the good translations", err=True
            )
    assert threshold is not None
    every = list(scores(pairs, *how))
    reasons = [
        _dropped(scored, drop_guesses)
        or ("" if scored.score is not None and scored.score >= threshold else "low_score")
        for scored in every
    ]
    rows = list(zip(pairs, every, reasons, strict=True))
    if rejected is not None:
        write_lines(
            rejected,
            (
                "\t".join([reason, shown(scored), *map(_cell, pair)])
                for pair, scored, reason in rows
                if reason
            ),
        )
    write_lines(output, ("\t".join(map(_cell, pair)) for pair, _, reason in rows if not reason))
    counts = Counter(reason or "kept" for reason in reasons)
    guesses = Counter(scored.flag for _, scored, reason in rows if scored.flag and not reason)
    if as_json:
        facts = {"pairs": len(pairs), "threshold": threshold, **counts, "kept_though": dict(guesses)}
        typer.echo(json.dumps(facts), err=True)
        return
    typer.echo(f"{len(pairs)} pairs: {_listed(counts)}", err=True)
    if guesses:
        typer.echo(f"of those kept: {_listed(guesses)}; --drop-guesses drops them", err=True)


def _dropped(scored: Scored, guesses: bool) -> str:
    """The flag for which a pair is dropped; a guess counts if asked for."""
    from orthoglot.apply.score import GUESS

    return scored.flag if guesses or not scored.flag.endswith(GUESS) else ""


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def quantile(scores: Sequence[float], share: float) -> float:
    """The score that this share of the scores lies below.

    Raises:
        DataError: there is no score.
    """
    if not scores:
        raise DataError(
            "no good translation has a score: each is blank, a copy or in another language than expected "
            "(--target-language names it, --no-identify does not ask)"
        )
    return sorted(scores)[min(int(share * len(scores)), len(scores) - 1)]


def _cell(text: str) -> str:
    return text.replace("\t", " ")
