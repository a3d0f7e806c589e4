"""`orthoglot align`: translations out of two folders of documents."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError, DataError


def align(
    source: Annotated[
        Path, typer.Argument(help="a folder of UTF-8 texts, a sentence per line, plain, .gz or .zst")
    ],
    target: Annotated[Path, typer.Argument(help="the same in the other language, with the same file names")],
    output: options.PairsOutput,
    model: options.ModelFolder = None,
    source_language: options.Language = None,
    target_language: options.Language = None,
    part: options.TranslationPart = None,
    margin: options.Margin = "ratio",
    neighborhood: options.Neighborhood = 8,
    threshold: options.Threshold = None,
    join: Annotated[int, typer.Option(min=1, help="most neighbouring sentences joined on one side")] = 3,
    split: Annotated[
        bool, typer.Option("--split", help="a line is a paragraph: split it as orthoglot split does")
    ] = False,
    numbers: options.Numbers = False,
    safe_csv: options.SafeCsv = False,
    own_mean: options.OwnMean = True,
    precision: options.PrecisionOption = "float32",
    device: options.Device = "auto",
    threads: options.Threads = None,
    checkpoint: options.Checkpoint = None,
) -> None:
    """Pair the sentences of documents of the same name.

    Example: orthoglot align en gn --model my-labse -o pairs.tsv

    The sentences of a pair stand in the same order in both documents. Lines without text are between paragraphs.
    """
    for path in (source, target):
        if path.is_file():
            raise ConfigError(f"{path} is a file: orthoglot mine finds translations in two files")
        if not path.exists():
            raise DataError(f"{path} does not exist")
    options.check_outputs(output, inputs=[*source.rglob("*"), *target.rglob("*")])
    options.check_model(model)
    if margin == "absolute" and threshold is None:
        raise ConfigError("--margin absolute needs a --threshold here")
    from orthoglot.formats.rows import check_output, codes_of, write_rows
    from orthoglot.text.sentences import check_language

    tags = source_language, target_language
    check_output(output, tags)
    languages = codes_of(tags)
    if split and None in languages:
        raise ConfigError("--split needs --source-language and --target-language")
    spoken = languages if split else (None, None)
    for language in filter(None, spoken):
        check_language(language)

    # Only now the libraries that take seconds.
    import numpy as np

    from orthoglot.apply.documents import document_vectors, links_of, printable, read_folders, row_of
    from orthoglot.apply.mined_file import COLUMNS, about_pairs
    from orthoglot.atomic import write_summary
    from orthoglot.corpora.swapped_languages import warn_if_swapped
    from orthoglot.progress import EarlyMeter

    folders = read_folders(source, target, spoken)
    documents = folders.pairs.values()
    texts = [[sentence for pair in documents for sentence in pair[side].sentences] for side in (0, 1)]
    warn_if_swapped(texts, languages)
    opened = options.open_model(model, device, threads, part, precision)
    arguments: dict[str, Any] = {"margin": margin, "neighborhood": neighborhood, "threshold": threshold}
    arguments |= opened.search
    rows: list[tuple[float, str, str, str, str, str]] = []
    kinds, paired, not_matching = Counter[str](), [0, 0], list[str]()
    with options.vectors_folder(checkpoint, output) as work:
        sides = [
            document_vectors(
                opened.model,
                [pair[side] for pair in folders.pairs.values()],
                work,
                name,
                join=join,
                part=opened.part,
                language=languages[side],
                partner=languages[1 - side],
                own_mean=own_mean,
            )
            for side, name in enumerate(("source", "target"))
        ]
        with EarlyMeter(total=len(folders.pairs), label="align", unit="documents") as meter:
            for (name, pair), x, y in zip(folders.pairs.items(), *sides, strict=True):
                links, matching = links_of(pair, x, y, **arguments)
                not_matching += [] if matching else [printable(name)]
                for link in links:
                    rows.append(row_of(name, pair, link))
                    kinds[f"{link.a}-{link.b}"] += 1
                    paired = [paired[0] + link.a, paired[1] + link.b]
                meter.add()
        names = [*COLUMNS, *(["document", "source_line", "target_line"] if numbers else [])]
        cells = (row[: len(names)] for row in rows)
        write_rows(output, names, cells, languages=tags, places=(1, 2), safe=safe_csv)
        summary: dict[str, Any] = {
            "documents": len(folders.pairs),
            "empty": [*map(printable, folders.empty)],
            "paragraphs_not_matching": not_matching,
        }
        for side, name in enumerate(("source", "target")):
            total = sum(len(pair[side].sentences) for pair in folders.pairs.values())
            summary[name] = {
                "sentences": total,
                "left_out": total - paired[side],
                "unmatched": [*map(printable, folders.unmatched[side])],
            }
        summary |= {
            "kinds": dict(sorted(kinds.items())),
            **about_pairs([row[1:3] for row in rows], np.array([row[0] for row in rows])),
            "options": {
                "part": opened.part,
                "languages": languages,
                "join": join,
                "split": split,
                **arguments,
                "precision": precision,
            },
            "model": opened.model.identity,
        }
        write_summary(output, summary)
    unmatched = sum(map(len, folders.unmatched))
    without = f"; {unmatched} files without a partner" if unmatched else ""
    if not_matching:
        without += f"; paragraphs do not match in {len(not_matching)} of {len(folders.pairs)} documents"
    about = "" if output == options.STANDARD else f"; about them: {output}.json"
    options.say(f"{len(rows)} pairs: {output}{without}{about}")
