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
        float | None,
        typer.Option(
            help="of sentences that have a translation in your other text; estimated from --among if not given"
        ),
    ] = None,
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
    own_mean: options.OwnMean = True,
    device: options.Device = "auto",
    threads: options.Threads = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="keep the vectors of --among here, for orthoglot mine --checkpoint")
    ] = None,
    bad: options.Bad = None,
) -> None:
    """Learn a threshold for mining.

    Example: orthoglot calibrate dev.tsv --model my-labse --among en.txt gn.txt -o en-gn.json

    The share of sentences with a translation is estimated from the texts of --among; without them, give --share.
    """
    options.check_outputs(output, bad, inputs=[*files, *(among or ())])
    options.check_ending(output, ".json", content="the calibration is written")
    options.check_model(model)
    from orthoglot.apply.arguments import check_between_0_and_1, check_share

    check_share(share, among is not None)
    check_between_0_and_1(precision=precision)
    from orthoglot import atomic
    from orthoglot.formats.pairs import read
    from orthoglot.text.bitext import read_sentences, write_lines

    pairs = read(files, (source_language, target_language), options.columns_of(columns), bad=bad)
    from orthoglot.apply import calibrate as calibration
    from orthoglot.apply.mine import distinct, side_vectors
    from orthoglot.apply.score import text_bytes
    from orthoglot.meter import EarlyMeter

    sides = [distinct(list(read_sentences(path)), str(path)) for path in among or ()]
    opened = options.open_model(model, device, threads, part)
    with options.vectors_folder(checkpoint, output) as work:
        vectors = (
            side_vectors(
                opened.model,
                (sides[0], sides[1]),
                work,
                languages=pairs.languages,
                part=opened.part,
                own_mean=own_mean,
                device=opened.search["device"],
            )
            if among
            else ()
        )
        with EarlyMeter(total=text_bytes(pairs.pairs), label="encode the pairs", unit="bytes") as meter:
            learnt = calibration.calibrate(
                opened.model,
                pairs.pairs,
                languages=pairs.languages,
                part=opened.part,
                own_mean=own_mean,
                share=share,
                among=[(side.sentences, rows) for side, rows in zip(sides, vectors, strict=True)],
                target_precision=precision,
                margin=margin,
                retrieval=retrieval,
                neighborhood=neighborhood,
                realign=realign,
                **opened.search,
                done=meter.add,
            )
    write_lines(output, [learnt.as_json()])
    if output != options.STANDARD:
        with atomic.replacing(output.with_name(output.name + ".svg")) as partial:
            partial.write_text(calibration.picture(learnt), encoding="utf-8")
    first, *rest = calibration.outlook(learnt)
    options.say(f"{output}: threshold {learnt.threshold:.4f}, {first}")
    for line in rest:
        options.say(line)
