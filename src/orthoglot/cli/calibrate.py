"""`orthoglot calibrate`: what the margins of mining mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np

    from orthoglot.apply.calibration import Calibration
    from orthoglot.apply.mine import Side


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
    part: options.TranslationPart = None,
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
    review: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="draw so many pairs of --among above the threshold into OUTPUT.review.tsv, for a person to judge; the "
            "same command then reads the judgements",
        ),
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
    from orthoglot.apply.early_checks import check_between_0_and_1, check_share

    check_share(share, among is not None)
    if review and (among is None or output == options.STANDARD):
        raise ConfigError("--review draws pairs of the texts of --among, beside an --output that is a file")
    judged_at = output.with_name(output.name + ".review.tsv")
    options.check_outputs(*([judged_at] if review else []))
    check_between_0_and_1(precision=precision)
    from orthoglot import atomic
    from orthoglot.formats.pairs import read
    from orthoglot.text.bitext import read_sentences, write_lines

    pairs = read(files, (source_language, target_language), options.columns_of(columns), bad=bad)
    from orthoglot.apply import calibrate as calibrating
    from orthoglot.apply.calibration import outlook, picture
    from orthoglot.apply.mine import distinct, side_vectors
    from orthoglot.apply.score import text_bytes
    from orthoglot.progress import EarlyMeter

    sides = [distinct(list(read_sentences(path)), str(path)) for path in among or ()]
    opened = options.open_model(model, device, threads, part)
    with options.vectors_folder(checkpoint, output) as work:
        vectors: Sequence[np.ndarray] = ()
        if among:
            vectors = side_vectors(
                opened.model,
                (sides[0], sides[1]),
                work,
                languages=pairs.languages,
                part=opened.part,
                own_mean=own_mean,
                device=opened.search["device"],
            )
        with EarlyMeter(total=text_bytes(pairs.pairs), label="encode the pairs", unit="bytes") as meter:
            learnt = calibrating.calibrate(
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
        if review:
            judgements = _reviewed(judged_at, sides, vectors, learnt, review, opened.search)
    write_lines(output, [learnt.as_json()])
    if output != options.STANDARD:
        with atomic.replacing(output.with_name(output.name + ".svg")) as partial:
            partial.write_text(picture(learnt), encoding="utf-8")
    first, *rest = outlook(learnt)
    options.say(f"{output}: threshold {learnt.threshold:.4f}, {first}")
    for line in [*rest, *([judgements] if review else [])]:
        options.say(line)


def _reviewed(
    path: Path,
    sides: Sequence[Side],
    vectors: Sequence[np.ndarray],
    learnt: Calibration,
    count: int,
    search: dict[str, Any],
) -> str:
    """Draw pairs into a file, or read what a person wrote there; in words."""
    from orthoglot.apply import review
    from orthoglot.apply.mine import mine

    arguments: dict[str, Any] = {
        name: getattr(learnt, name) for name in ("margin", "retrieval", "neighborhood")
    }
    made_of = learnt.model, learnt.part, learnt.own_mean, arguments, *(list(side.sentences) for side in sides)
    of = review.digest(*made_of)
    if not path.exists():
        pairs, _ = mine(vectors[0], vectors[1], **arguments, **search)
        drawn = review.draw(path, pairs, [side.sentences for side in sides], learnt.threshold, count, of)
        return f"{path}: {drawn} pairs; write yes or no in its first column, and give the same command again"
    judged = review.read(path, learnt.threshold, of)
    left = f", {judged.left} are not judged yet" if judged.left else ""
    value, low, high = (100 * share for share in judged.precision)
    return (
        f"{path}: {judged.right} of {judged.pairs} judged pairs are right{left}; by the judgements alone, precision "
        f"{value:.1f} % [{low:.1f}, {high:.1f}]"
    )
