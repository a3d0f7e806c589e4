"""`orthoglot mine`: translations out of two texts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np

logger = logging.getLogger(__name__)
AT_ONCE = 1 << 16  # pairs that are written
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)  # of the pairs, which the thresholds of a table keep


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
    from orthoglot.formats.rows import check_output, codes_of, write_rows
    from orthoglot.text.bitext import read_sentences

    tags = source_language, target_language
    check_output(output, tags)
    languages = codes_of(tags)
    check_best(best, retrieval, neighborhood)
    texts = [list(read_sentences(path)) for path in paths]

    # Only now the libraries that take seconds.
    import numpy as np

    from orthoglot.apply import mine as mining
    from orthoglot.apply.calibration import Calibration, percent
    from orthoglot.decomposers.own_mean import adaptable
    from orthoglot.search.margins import Mined

    ours, theirs = (mining.distinct(lines, str(path)) for lines, path in zip(texts, paths, strict=True))

    def texts_of(pairs: Mined) -> Iterator[tuple[str, str]]:
        return ((ours.sentences[i], theirs.sentences[j]) for i, j in zip(*pairs[:2], strict=True))

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
            raise ConfigError(
                f"{calibration}: made with another model, part, margin, retrieval, neighborhood or --own-mean, or in "
                "float32 where --precision differs"
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
        # Copies and pairs without letters are no translations: they lead no list.
        last, wordless = mining.obvious(texts_of(pairs), len(pairs.margins))
        order = np.argsort(last, kind="stable")
        pairs, last = Mined(*(column[order] for column in pairs)), last[order]
        chances = np.where(last, 0.0, known.probability(pairs.margins)) if known else pairs.margins
        names = [*mining.COLUMNS]
        if numbers:
            names += ["source_line", "target_line"]
        if known:
            names.append("probability")

        def rows() -> Iterator[list[Any]]:
            for start in range(0, len(last), AT_ONCE):
                batch = (column[start : start + AT_ONCE].tolist() for column in (*pairs, chances))
                for i, j, value, chance in zip(*batch, strict=True):
                    row = [value, ours.sentences[i], theirs.sentences[j]]
                    if numbers:
                        row += [ours.lines[i], theirs.lines[j]]
                    if known:
                        row.append(chance)
                    yield row

        write_rows(output, names, rows(), languages=tags, places=(1, 2), safe=safe_csv)
        summary = {
            "source": ours.counts(),
            "target": theirs.counts(),
            **mining.about_pairs(texts_of(pairs), pairs.margins),
            "without_letters": int(wordless.sum()),
            "options": {**vector_options, **search_options, "precision": precision},
            "model": identity,
            **facts,
        }
        mining.write_summary(output, summary)
    about = "" if output == options.STANDARD else f"; about them: {output}.json"
    if threshold is None and best == 1:
        _log_thresholds(pairs.margins[~last], facts.get("suggested_threshold"))
    if last.any():
        logger.info("last in the output: %d copies or pairs without letters", last.sum())
    expected = facts.get("expected_precision")
    promise = f", expected precision {percent(expected)}" if expected else ""
    options.say(f"{len(pairs.margins)} pairs{promise}: {output}{about}")


def _log_thresholds(margins: np.ndarray, suggested: float | None) -> None:
    """Log how many pairs thresholds would keep, the highest first, and which one is suggested; margins (P,) fall."""
    if suggested is None:
        logger.info("no --threshold is given, and none can be suggested: orthoglot calibrate learns one")
    else:
        logger.info(
            "no --threshold is given, so all pairs are written. Suggested is %.4f, a rough guess; orthoglot calibrate "
            "learns one",
            suggested,
        )
    ranks = {max(0, round(share * len(margins)) - 1) for share in SHARES}
    thresholds = {float(margins[rank]) for rank in ranks} if len(margins) else set()
    if suggested is not None:
        thresholds.add(suggested)
    rows = [("threshold", "pairs", "")]
    for value in sorted(thresholds, reverse=True):
        mark = "suggested" if value == suggested else ""
        rows.append((f"{value:.4f}", str((margins >= value).sum()), mark))
    for row in rows:
        logger.info("{:>11}  {:>8}  {}".format(*row).rstrip())
