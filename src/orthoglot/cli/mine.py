"""`orthoglot mine`: translations out of two texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError


def mine(
    source: Annotated[
        Path, typer.Argument(help="UTF-8 text, a sentence per line, plain, .gz or .zst; - for stdin")
    ],
    target: Annotated[Path, typer.Argument(help="the same in the other language")],
    output: options.PairsOutput,
    model: options.ModelFolder = None,
    source_language: options.Language = None,
    target_language: options.Language = None,
    part: options.Part = None,
    margin: options.Margin = "ratio",
    retrieval: options.Retrieval = "max",
    neighborhood: options.Neighborhood = 4,
    threshold: options.Threshold = None,
    best: Annotated[
        int, typer.Option(min=1, help="pairs of each source sentence, with --retrieval forward")
    ] = 1,
    calibration: Annotated[
        Path | None,
        typer.Option(help="file of orthoglot calibrate: its threshold, and a column with probabilities"),
    ] = None,
    numbers: options.Numbers = False,
    precision: options.PrecisionOption = "float32",
    device: options.Device = "auto",
    threads: options.Threads = None,
    memory: Annotated[
        float,
        typer.Option(
            min=0.01, help="GiB for the search where it is not exact; less takes longer. Vectors are on disk"
        ),
    ] = 1.0,
    checkpoint: options.Checkpoint = None,
) -> None:
    """Find translations in two texts.

    Example: orthoglot mine en.txt gn.txt --model my-labse -o pairs.tsv

    `orthoglot align` pairs the sentences of two folders of documents.
    """
    if source == target == options.STANDARD:
        raise ConfigError("only one of the two texts can be standard input")
    if folders := [path for path in (source, target) if path.is_dir()]:
        raise ConfigError(f"{folders[0]} is a folder: orthoglot align pairs the documents of two folders")
    options.check_outputs(output)
    options.check_model(model)
    from orthoglot.apply.arguments import check_best
    from orthoglot.formats.pairs import check_output, write_rows
    from orthoglot.text.bitext import read_lines

    languages = source_language, target_language
    check_output(output, languages)
    check_best(best, retrieval, neighborhood)
    texts = [list(read_lines(path)) for path in (source, target)]

    # Only now the libraries that take seconds.
    from orthoglot.apply import mine as mining
    from orthoglot.apply.calibrate import Calibration

    ours, theirs = (
        mining.distinct(lines, str(path)) for lines, path in zip(texts, (source, target), strict=True)
    )
    opened = options.open_model(model, device, threads, part, precision)
    known = Calibration.load(calibration) if calibration else None
    if known:
        given = (opened.model.identity, opened.part, margin, retrieval, neighborhood)
        if given != (known.model, known.part, known.margin, known.retrieval, known.neighborhood):
            raise ConfigError(
                f"{calibration}: made with another model, part, margin, retrieval or neighborhood, or in float32 "
                "where --precision differs"
            )
        threshold = known.threshold if threshold is None else threshold
    shared: dict[str, Any] = {"part": opened.part, "languages": languages}
    how: dict[str, Any] = {
        "margin": margin,
        "retrieval": retrieval,
        "neighborhood": neighborhood,
        "threshold": threshold,
        "best": best,
        "memory": memory,
        **opened.search,
    }
    with options.vectors_folder(checkpoint, output) as work:
        vectors = mining.side_vectors(
            opened.model, (ours, theirs), work, **shared, device=opened.search["device"]
        )
        pairs, facts = mining.mine(*vectors, **how)
        chances = known.probability(pairs.margins) if known else pairs.margins
        mined = list(zip(*(column.tolist() for column in (*pairs, chances)), strict=True))
        lines = ["source_line", "target_line"] if numbers else []
        write_rows(
            output,
            [*mining.COLUMNS, *lines, *(["probability"] if known else [])],
            (
                [
                    value,
                    ours.sentences[i],
                    theirs.sentences[j],
                    *([ours.lines[i], theirs.lines[j]] if numbers else []),
                    *([chance] if known else []),
                ]
                for i, j, value, chance in mined
            ),
            languages=languages,
            places=(1, 2),
        )
        summary = {
            "source": ours.counts(),
            "target": theirs.counts(),
            **mining.about_pairs(
                [(ours.sentences[i], theirs.sentences[j]) for i, j, *_ in mined], pairs.margins
            ),
            "options": {**shared, **how, "precision": precision},
            "model": opened.model.identity,
            **facts,
        }
        mining.write_summary(output, summary)
    about = "" if output == options.STANDARD else f"; about them: {output}.json"
    typer.echo(f"{len(mined)} pairs: {output}{about}", err=True)
