"""`orthoglot fit`: a decomposer of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError


def fit(
    bitext: Annotated[
        list[str],
        typer.Option(
            help="a table (.tsv, .csv), two files of lines joined by a comma, or a translation memory (.tmx, .xliff, "
            ".po, .mo); also .gz or .zst; - for a table on standard input; repeat for more texts"
        ),
    ],
    pair: Annotated[
        list[str],
        typer.Option(
            help="language pair of each --bitext, pivot first, e.g. en-gn, or en-pt_BR of a memory with pt_PT, too"
        ),
    ],
    output: Annotated[Path, typer.Option(help="the model folder to write")],
    encoder: Annotated[
        str | None,
        typer.Option(
            help="a folder with encoder.json, of sentence-transformers or transformers, a name of orthoglot get, or a "
            "hub id; if not given, that of the ready model. PLDA starts from the ready map of an encoder that has one"
        ),
    ] = None,
    columns: options.Columns = "",
    method: Annotated[
        str,
        typer.Option(
            help="name in the catalogue of methods, e.g. plda, seed, dream+oracle; none is best on all encoders"
        ),
    ] = "plda",
    params: Annotated[
        Path | None,
        typer.Option(help="params.yaml with the catalogue; the one that comes with orthoglot if not given"),
    ] = None,
    name: Annotated[
        str, typer.Option(help="of the encoder, for the record; its folder's name if not given")
    ] = "",
    revision: Annotated[str, typer.Option(help="commit of a hub id, 40 hex digits")] = "",
    pooling: Annotated[
        Literal["cls", "pooler", "mean"] | None,
        typer.Option(help="of the transformer's states, in place of the model's own steps"),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="longest sentence in tokens; the folder decides if not given, else 128"),
    ] = None,
    prefix: Annotated[str, typer.Option(help="put before every sentence, e.g. 'query: '")] = "",
    licence: Annotated[str, typer.Option(help="of the encoder; as its README says if not given")] = "",
    learning_rate: Annotated[
        float,
        typer.Option(
            help="of Adam, unless the method has its own, as meat-recipe [papers: DREAM, SEED 1e-4; MEAT, ORACLE 1e-5]"
        ),
    ] = 1e-3,
    batch_size: Annotated[int, typer.Option(min=2, help="sentence pairs a step [papers: 512]")] = 512,
    max_epochs: Annotated[
        int, typer.Option(min=1, help="passes over the text at most [papers: DREAM 1000, others 10000]")
    ] = 1000,
    patience: Annotated[
        int,
        typer.Option(
            min=1, help="epochs without a better validation value before stopping [papers: 10; SEED 5]"
        ),
    ] = 10,
    stopping: Annotated[
        Literal["total", "retrieval", "without-opponents"],
        typer.Option(
            help="that value: sum of all terms [papers], P@1 of the meaning part, sum without adversarial terms"
        ),
    ] = "total",
    seed: Annotated[int, typer.Option(help="of initial weights, order and partners")] = 1,
    valid_share: Annotated[
        float, typer.Option(help="of the pivot sentences: when to stop the training")
    ] = 0.05,
    test_share: Annotated[float, typer.Option(help="of the pivot sentences: what is measured")] = 0.05,
    realign: options.Realign = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="keep text and vectors here for the next method; OUTPUT.checkpoint, removed when done"
        ),
    ] = None,
    bad: options.Bad = None,
    as_json: options.AsJson = False,
) -> None:
    """Fit a decomposer to your own bitext and measure it on a held-out part.

    Example: orthoglot fit --bitext en-gn.tsv.gz --pair en-gn --output my-model
    """
    from orthoglot import catalogue
    from orthoglot.apply.early_checks import texts_by_pair
    from orthoglot.formats.sources import write_bad_rows
    from orthoglot.languages import parse_pair
    from orthoglot.settings import checked
    from orthoglot.text.splitting import SplitSettings
    from orthoglot.training.settings import DecompositionSettings

    if output == options.STANDARD:
        raise ConfigError("--output is a folder, which standard output cannot be")
    options.check_place(output)
    options.check_outputs(bad, inputs=[Path(name) for text in bitext for name in (text, *text.split(","))])
    chosen = catalogue.method(method, params)
    recipe = checked(
        DecompositionSettings,
        {
            "learning_rate": learning_rate,
            "batch_size": batch_size,
            "max_epochs": max_epochs,
            "patience": patience,
            "stopping": stopping,
        },
    )
    # Not the training's seed: models of other seeds are measured on the same sentences.
    shares = {"valid": valid_share, "test": test_share}
    splits = checked(SplitSettings, {"seed": 1, **shares, "max_train": 0, "max_valid": 0, "max_test": 0})

    with options.vectors_folder(checkpoint, output) as work:
        texts = texts_by_pair(bitext, pair, options.columns_of(columns), work / "standard-input")
        if bad:
            write_bad_rows(
                bad, ((text, *parse_pair(code)) for code, sources in texts.items() for text in sources)
            )

        # Only now the libraries that take seconds: a wrong option or an absent text fails at once.
        from orthoglot.apply import fit as fitting
        from orthoglot.apply import ready
        from orthoglot.apply.encoder_copy import Checkpoint
        from orthoglot.apply.held_out_retrieval import table
        from orthoglot.apply.model_folders import MAP, model_folder
        from orthoglot.encoders.folder import ENCODER

        start, place = None, model_folder(None if encoder is None else Path(encoder))
        if place is None:
            from orthoglot.apply import ready_model

            encoder, start = str(ready_model.default() / ENCODER), ready.load()
        elif (place / MAP).is_file():
            from orthoglot.apply.model import opened

            encoder, start = str(opened(place)[1]), ready.load(place / MAP)
        else:
            encoder = str(place if place.is_dir() else encoder)
        if chosen.architecture != "plda" or chosen.own_settings:
            start = None
        options.use_threads(threads)
        records = fitting.fit(
            Checkpoint(encoder, name, revision, pooling, max_tokens, prefix, licence),
            texts,
            method,
            chosen,
            recipe,
            splits,
            seed=seed,
            device=device,
            checkpoint=work,
            output=output,
            start=start,
            realign=realign,
        )
    if as_json:
        typer.echo(json.dumps([vars(record) for record in records], indent=1, ensure_ascii=False))
        return
    typer.echo(
        f"{output}: {method}. Test pairs whose translation is ranked first, % [95 % interval].\n"
        "Want: meaning > original, language near 0. Candidates: all sentences of that side, training included."
    )
    typer.echo(table(records))
