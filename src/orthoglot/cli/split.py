"""`orthoglot split`: a text into sentences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError

# Endings of files that are no lines of text.
OTHER_FORMS = {
    ".csv",
    ".doc",
    ".docx",
    ".html",
    ".json",
    ".odt",
    ".pdf",
    ".po",
    ".rtf",
    ".tmx",
    ".xliff",
    ".xlsx",
}


def split(
    language: Annotated[str, typer.Argument(help="of the text, in any spelling: en, eng, eng_Latn")],
    text: Annotated[
        Path, typer.Argument(help="UTF-8 text, a paragraph per line, plain, .gz or .zst; - for stdin")
    ] = options.STANDARD,
    output: Annotated[
        Path, options.output("file to write, also .gz or .zst; - for stdout")
    ] = options.STANDARD,
    wrapped: Annotated[
        bool, typer.Option("--wrapped", help="a paragraph goes on over lines, up to an empty one")
    ] = False,
) -> None:
    """Write a text with a sentence per line, and an empty line between paragraphs.

    Example: orthoglot split en book.txt -o sentences.txt
    """
    options.check_outputs(output)
    if (suffix := output.suffix.lower()) in OTHER_FORMS:
        raise ConfigError(f"{output}: sentences are written as lines of text, not as {suffix}")
    options.check_lines(text)
    from orthoglot.text import sentences
    from orthoglot.text.bitext import read_sentences, write_lines

    sentences.check_language(language)
    total = paragraphs = 0

    def lines() -> Iterator[str]:
        nonlocal total, paragraphs
        for paragraph in sentences.split(read_sentences(text), language, wrapped=wrapped):
            yield from [""] * (paragraphs > 0)
            yield from (sentence for _, sentence in paragraph)
            total, paragraphs = total + len(paragraph), paragraphs + 1

    write_lines(output, lines())
    options.say(f"{total} sentences of {paragraphs} paragraphs: {output}")
