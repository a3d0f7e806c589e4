"""The verbs for people: encode, edit vectors, and look things up."""

from __future__ import annotations

import json
import os
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orthoglot import atomic
from orthoglot.cli.options import (
    AsJson,
    Device,
    Language,
    Part,
    Threads,
    check_outputs,
)
from orthoglot.errors import ConfigError, DataError

if TYPE_CHECKING:
    from orthoglot.encoders.language_coverage import Row

SAMPLE_SENTENCES = 1000

app = typer.Typer()
RecordsFile = Annotated[Path, typer.Argument(help="records.jsonl or records.parquet of a report")]


@app.command()
def table(
    paper: Annotated[str, typer.Argument(help="oracle or seed")],
    records: RecordsFile,
    output: Annotated[Path, typer.Argument(help="folder for <paper>-table.md, .html, .csv and .json")],
) -> None:
    """Write a paper's tables with a run's numbers. Example: orthoglot table oracle results/records.jsonl tables"""
    from orthoglot.papers.table import write_records
    from orthoglot.statistics.records import read_records

    write_records(paper, read_records(records), output)


@app.command()
def claims(
    records: RecordsFile,
    output: Annotated[Path, typer.Argument(help="folder for claims.md, .html and .json")],
) -> None:
    """Test what ORACLE and SEED claim. Example: orthoglot claims results/records.jsonl tables"""
    from orthoglot.papers.table import write_claims
    from orthoglot.statistics.records import read_records

    write_claims(read_records(records), output)


@app.command()
def recommend(records: RecordsFile, as_json: AsJson = False) -> None:
    """Say which method is best for retrieval, scoring and search. Example: orthoglot recommend results/records.jsonl"""
    from orthoglot.report import recommend as recommendation
    from orthoglot.report.tables import markdown
    from orthoglot.statistics.records import read_records

    found = read_records(records)
    every = [recommendation.recommend(found, use) for use in recommendation.USES]
    if as_json:
        content = [{**one._asdict(), "standings": [row._asdict() for row in one.standings]} for one in every]
        typer.echo(json.dumps(content, indent=1))
        return
    for advice in every:
        typer.echo(
            markdown([recommendation.table(advice)]) if advice.standings else recommendation.verdict(advice)
        )


@app.command()
def opus(
    source: Annotated[str | None, typer.Option(help="language code")] = None,
    target: Annotated[str | None, typer.Option(help="language code")] = None,
    corpus: Annotated[str | None, typer.Option(help="corpus name, e.g. Europarl")] = None,
    version: Annotated[str, typer.Option(help="release, or latest")] = "latest",
    api: Annotated[str, typer.Option(envvar="ORTHOGLOT_OPUS_API")] = "https://opus.nlpl.eu/opusapi/",
    as_json: AsJson = False,
) -> None:
    """List what OPUS has, with sizes. Example: orthoglot opus --source en --target gn"""
    from orthoglot.corpora.opus import list_entries

    entries = list_entries(api, source=source, target=target, corpus=corpus, version=version)
    if as_json:
        typer.echo(json.dumps([entry.model_dump() for entry in entries], indent=1))
        return
    for entry in entries:
        pair = f"{entry.source}-{entry.target}"
        typer.echo(f"{entry.corpus}\t{entry.version}\t{pair}\t{entry.pairs} pairs\t{entry.kibibytes} KiB")


@app.command()
def encode(
    folder: Annotated[
        Path, typer.Argument(help="an encoder's or a decomposer's folder, or one of orthoglot fit")
    ],
    text: Annotated[
        Path, typer.Argument(help="UTF-8 text, a sentence per line, plain, .gz or .zst; - for stdin")
    ],
    output: Annotated[
        Path, typer.Argument(help="where the .npy array (lines, dimension) goes; - for standard output")
    ],
    part: Part = None,
    language: Language = None,
    partner: Annotated[
        str | None, typer.Option(help="code of the other language, for a model centred per pair")
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Encode a text file. Example: orthoglot encode models/mini/decomposers/ems-mini/seed/seed1 a.txt a.npy

    A blank line keeps its row, which is NaN.
    """
    check_outputs(output)
    from orthoglot.corpora.bitext import read_lines

    sentences = list(read_lines(text))
    rows = [number for number, line in enumerate(sentences) if line.strip()]
    if not rows:
        raise DataError(f"{text}: no line has text" if sentences else f"{text} is empty")

    # Only now the libraries that take seconds: an absent text fails at once.
    import numpy as np
    import torch

    from orthoglot import load

    torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
    model = load(folder, device=device)
    part = part or ("meaning" if model.decomposer else "sentence")
    found = model.encode([sentences[row] for row in rows], part=part, language=language, partner=partner)
    vectors = np.full((len(sentences), found.shape[1]), np.nan, dtype=np.float32)
    vectors[rows] = found
    if str(output) == "-":
        np.save(sys.stdout.buffer, vectors)
    else:
        with atomic.replacing(output) as partial:
            stored = np.lib.format.open_memmap(partial, "w+", vectors.dtype, vectors.shape)
            atomic.reserve(partial)
            stored[:] = vectors
            stored.flush()
    blank = f", {len(sentences) - len(rows)} of them blank" if len(rows) < len(sentences) else ""
    typer.echo(f"{vectors.shape[0]} x {vectors.shape[1]} vectors{blank}: {output}", err=True)


@app.command()
def unbias(
    vectors: Annotated[Path, typer.Argument(help="an .npy array of the encoder's vectors (N, dimension)")],
    model: Annotated[Path, typer.Option(help="a decomposer's folder, or one of orthoglot fit")],
    output: Annotated[Path, typer.Option("--output", "-o", help="the .npy array to write, of the same size")],
    part: Annotated[Literal["meaning", "language"], typer.Option(help="which part to keep")] = "meaning",
    language: Annotated[
        str, typer.Option(help="language code of all vectors, where the method needs it")
    ] = "",
    languages: Annotated[
        Path | None, typer.Option(help="UTF-8 text with the language code of each vector on a line")
    ] = None,
    partner: Annotated[
        str | None, typer.Option(help="code of the other language, for a model centred per pair")
    ] = None,
) -> None:
    """Take the language out of stored vectors. Example: orthoglot unbias old.npy --model my-labse -o new.npy"""
    check_outputs(output)
    from orthoglot.corpora.bitext import read_lines

    if language and languages:
        raise ConfigError("give --language or --languages, not both")
    if not vectors.exists():
        raise DataError(f"{vectors} does not exist")
    codes = list(read_lines(languages)) if languages else language
    if languages and not codes:
        raise DataError(f"{languages} is empty")

    from orthoglot.apply.unbias import unbias as editing
    from orthoglot.decomposers.base import load_decomposer

    count = editing(vectors, load_decomposer(model), output, part=part, languages=codes, partner=partner)
    typer.echo(f"{count} vectors: {output}", err=True)


@app.command("convert-laser")
def convert_laser(
    weights: Annotated[Path, typer.Argument(help="laser2.pt, the official weights")],
    pieces: Annotated[Path, typer.Argument(help="laser2.spm, the official SentencePiece model")],
    output: Annotated[Path, typer.Argument(help="a new folder, for `kind: laser` in params.yaml")],
) -> None:
    """Make LASER2's files a safe checkpoint. Example: orthoglot convert-laser laser2.pt laser2.spm weights/laser2"""
    from orthoglot.encoders.laser import convert

    convert(weights, pieces, output)
    typer.echo(f"LASER2: {output}", err=True)


@app.command()
def langs(
    code: Annotated[str, typer.Argument(help="the language in any spelling: gn, grn, grn_Latn")],
    params: Annotated[
        Path | None, typer.Option(help="a params.yaml with a catalogue; this folder's, or orthoglot's own")
    ] = None,
    text: Annotated[
        Path | None, typer.Option(help="UTF-8 sample; else prepared text under data/PRESET/bitext, if any")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say which encoders cover a language, and how they tokenise it. Example: orthoglot langs gn --text gn.txt"""
    from dataclasses import asdict

    from orthoglot.corpora.bitext import read_lines
    from orthoglot.languages import canonical, script

    language = canonical(code)  # before the slow imports: a misspelt code fails at once

    from orthoglot import config
    from orthoglot.encoders.language_coverage import survey

    settings = config.load(config.file_of(params))
    if text is None:
        sentences = _sample(Path("data") / settings.preset / "bitext", language)
    else:
        sentences = [line for line in read_lines(text) if line.strip()]
        if not sentences:
            raise DataError(f"{text}: holds no sentence")
    rows = survey(settings.encoders, Path("models"), language, sentences)
    if as_json:
        found = {"language": language, "script": script(language), "sample_sentences": len(sentences)}
        content = {**found, "encoders": [asdict(row) for row in rows]}
        typer.echo(json.dumps(content, indent=1, ensure_ascii=False))
        return
    typer.echo(f"language {language}, script {script(language)}, sample of {len(sentences)} sentences\n")
    heads = ("encoder", "covered", "script seen", "unknown", "pieces/word", "pieces/char")
    cells = [heads, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    notes: dict[str, list[str]] = {}
    for row in rows:
        notes.setdefault(row.note, []).append(row.encoder)
    for note, names in notes.items():
        if note:
            typer.echo(f"\n{', '.join(names)}: {note}")


def _sample(bitext: Path, language: str) -> list[str]:
    """The first sentences of a language in the prepared pairs below `bitext`."""
    from orthoglot.corpora.bitext import read_pairs
    from orthoglot.languages import parse_pair

    found: list[str] = []
    for path in sorted(bitext.glob("*/train-*.tsv.zst")):
        pair = parse_pair(path.parent.name)
        if language in pair:
            side = pair.index(language)
            found += [one[side] for one in islice(read_pairs([path]), SAMPLE_SENTENCES - len(found))]
    return found


def _cells(row: Row) -> tuple[str, ...]:
    """A row of the table of `langs`."""
    stated = {True: "yes", False: "no", None: "not stated"}
    found = row.coverage
    per_word = found.pieces_per_word if found else None
    return (
        row.encoder,
        stated[row.covered],
        stated[row.script_seen],
        f"{found.unknown:.1%}" if found else "-",
        f"{per_word:.2f}" if per_word is not None else "-",
        f"{found.pieces_per_character:.2f}" if found else "-",
    )
