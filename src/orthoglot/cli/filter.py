"""`orthoglot filter`: the translations that score well."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Container, Sequence
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orthoglot.cli import options
from orthoglot.cli.score import ADDED, scores
from orthoglot.errors import ConfigError, DataError

if TYPE_CHECKING:
    from orthoglot.apply.scored import Scored
    from orthoglot.formats.pairs import Pairs

SHOWN = 40  # characters of a sentence that the preview prints
SHOWN_PAIRS = 10  # pairs whose numbers in the file are printed
# A side is too long if it is so many times as long as the other, after both are divided by their means.
TOO_LONG = 3.0
NUMBERS, LENGTHS = "numbers", "lengths"


def filter(
    files: options.PairFiles,
    output: Annotated[Path | None, options.output(options.SCORED_OUTPUT)] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help=f"{options.MODEL}; if not given, the score and flag that orthoglot score wrote, else the ready model"
        ),
    ] = None,
    columns: options.Columns = "",
    threshold: Annotated[
        float | None,
        typer.Option(help="least score of a pair that passes", callback=options.finite),
    ] = None,
    good: Annotated[
        list[Path] | None,
        typer.Option(
            help="good translations like yours, a file as above: they decide the threshold, by --loss"
        ),
    ] = None,
    loss: Annotated[
        float, typer.Option(min=0, max=1, help="share of the --good ones that are below the threshold")
    ] = 0.05,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="write nothing; print how many pairs ten thresholds keep, and the best one that each drops",
        ),
    ] = False,
    drop_guesses: Annotated[
        bool,
        typer.Option(
            "--drop-guesses", help="drop what the language parts alone take for another language, too"
        ),
    ] = False,
    drop_numbers: Annotated[
        bool, typer.Option("--drop-numbers", help="drop pairs whose sides have different numbers, too")
    ] = False,
    drop_lengths: Annotated[
        bool,
        typer.Option("--drop-lengths", help="drop pairs of which one side is three times too long, too"),
    ] = False,
    drop_markup: Annotated[
        bool,
        typer.Option("--drop-markup", help="drop units of a memory whose sides have different tags, too"),
    ] = False,
    near_duplicates: Annotated[
        float | None,
        typer.Option(
            min=0.7,
            max=1,
            help="drop a pair that is so similar to a better one, 0.8 for example: Jaccard similarity",
        ),
    ] = None,
    rejected: Annotated[
        Path | None, typer.Option(help="the other pairs, likewise, with further columns: score, reason")
    ] = None,
    source_language: options.Language = None,
    target_language: options.Language = None,
    precision: options.PrecisionOption = "float32",
    device: options.Device = "auto",
    threads: options.Threads = None,
    identify: options.Identify = True,
    as_json: options.AsJson = False,
    bad: options.Bad = None,
    safe_csv: options.SafeCsv = False,
) -> None:
    """Keep translations that score well.

    Example: orthoglot filter web.tsv --model my-labse --good dev.tsv -o ok.tsv

    Prints how many pairs came in, how many were kept, and how many were dropped for which reason.
    """
    if dry_run and (output or rejected or good or as_json or near_duplicates or threshold is not None):
        raise ConfigError(
            "--dry-run prints a table of thresholds and writes nothing: leave out --output, --rejected, --threshold, "
            "--good, --near-duplicates and --json"
        )
    if not dry_run and output is None:
        raise ConfigError("give --output, or --dry-run to see what thresholds would keep")
    options.check_outputs(output, rejected, bad)
    options.check_outputs(rejected, bad, inputs=[*files, *(good or ())])
    options.check_model(model)
    from orthoglot.formats.pairs import read

    if threshold is not None and not -1 <= threshold <= 1:
        raise ConfigError(f"--threshold {threshold:g}: scores are between -1 and 1")
    if not dry_run and (threshold is None) == (good is None):
        raise ConfigError("give --threshold, or --good with translations that decide it")
    pairs = read(
        files,
        (source_language, target_language),
        options.columns_of(columns),
        bad=bad,
        markup=not drop_markup,
    )
    for path in (output, rejected):
        if path is not None:
            pairs.check_output(path)

    # Scores of two models say nothing together: all files have scores, or none is read by them.
    pairs = pairs if model else pairs.with_columns(ADDED)
    before = model is None and ADDED[0] in _plain(pairs.names)
    if before and not identify:
        raise ConfigError(
            "the pairs have scores and flags of orthoglot score, so --no-identify would change nothing: leave it out, "
            "or give --model to score them again"
        )

    def scored_by(of_pairs: Pairs, paths: Sequence[Path]) -> Sequence[Scored]:
        if before:
            return scored_before(of_pairs, " ".join(map(str, paths)))
        return list(scores(of_pairs, model, device, threads, precision, identify))

    doubts = _disagreements(pairs.pairs)
    doubted = dict.fromkeys(doubts[LENGTHS] if drop_lengths else (), LENGTHS)
    doubted |= dict.fromkeys(doubts[NUMBERS] if drop_numbers else (), NUMBERS)
    if dry_run:
        _preview(pairs, scored_by(pairs, files), drop_guesses, doubted)
        return
    if good:
        source, target = pairs.languages
        # Two varieties of one language have only their tags to tell them apart.
        asked = pairs.tags if source == target else (source_language or source, target_language or target)
        known = scored_by(read(good, asked).with_columns(ADDED), good)
        samples = [scored for scored in known if not _dropped(scored, drop_guesses)]
        threshold = quantile([scored.score for scored in samples if scored.score is not None], loss)
        if not as_json:
            typer.echo(
                f"threshold {threshold:.4f}: below it are {loss:.0%} of the good translations", err=True
            )
    assert threshold is not None
    assert output is not None
    scored_pairs = scored_by(pairs, files)
    reasons = []
    for number, scored in enumerate(scored_pairs):
        low = scored.score is None or scored.score < threshold
        reasons.append(_dropped(scored, drop_guesses) or ("low_score" if low else doubted.get(number, "")))
    if near_duplicates:
        _mark_near_duplicates(pairs, scored_pairs, near_duplicates, reasons)
    if rejected is not None:
        # A score that was there stays as it was written.
        names = ("reason",) if before else (ADDED[0], "reason")
        dropped = (
            (number, (reason,) if before else (scored_pairs[number].score, reason))
            for number, reason in enumerate(reasons)
            if reason
        )
        pairs.write(rejected, names, dropped, others="reason", safe=safe_csv)
    passed = ((number, ()) for number, reason in enumerate(reasons) if not reason)
    pairs.write(output, (), passed, safe=safe_csv)
    _report(threshold, scored_pairs, reasons, doubts, as_json)


def _report(
    threshold: float,
    scored_pairs: Sequence[Scored],
    reasons: Sequence[str],
    doubts: dict[str, list[int]],
    as_json: bool,
) -> None:
    """Print how many pairs passed, why others were dropped, and what is doubtful of those that passed."""
    from orthoglot.formats.pairs import listed

    counts = Counter(reason or "kept" for reason in reasons)
    passed = [scored for scored, reason in zip(scored_pairs, reasons, strict=True) if not reason]
    guesses = Counter(scored.flag for scored in passed if scored.flag)
    rows = {name: [row + 1 for row in numbers if not reasons[row]] for name, numbers in doubts.items()}
    if as_json:
        facts = {"pairs": len(scored_pairs), "threshold": threshold, **counts, "kept_though": dict(guesses)}
        typer.echo(json.dumps(facts | {"disagree": rows}), err=True)
        return
    typer.echo(f"{len(scored_pairs)} pairs: {listed(counts)}", err=True)
    if guesses:
        typer.echo(f"of those kept: {listed(guesses)}; --drop-guesses drops them", err=True)
    for name, numbers in rows.items():
        if numbers:
            first = ", ".join(map(str, numbers[:SHOWN_PAIRS]))
            more = " ..." if len(numbers) > SHOWN_PAIRS else ""
            typer.echo(
                f"of those kept: {len(numbers)} differ in {name} (pairs {first}{more}); --drop-{name} drops them",
                err=True,
            )


def _disagreements(pairs: Sequence[tuple[str, str]]) -> dict[str, list[int]]:
    """The rows of the pairs whose sides have different numbers, and of those with a side that is too long, by check.

    See `orthoglot.corpora.filters`. A pair with a blank side passes both checks, and does not count in the means.
    """
    from orthoglot.corpora.filters import LengthRatio, Numbers

    rows = [row for row, pair in enumerate(pairs) if all(map(str.strip, pair))]
    if not rows:
        return {NUMBERS: [], LENGTHS: []}
    sides = [pairs[row][0] for row in rows], [pairs[row][1] for row in rows]
    means = [sum(map(len, side)) / len(rows) for side in sides]
    rules = {NUMBERS: Numbers(1.0), LENGTHS: LengthRatio(TOO_LONG, means)}
    return {name: [*compress(rows, ~rule.accepts(rule.scores(sides)))] for name, rule in rules.items()}


def _mark_near_duplicates(
    pairs: Pairs, scored_pairs: Sequence[Scored], threshold: float, reasons: list[str]
) -> None:
    """Give this reason to each pair without one that is a near-duplicate of one with a better score, or earlier.

    A pair with a side without letters and digits is like no other.
    """
    from orthoglot.corpora.near_duplicates import find_near_duplicates
    from orthoglot.text.keys import normalised

    keys = {
        number: sides
        for number, reason in enumerate(reasons)
        if not reason and all(sides := [*map(normalised, pairs.pairs[number])])
    }
    passed = sorted(keys, key=lambda number: scored_pairs[number].score or 0.0, reverse=True)
    texts = ["\t".join(keys[number]) for number in passed]
    for number in compress(passed, find_near_duplicates(texts, threshold)):
        reasons[number] = "near_duplicate"


def _preview(pairs: Pairs, scored_pairs: Sequence[Scored], guesses: bool, doubted: Container[int]) -> None:
    """Print what ten thresholds would keep of the pairs that are not `doubted`, and the best pair that each drops."""
    from orthoglot.apply.scored import levels

    known = {
        number: scored.score
        for number, scored in enumerate(scored_pairs)
        if scored.score is not None and not _dropped(scored, guesses) and number not in doubted
    }
    rows = [("threshold", "keeps", "goes, with its score", "", "")]
    for level in levels(known):
        source, target = (
            side if len(side) <= SHOWN else f"{side[:SHOWN]}…" for side in pairs.written(level.best_dropped)
        )
        rows.append(
            (f"{level.threshold:.4f}", str(level.kept), f"{known[level.best_dropped]:.4f}", source, target)
        )
    options.print_table(rows, right=(0, 1, 2))
    typer.echo(f"{len(scored_pairs)} pairs: {len(known)} without a flag")


def scored_before(pairs: Pairs, name: str) -> list[Scored]:
    """What `orthoglot score`, or a person, wrote beside the pairs.

    Raises:
        ConfigError: they have no scores.
        DataError: a score is absent, or no number from -1 to 1.
    """
    from orthoglot.apply.scored import Scored

    names = _plain(pairs.names)
    if ADDED[0] not in names:
        raise ConfigError(f"{name} has no score of orthoglot score: give --model")
    score = names.index(ADDED[0])
    flag = names.index(ADDED[1]) if ADDED[1] in names else None
    scored_rows = []
    for number, row in enumerate(pairs.rows):
        flagged = "" if flag is None else row[flag].strip()
        try:
            # A memory also has flags of units that had no pair.
            value = None if flagged and not row[score].strip() else float(row[score])
        except ValueError:
            value = math.nan
        if value is not None and not -1 <= value <= 1:
            place = f"unit {pairs.units[number] + 1}" if pairs.memory else f"line {number + 2}"
            raise DataError(
                f"{name}: {place}: the score {row[score]!r} is no number from -1 to 1; --model scores all again"
            )
        scored_rows.append(Scored(value, flagged, value))
    return scored_rows


def _plain(names: Sequence[str]) -> list[str]:
    """Names of columns as `orthoglot score` writes them, whatever their case."""
    return [name.strip().lower() for name in names]


def _dropped(scored: Scored, guesses: bool) -> str:
    """The flag for which a pair is dropped; a guess counts if asked for."""
    return scored.flag if guesses else scored.fault


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
