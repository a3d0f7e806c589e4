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
    part: options.TranslationPart = None,
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
    safe_csv: options.SafeCsv = False,
    own_mean: Annotated[
        bool | None,
        typer.Option(
            options.OWN_MEAN,
            help="whether each text has its own mean (PLDA); as in the calibration, or yes, if not given",
            show_default=False,
        ),
    ] = None,
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
    paths = source, target
    if source == target == options.STANDARD:
        raise ConfigError("only one of the two texts can be standard input")
    if folders := [path for path in paths if path.is_dir()]:
        raise ConfigError(f"{folders[0]} is a folder: orthoglot align pairs the documents of two folders")
    options.check_outputs(output, inputs=[*paths, calibration])
    options.check_lines(*paths)
    options.check_model(model)
    from orthoglot.apply.early_checks import check_best
    from orthoglot.corpora.swapped_languages import warn_if_swapped
    from orthoglot.formats.rows import check_output, codes_of
    from orthoglot.text.bitext import read_sentences

    tags = source_language, target_language
    check_output(output, tags)
    languages = codes_of(tags)
    check_best(best, retrieval, neighborhood)
    texts = [list(read_sentences(path)) for path in paths]
    warn_if_swapped(texts, languages)

    # Only now the libraries that take seconds.
    from orthoglot.apply import mine as mining
    from orthoglot.apply.calibration import Calibration
    from orthoglot.apply.mined_file import write_pairs
    from orthoglot.decomposers.own_mean import adaptable

    ours, theirs = (mining.distinct(lines, str(path)) for lines, path in zip(texts, paths, strict=True))
    opened = options.open_model(model, device, threads, part, precision)
    identity, view = opened.model.identity, opened.part
    known = Calibration.load(calibration) if calibration else None
    if own_mean is None:
        own_mean = known.own_mean if known else True
    own_mean = own_mean and adaptable(opened.model.decomposer, view) is not None
    if known:
        given = (identity, view, margin, retrieval, neighborhood, own_mean)
        stated = (known.model, known.part, known.margin, known.retrieval, known.neighborhood, known.own_mean)
        if given != stated:
            names = "model", "--part", "--margin", "--retrieval", "--neighborhood", "--own-mean"
            values = zip(names, stated, given, strict=True)
            differences = [
                f"another {name} ({theirs}, not {ours})" for name, theirs, ours in values if theirs != ours
            ]
            raise ConfigError(
                f"{calibration}: made with {', '.join(differences)}; another --precision is another model"
            )
        threshold = known.threshold if threshold is None else threshold
    vector_options: dict[str, Any] = {"part": view, "languages": languages, "own_mean": own_mean}
    search_options: dict[str, Any] = {
        "margin": margin,
        "retrieval": retrieval,
        "threshold": threshold,
        "best": best,
        "neighborhood": neighborhood,
        "memory": memory,
        **opened.search,
    }
    with options.vectors_folder(checkpoint, output) as folder:
        vectors = mining.side_vectors(
            opened.model, (ours, theirs), folder, **vector_options, device=opened.search["device"]
        )
        pairs, facts = mining.mine(*vectors, **search_options)
        about = {
            "options": {**vector_options, **search_options, "precision": precision},
            "model": identity,
            **facts,
        }
        line = write_pairs(
            output,
            (ours, theirs),
            pairs,
            about,
            numbers=numbers,
            known=known,
            languages=tags,
            safe=safe_csv,
        )
    summary = "" if output == options.STANDARD else f"; about them: {output}.json"
    options.say(f"{line}: {output}{summary}")
