"""The verbs for translations that exist: score them, and keep the good ones."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orthoglot.cli.options import (
    AsJson,
    Device,
    Language,
    ModelFolder,
    PairFiles,
    Threads,
    check_outputs,
    finite,
)
from orthoglot.errors import ConfigError, DataError

if TYPE_CHECKING:
    from orthoglot.apply.score import Scored

app = typer.Typer()
Identify = Annotated[
    bool,
    typer.Option("--identify/--no-identify", help="whether a language identifier checks the translations"),
]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="file to write, plain, .gz or .zst; - for standard output")
]


@app.command()
def score(
    files: PairFiles,
    model: ModelFolder,
    output: Output = Path("-"),
    form: Annotated[
        Literal["tsv", "jsonl"], typer.Option("--format", help="tab-separated, or JSON lines")
    ] = "tsv",
    threshold: Annotated[
        float | None, typer.Option(help="leave out pairs with a lower score", callback=finite)
    ] = None,
    source_language: Language = None,
    target_language: Language = None,
    device: Device = "auto",
    threads: Threads = None,
    identify: Identify = True,
) -> None:
    """Score translations without references. Example: orthoglot score en.txt gn.txt --model my-labse -o scores.tsv

    A line per pair: its score from -1 to 1, and a flag: copy, untranslated, other_language or blank. A flag with a
    question mark is a guess. A blank line has no score.
    """
    check_outputs(output)
    from orthoglot.corpora.bitext import write_lines

    def lines(pair: tuple[str, str], one: Scored) -> str:
        if form == "jsonl":
            content = {"score": one.score, "flag": one.flag, "similarity": one.similarity}
            content |= {"source": pair[0], "target": pair[1]}
            return json.dumps(content, ensure_ascii=False)
        return f"{'' if one.score is None else f'{one.score:.6f}'}\t{one.flag}"

    pairs = _read(files)
    scored = _scores(pairs, model, (source_language, target_language), device, threads, identify)
    kept = (
        lines(pair, one)
        for pair, one in zip(pairs, scored, strict=True)
        if threshold is None or (one.score is not None and one.score >= threshold)
    )
    write_lines(output, kept)


@app.command("filter")
def filter_pairs(
    files: PairFiles,
    model: ModelFolder,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="TSV of the pairs that pass, plain, .gz or .zst; - for stdout"),
    ],
    threshold: Annotated[
        float | None, typer.Option(help="least score of a pair that passes", callback=finite)
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
    source_language: Language = None,
    target_language: Language = None,
    device: Device = "auto",
    threads: Threads = None,
    identify: Identify = True,
    as_json: AsJson = False,
) -> None:
    """Keep translations that score well. Example: orthoglot filter web.tsv --model my-labse --good dev.tsv -o ok.tsv

    Prints how many pairs came in, how many were kept, and how many were dropped for which reason.
    """
    check_outputs(output, rejected)
    from orthoglot.corpora.bitext import write_lines

    if (threshold is None) == (good is None):
        raise ConfigError("give --threshold, or --good with translations that decide it")
    pairs = _read(files)
    languages = source_language, target_language
    if good:
        samples = _scores(_read(good), model, languages, device, threads, identify)
        least = quantile(
            [one.score for one in samples if one.score is not None and not _dropped(one, drop_guesses)], loss
        )
        if not as_json:
            typer.echo(f"threshold {least:.4f}: below it are {loss:.0%} of the good translations", err=True)
    else:
        least = threshold or 0.0
    scored = list(_scores(pairs, model, languages, device, threads, identify))
    reasons = [
        _dropped(one, drop_guesses) or ("" if one.score is not None and one.score >= least else "low_score")
        for one in scored
    ]
    rows = list(zip(pairs, scored, reasons, strict=True))
    if rejected is not None:
        dropped = (
            "\t".join([reason, "" if one.score is None else f"{one.score:.6f}", *map(_cell, pair)])
            for pair, one, reason in rows
            if reason
        )
        write_lines(rejected, dropped)
    write_lines(output, ("\t".join(map(_cell, pair)) for pair, _, reason in rows if not reason))
    counts = Counter(reason or "kept" for reason in reasons)
    guesses = Counter(
        one.flag for one, reason in zip(scored, reasons, strict=True) if one.flag and not reason
    )
    if as_json:
        facts = {"pairs": len(pairs), "threshold": least, **counts, "kept_though": dict(guesses)}
        typer.echo(json.dumps(facts), err=True)
        return
    typer.echo(f"{len(pairs)} pairs: {_listed(counts)}", err=True)
    if guesses:
        typer.echo(f"of those kept: {_listed(guesses)}; --drop-guesses drops them", err=True)


def _dropped(one: Scored, guesses: bool) -> str:
    """The flag for which a pair is dropped; a guess counts if asked for."""
    from orthoglot.apply.score import GUESS

    return one.flag if guesses or not one.flag.endswith(GUESS) else ""


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _read(files: list[Path]) -> list[tuple[str, str]]:
    from orthoglot.corpora.bitext import read_pairs

    if len(files) > 2 or [str(path) for path in files].count("-") > 1:
        raise ConfigError(f"{' '.join(map(str, files))}: give one TSV file, or a source and its translation")
    return list(read_pairs(files))


def _scores(
    pairs: list[tuple[str, str]],
    model: Path,
    languages: tuple[str | None, str | None],
    device: str,
    threads: int | None,
    identify: bool,
) -> Iterator[Scored]:
    # Only now the libraries that take seconds: an absent text fails at once.
    import torch

    from orthoglot import load
    from orthoglot.apply.score import score as scoring
    from orthoglot.progress import Meter

    torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
    opened = load(model, device=device)
    with Meter(total=2 * len(pairs), label="score", unit="sentences") as meter:
        yield from scoring(opened, pairs, languages, done=meter.add, identify=identify)


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
