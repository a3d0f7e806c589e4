"""`orthoglot encode`: the vectors of a text."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from orthoglot import atomic
from orthoglot.cli import options
from orthoglot.errors import ConfigError, DataError, one_line

if TYPE_CHECKING:
    import numpy as np

    from orthoglot.apply.model import Model
    from orthoglot.progress import Done

OWN_MEAN = "own_mean"  # the key of OUTPUT.json


def encode(
    text: Annotated[
        Path, typer.Argument(help="UTF-8 text, a sentence per line, plain, .gz or .zst; - for stdin")
    ],
    output: Annotated[Path, options.output("the .npy array (lines, dimension) to write; - for stdout")],
    model: options.ModelFolder = None,
    part: options.Part = None,
    dim: Annotated[
        int | None,
        typer.Option(min=2, help="keep so many dimensions, those of most worth (meaning of PLDA)"),
    ] = None,
    dtype: Annotated[
        Literal["float32", "float16", "int8"],
        typer.Option(help="of the stored numbers; int8 is 127 times a vector of length 1, rounded"),
    ] = "float32",
    binary: Annotated[
        bool, typer.Option("--binary", help="store one bit a dimension, packed by numpy.packbits")
    ] = False,
    own_mean: Annotated[
        bool,
        typer.Option(
            "--own-mean", help="subtract the text's own mean (PLDA), of a collection in one language"
        ),
    ] = False,
    mean_of: Annotated[
        Path | None,
        typer.Option(
            help="subtract the mean of these vectors of encode --own-mean, which this text is compared with"
        ),
    ] = None,
    precision: options.PrecisionOption = "float32",
    language: options.Language = None,
    partner: options.Partner = None,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Encode a text file.

    Example: orthoglot encode a.txt -o a.npy --model my-labse

    With --own-mean, OUTPUT.json also holds what was added, which --mean-of adds to the vectors of later texts.

    A blank line keeps its row, which is NaN, or 0 with --dtype int8 and --binary. OUTPUT.json says how the vectors were
    made. An interrupted call goes on where it stopped.
    """
    options.check_outputs(output, inputs=[text])
    options.check_ending(output, ".npy", content="vectors are written")
    options.check_lines(text)
    options.check_model(model)
    from orthoglot.apply.smaller_vectors import SCALE, check_dim, check_form
    from orthoglot.text.bitext import standard_output, write_lines
    from orthoglot.text.lines import Lines, Text

    check_form(dtype, binary)
    if own_mean and mean_of:
        raise ConfigError("--own-mean and --mean-of are two means: give one of them")
    with options.vectors_folder(None, output) as work:
        lines = Lines(text)
        if text == options.STANDARD:
            lines = Lines(work / "text")
            write_lines(lines.path, Lines(text))
        content = Text.of(lines)
        if content.blank == content.count:
            raise DataError(f"{text}: no line has text" if content.count else f"{text} is empty")

        # Only now the libraries that take seconds: an absent text fails at once.
        import numpy as np

        from orthoglot.apply.text_vectors import write_shifted, write_vectors
        from orthoglot.atomic import write_summary
        from orthoglot.decomposers.own_mean import adaptable, mean_shift, sums
        from orthoglot.formats.rows import codes_of

        language, partner = codes_of((language, partner))
        opened = options.open_model(model, device, threads, part, precision)
        arguments: dict[str, Any] = {"part": opened.part, "language": language, "partner": partner}
        form: dict[str, Any] = {"dim": dim, "dtype": dtype, "binary": binary}
        shift = _stated_shift(mean_of, opened.model.identity) if mean_of else None
        encoding, decomposer = arguments | form, None
        if own_mean or mean_of:
            decomposer = adaptable(opened.model.decomposer, opened.part)
            if decomposer is None:
                raise ConfigError(
                    "an own mean belongs to the meaning part of PLDA, which is not asked for here"
                )
            if dim is not None:
                check_dim(decomposer, opened.part, dim)
            # The mean is that of whole vectors.
            encoding |= {"dim": None, "dtype": "float32", "binary": False}

        def encoded(model: Model, sentences: Sequence[str], done: Done) -> np.ndarray:
            return model.encode(sentences, **encoding, progress=done)

        work.mkdir(parents=True, exist_ok=True)
        vectors = work / "vectors.npy"
        used = opened.model.languages_used(opened.part, language, partner)
        made_by = encoding | {"language": used[0], "partner": used[1]}
        write_vectors(opened.model, encoded, content, vectors, (made_by,))
        if decomposer is not None:
            if shift is None:
                shift = mean_shift(sums(np.load(vectors, mmap_mode="r"), decomposer), decomposer)
            vectors = write_shifted(work / "shifted.npy", vectors, shift, **form)
        shape = np.load(vectors, mmap_mode="r").shape
        if output == options.STANDARD:
            with vectors.open("rb") as file:
                shutil.copyfileobj(file, standard_output().buffer)
        else:
            with atomic.replacing(output) as partial:
                shutil.move(vectors, partial)
        facts = {
            "lines": content.count,
            "blank": content.blank,
            "options": {**arguments, **form, "precision": precision},
        }
        if dtype == "int8":
            facts["scale"] = SCALE
        if shift is not None:
            facts[OWN_MEAN] = shift.tolist()
        write_summary(output, facts | {"model": opened.model.identity})
    blank = f", {content.blank} of them blank" if content.blank else ""
    options.say(f"{shape[0]} x {shape[1]} vectors{blank}: {output}")


def _stated_shift(vectors: Path, model: str) -> np.ndarray:
    """What was added to vectors of `encode --own-mean`, (D,).

    Raises:
        ConfigError: they are of another model.
        DataError: VECTORS.json is absent or damaged, or states no mean.
    """
    import numpy as np

    path = vectors.with_name(vectors.name + ".json")
    try:
        stated = json.loads(path.read_text(encoding="utf-8"))
        shift = np.array(stated[OWN_MEAN], dtype=np.float64)
        made_by = stated["model"]
        if shift.ndim != 1 or not np.isfinite(shift).all():
            raise ValueError("its mean is no vector")
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist") from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{path}: states no mean of encode --own-mean ({one_line(error)})") from error
    if made_by != model:
        raise ConfigError(f"{path}: of another model, or another --precision")
    return shift
