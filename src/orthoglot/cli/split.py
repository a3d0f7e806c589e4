"""`orthoglot split`: a text into sentences."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from orthoglot.cli import options


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
    from orthoglot.text import sentences
    from orthoglot.text.bitext import read_lines, write_lines

    sentences.check_language(language)
    paragraphs = list(sentences.split(read_lines(text), language, wrapped=wrapped))
    texts = ([*[""] * (number > 0), *(one for _, one in some)] for number, some in enumerate(paragraphs))
    write_lines(output, chain.from_iterable(texts))
    total = sum(map(len, paragraphs))
    typer.echo(f"{total} sentences of {len(paragraphs)} paragraphs: {output}", err=True)
