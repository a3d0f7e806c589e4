"""`orthoglot langs`: which encoders cover a language."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orthoglot.cli import options
from orthoglot.errors import DataError

if TYPE_CHECKING:
    from orthoglot.encoders.language_coverage import Row

SAMPLE_SENTENCES = 1000


def langs(
    code: Annotated[str, typer.Argument(help="the language in any spelling: gn, grn, grn_Latn")],
    params: options.Params = None,
    text: Annotated[
        Path | None, typer.Option(help="UTF-8 sample; else prepared text under data/PRESET/bitext, if any")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Say which encoders cover a language, and how they tokenise it.

    Example: orthoglot langs gn --text gn.txt
    """
    from orthoglot.languages import canonical, script
    from orthoglot.text.bitext import read_lines

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
        about = {"language": language, "script": script(language), "sample_sentences": len(sentences)}
        content = {**about, "encoders": [asdict(row) for row in rows]}
        typer.echo(json.dumps(content, indent=1, ensure_ascii=False))
        return
    typer.echo(f"language {language}, script {script(language)}, sample of {len(sentences)} sentences\n")
    heads = ("encoder", "covered", "script seen", "unknown", "pieces/word", "pieces/char")
    options.print_table([heads, *map(_cells, rows)])
    for note in dict.fromkeys(row.note for row in rows if row.note):
        typer.echo(f"\n{', '.join(row.encoder for row in rows if row.note == note)}: {note}")


def _sample(bitext: Path, language: str) -> list[str]:
    """The first sentences of a language in the prepared pairs below `bitext`."""
    from orthoglot.languages import parse_pair
    from orthoglot.text.bitext import read_pairs

    sentences: list[str] = []
    for path in sorted(bitext.glob("*/train-*.tsv.zst")):
        pair = parse_pair(path.parent.name)
        if language in pair:
            side = pair.index(language)
            rest = SAMPLE_SENTENCES - len(sentences)
            sentences += [texts[side] for texts in islice(read_pairs([path]), rest)]
    return sentences


def _cells(row: Row) -> tuple[str, ...]:
    """A row of the table of `langs`."""
    stated = {True: "yes", False: "no", None: "not stated"}
    coverage = row.coverage
    per_word = coverage.pieces_per_word if coverage else None
    return (
        row.encoder,
        stated[row.covered],
        stated[row.script_seen],
        f"{coverage.unknown:.1%}" if coverage else "-",
        f"{per_word:.2f}" if per_word is not None else "-",
        f"{coverage.pieces_per_character:.2f}" if coverage else "-",
    )
