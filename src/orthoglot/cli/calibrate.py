"""`orthoglot calibrate`: what the margins of mining mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orthoglot.cli import options


def calibrate(
    files: options.PairFiles,
    output: Annotated[Path, options.output("JSON to write, and the picture OUTPUT.svg; - for stdout")],
    model: options.ModelFolder = None,
    columns: options.Columns = "",
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
    source_language: options.Language = None,
    target_language: options.Language = None,
    part: options.Part = None,
    margin: options.Margin = "ratio",
    retrieval: options.Retrieval = "max",
    neighborhood: options.Neighborhood = 4,
    realign: options.Realign = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="keep the vectors of --among here, for orthoglot mine --checkpoint")
    ] = None,
) -> None:
    """Learn a threshold for mining.

    Example: orthoglot calibrate dev.tsv --model my-labse -o en-gn.json
    """
    options.check_outputs(output)
    options.check_model(model)
    from orthoglot.apply.arguments import check_between_0_and_1

    check_between_0_and_1(share=share, precision=precision)
    from orthoglot import atomic
    from orthoglot.formats.pairs import read
    from orthoglot.text.bitext import read_lines, write_lines

    pairs = read(files, (source_language, target_language), options.columns_of(columns))
    from orthoglot.apply import calibrate as calibration
    from orthoglot.apply.mine import distinct, side_vectors

    sides = [distinct(list(read_lines(path)), str(path)) for path in among or ()]
    opened = options.open_model(model, device, threads, part)
    with options.vectors_folder(checkpoint, output) as work:
        vectors = (
            side_vectors(
                opened.model,
                (sides[0], sides[1]),
                work,
                languages=pairs.languages,
                part=opened.part,
                device=opened.search["device"],
            )
            if among
            else ()
        )
        learnt = calibration.calibrate(
            opened.model,
            pairs.pairs,
            languages=pairs.languages,
            part=opened.part,
            share=share,
            among=[(side.sentences, rows) for side, rows in zip(sides, vectors, strict=True)],
            target_precision=precision,
            margin=margin,
            retrieval=retrieval,
            neighborhood=neighborhood,
            realign=realign,
            **opened.search,
        )
    write_lines(output, [learnt.as_json()])
    if output != options.STANDARD:
        with atomic.replacing(output.with_name(output.name + ".svg")) as partial:
            partial.write_text(calibration.picture(learnt), encoding="utf-8")
    shown = (
        f"{name} {100 * value:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
        for name, (value, low, high) in (
            ("precision", learnt.held_out_precision),
            ("recall", learnt.held_out_recall),
        )
    )
    about = f"{output}: threshold {learnt.threshold:.4f}. Expected, from halves of the pairs that it was not learnt on"
    typer.echo(f"{about}: {', '.join(shown)}", err=True)
