"""The verbs for mining translations out of two texts, and for what its margins mean."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from orthoglot.cli.options import (
    STANDARD,
    Device,
    Language,
    Margin,
    Memory,
    ModelFolder,
    Neighborhood,
    PairFiles,
    Part,
    Retrieval,
    Threads,
    check_outputs,
    finite,
    vectors_folder,
)
from orthoglot.errors import ConfigError

app = typer.Typer()


# Options of `mine` that only texts have, or only folders.
OF_TEXTS, OF_FOLDERS = ("retrieval", "best", "calibration", "memory"), ("join",)


@app.command()
def mine(
    context: typer.Context,
    source: Annotated[
        Path,
        typer.Argument(
            help="UTF-8 text, a sentence per line, plain, .gz or .zst; - for stdin; or a folder of them"
        ),
    ],
    target: Annotated[Path, typer.Argument(help="the same in the other language, with the same file names")],
    model: ModelFolder,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="TSV to write: margin, source, target; - for stdout")
    ],
    source_language: Language = None,
    target_language: Language = None,
    part: Part = None,
    margin: Margin = "ratio",
    retrieval: Retrieval = "max",
    neighborhood: Neighborhood = 4,
    threshold: Annotated[
        float | None, typer.Option(help="least margin to keep; all if not given", callback=finite)
    ] = None,
    best: Annotated[
        int, typer.Option(min=1, help="pairs of each source sentence, with --retrieval forward")
    ] = 1,
    calibration: Annotated[
        Path | None,
        typer.Option(help="file of orthoglot calibrate: its threshold, and a column with probabilities"),
    ] = None,
    join: Annotated[int, typer.Option(min=1, help="of folders: neighbouring sentences in one pair")] = 2,
    numbers: Annotated[bool, typer.Option("--numbers", help="add the line numbers of both sides")] = False,
    device: Device = "auto",
    threads: Threads = None,
    memory: Memory = 1.0,
    checkpoint: Annotated[
        Path | None, typer.Option(help="keep the vectors here; OUTPUT.checkpoint, removed when done")
    ] = None,
) -> None:
    """Find translations in two texts, or align the documents of two folders whose files have the same names.

    Example: orthoglot mine en.txt gn.txt --model my-labse -o pairs.tsv
    """
    if str(source) == str(target) == "-":
        raise ConfigError("only one of the two texts can be standard input")
    check_outputs(output)
    folders = source.is_dir()
    if folders != target.is_dir():
        raise ConfigError(f"{source if folders else target} is a folder and the other one is not")
    for name in OF_TEXTS if folders else OF_FOLDERS:
        # By name: which enumeration it is depends on typer's version.
        if getattr(context.get_parameter_source(name), "name", "DEFAULT") != "DEFAULT":
            raise ConfigError(
                f"--{name} is of {'texts, not of folders' if folders else 'folders, not of texts'}"
            )
    from orthoglot.apply.arguments import check_best

    check_best(best, retrieval, neighborhood)
    if folders and margin == "absolute" and threshold is None:
        raise ConfigError("--margin absolute of folders needs a --threshold")
    from orthoglot.corpora.bitext import read_lines

    texts = [] if folders else [list(read_lines(path)) for path in (source, target)]

    # Only now the libraries that take seconds: a missing text fails at once.
    import torch

    from orthoglot import load
    from orthoglot.apply.calibrate import Calibration
    from orthoglot.apply.documents import mine_folders, read_folders
    from orthoglot.apply.mine import distinct, mine_text

    if folders:
        documents = read_folders(source, target)
    else:
        sides = [distinct(lines, str(path)) for lines, path in zip(texts, (source, target), strict=True)]
    threads = threads or len(os.sched_getaffinity(0))
    torch.set_num_threads(threads)
    opened = load(model, device=device)
    part = part or ("meaning" if opened.decomposer else "sentence")
    known = Calibration.load(calibration) if calibration else None
    if known:
        given = (opened.identity, part, margin, retrieval, neighborhood)
        if given != (known.model, known.part, known.margin, known.retrieval, known.neighborhood):
            raise ConfigError(
                f"{calibration}: made with another model, part, margin, retrieval or neighborhood"
            )
        threshold = known.threshold if threshold is None else threshold
    common: dict[str, Any] = {
        "languages": (source_language, target_language),
        "part": part,
        "numbers": numbers,
        "margin": margin,
        "neighborhood": neighborhood,
        "threshold": threshold,
        "device": "cuda" if torch.cuda.is_available() and device != "cpu" else "cpu",
        "threads": threads,
    }
    with vectors_folder(checkpoint, output) as work:
        if folders:
            summary = mine_folders(opened, documents, output, work, join=join, **common)
        else:
            summary = mine_text(
                opened,
                sides[0],
                sides[1],
                output,
                work,
                probability=known.probability if known else None,
                retrieval=retrieval,
                best=best,
                memory=memory,
                **common,
            )
    unmatched = sum(len(summary[side]["unmatched"]) for side in ("source", "target")) if folders else 0
    without = f"; {unmatched} files without a partner" if unmatched else ""
    about = "" if output == STANDARD else f"; about them: {output}.json"
    typer.echo(f"{summary['pairs']} pairs: {output}{without}{about}", err=True)


@app.command()
def calibrate(
    files: PairFiles,
    model: ModelFolder,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="JSON to write, and the picture OUTPUT.svg; - for stdout"),
    ],
    precision: Annotated[
        float, typer.Option(help="share of right pairs that the threshold shall have")
    ] = 0.95,
    share: Annotated[
        float, typer.Option(help="of sentences that have a translation in your other text")
    ] = 0.1,
    among: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            metavar="SOURCE TARGET", help="the texts to be mined: the search is as hard as among them"
        ),
    ] = None,
    source_language: Language = None,
    target_language: Language = None,
    part: Part = None,
    margin: Margin = "ratio",
    retrieval: Retrieval = "max",
    neighborhood: Neighborhood = 4,
    device: Device = "auto",
    threads: Threads = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="keep the vectors of --among here, for orthoglot mine --checkpoint")
    ] = None,
) -> None:
    """Learn a threshold for mining. Example: orthoglot calibrate dev.tsv --model my-labse -o en-gn.json"""
    check_outputs(output)
    from orthoglot.apply.arguments import check_between_0_and_1

    check_between_0_and_1(share=share, precision=precision)
    from orthoglot import atomic
    from orthoglot.corpora.bitext import read_lines, read_pairs, write_lines

    if len(files) > 2:
        raise ConfigError(f"{len(files)} files: give one TSV file, or a source and its translation")
    pairs = list(read_pairs(files))
    from orthoglot.apply.mine import distinct

    sides = [distinct(list(read_lines(path)), str(path)) for path in among or ()]

    import torch

    from orthoglot import load
    from orthoglot.apply.calibrate import calibrate as calibrating
    from orthoglot.apply.calibrate import picture
    from orthoglot.apply.mine import side_vectors

    threads = threads or len(os.sched_getaffinity(0))
    torch.set_num_threads(threads)
    opened = load(model, device=device)
    languages = source_language, target_language
    part = part or ("meaning" if opened.decomposer else "sentence")
    with vectors_folder(checkpoint, output) as work:
        found = calibrating(
            opened,
            pairs,
            languages=languages,
            part=part,
            share=share,
            among=[
                (side.sentences, vectors)
                for side, vectors in zip(
                    sides,
                    side_vectors(opened, (sides[0], sides[1]), work, languages=languages, part=part),
                    strict=True,
                )
            ]
            if among
            else (),
            target_precision=precision,
            margin=margin,
            retrieval=retrieval,
            neighborhood=neighborhood,
            device="cuda" if torch.cuda.is_available() and device != "cpu" else "cpu",
            threads=threads,
        )
    write_lines(output, [found.as_json()])
    if output != STANDARD:
        with atomic.replacing(output.with_name(output.name + ".svg")) as partial:
            partial.write_text(picture(found), encoding="utf-8")
    shown = (
        f"{100 * share:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
        for share, low, high in (found.held_out_precision, found.held_out_recall)
    )
    about = f"{output}: threshold {found.threshold:.4f}. Expected, from halves of the pairs that it was not learnt on"
    typer.echo("{}: precision {}, recall {}".format(about, *shown), err=True)
