"""Which encoders cover a language."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orthoglot.cli import options
from orthoglot.errors import DataError

if TYPE_CHECKING:
    from orthoglot.study.language_coverage import Row

SAMPLE_SENTENCES = 1000
STATED = {True: "yes", False: "no", None: "not stated"}
# What encoders say of a language: whether they cover it, and whether they have seen its script.
ANSWERS = (
    ("cover it", True, True),
    ("cover its script alone", False, True),
    ("cover neither", False, False),
    ("do not say", None, None),
)


def show_language(code: str, params: Path | None, text: Path | None, as_json: bool) -> None:
    """Print which encoders cover a language, and how they tokenise it; for the arguments see `show`."""
    from orthoglot.languages import canonical, script
    from orthoglot.text.bitext import read_sentences

    language = canonical(code)  # before the slow imports: a misspelt code fails at once

    from orthoglot import catalogue
    from orthoglot.apply import ready
    from orthoglot.study import config
    from orthoglot.study.language_coverage import NO_SAMPLE, survey

    settings = config.load(catalogue.file_of(params))
    if text is None:
        sentences = _sample(Path("data") / settings.preset / "bitext", language)
    else:
        sentences = [line for line in read_sentences(text) if line.strip()]
        if not sentences:
            raise DataError(f"{text}: holds no sentence")
    rows = survey(settings.encoders, Path("models"), language, sentences)
    about = ready.facts()
    fitted, name = language in about["languages"], about["encoder"].removesuffix("-any")
    covers = next((row.covered for row in rows if row.encoder == name), None)
    if as_json:
        asked = {"language": language, "script": script(language), "sample_sentences": len(sentences)}
        model = {"fitted": fitted, "encoder": name, "covered": covers}
        content = {**asked, "ready_model": model, "encoders": [asdict(row) for row in rows]}
        typer.echo(json.dumps(content, indent=1, ensure_ascii=False))
        return
    typer.echo(
        f"ready model: {'' if fitted else 'not '}fitted on {language}; its encoder {name}: {STATED[covers]}"
    )
    typer.echo(f"language {language}, script {script(language)}, sample of {len(sentences)} sentences\n")
    for heading, covered, script_seen in ANSWERS:
        if names := [row.encoder for row in rows if (row.covered, row.script_seen) == (covered, script_seen)]:
            typer.echo(f"{heading}: {', '.join(names)}")
    if measured := [row for row in rows if row.coverage]:
        typer.echo("")
        heads = ("encoder", "covered", "script seen", "unknown", "pieces/word", "pieces/char")
        options.print_table([heads, *map(_cells, measured)])
    for note in dict.fromkeys(row.note for row in rows if row.note not in ("", NO_SAMPLE)):
        typer.echo(f"\n{', '.join(row.encoder for row in rows if row.note == note)}: {note}")
    if not sentences:
        typer.echo("\nHow they split the language into pieces: --text FILE, a sample of it")


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
    """A row of the table of tokenizers."""
    coverage = row.coverage
    assert coverage is not None
    per_word = coverage.pieces_per_word
    return (
        row.encoder,
        STATED[row.covered],
        STATED[row.script_seen],
        f"{coverage.unknown:.1%}",
        f"{per_word:.2f}" if per_word is not None else "-",
        f"{coverage.pieces_per_character:.2f}",
    )
