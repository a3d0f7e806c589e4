"""`orthoglot explore`: a page with the nearest sentences, to open in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orthoglot.cli import options

# The lines are doubted below this share, above chance, of the translations that could be among the nearest.
DOUBTFUL = 0.1


def explore(
    output: Annotated[Path, options.output("the HTML page to write; - for stdout")],
    texts: Annotated[
        list[Path] | None,
        typer.Argument(
            help="UTF-8 texts, a sentence per line, named by language: en.txt, news.sw.gz; if not given, 360 sentences "
            "in nine languages"
        ),
    ] = None,
    model: options.ModelFolder = None,
    parallel: Annotated[
        bool | None,
        typer.Option(
            "--parallel/--no-parallel",
            help="whether line n of each text translates line n of the others; yes if all have as many lines",
            show_default=False,
        ),
    ] = None,
    neighborhood: Annotated[
        int, typer.Option("--neighborhood", "-k", min=1, max=100, help="neighbours of each sentence")
    ] = 8,
    own_mean: options.OwnMean = True,
    precision: options.PrecisionOption = "float32",
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Show nearest sentences, by vector and by meaning, in a browser.

    Example: orthoglot explore en.txt gn.txt --model my-labse -o page.html

    OUTPUT is one page, which needs neither a network nor a server. It opens on the sentence whose neighbours differ
    most. Sentences of a text without a language in its name
    get that of a language identifier.
    """
    options.check_outputs(output, inputs=texts or ())
    options.check_ending(output, ".html", ".htm", content="the page is written")
    options.check_lines(*(texts or ()))
    options.check_model(model)
    from orthoglot.apply.pool import read
    from orthoglot.text.bitext import write_lines

    pool = read(texts or (), parallel)

    # Only now the libraries that take seconds.
    from orthoglot.apply import explore as exploring

    opened = options.open_model(model, device, threads, precision=precision)
    by_part = {
        part: exploring.neighbours(vectors, neighborhood, opened.search["device"])
        for part, vectors in exploring.vectors(opened.model, pool, own_mean).items()
    }
    shown = exploring.shares(pool, by_part)
    chance = neighborhood / len(pool.sentences)
    if (
        parallel is None
        and max(shown.translations.values(), default=1) < (DOUBTFUL + chance) * shown.possible
    ):
        options.say(
            "hardly any sentence is near to those in the same line of the other texts: if the lines do not translate "
            "each other, give --no-parallel"
        )
    page = exploring.page(pool, by_part, opened.model)
    write_lines(output, [page])
    translations = ", translations by line" if pool.lines else ""
    codes = sorted({*pool.languages})
    named = f" ({', '.join(codes)})" if len(codes) <= 10 else ""
    size = f"{len(page.encode()) / 1e6:,.2f} MB"
    options.say(
        f"{len(pool.sentences)} sentences in {len(codes)} languages{named}{translations}: {output}, {size}"
    )
