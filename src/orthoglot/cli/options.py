"""Options that several commands share, and what these commands do with them: check, open a model, keep vectors."""

from __future__ import annotations

import logging
import math
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from orthoglot.apply.early_checks import check_model
from orthoglot.apply.model_folders import model_folder
from orthoglot.errors import ConfigError, StoppedError, printable
from orthoglot.file_lock import locked
from orthoglot.text.bitext import standard_output

if TYPE_CHECKING:
    from orthoglot.apply.model import Model
    from orthoglot.encoders.settings import Precision

logger = logging.getLogger(__name__)
STANDARD = Path("-")  # input or output
LOCK = ".lock"  # in a folder for vectors, while a command works in it


def finite(value: float | None) -> float | None:
    """Refuse a number that no number is above or below, and infinity."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not finite")
    return value


def output(description: str) -> Any:
    """The option --output, or -o, of what a command writes."""
    return typer.Option("--output", "-o", help=description)


MODEL = (
    "a folder of orthoglot fit or get, an encoder's or a decomposer's, or one of sentence-transformers; or a name of "
    "orthoglot get"
)
ModelFolder = Annotated[
    Path | None,
    typer.Option(help=f"{MODEL}; the ready model of orthoglot get if not given", callback=model_folder),
]


def _model_argument(folder: Path) -> Path:
    if (place := model_folder(folder)) is not None:
        return place
    # Its libraries take a second.
    from orthoglot.apply import ready_model

    return ready_model.default()


ModelArgument = Annotated[Path, typer.Argument(help=MODEL, callback=_model_argument)]
Language = Annotated[
    str | None, typer.Option(help="language code, or tag such as pt-BR, where the model or a file needs it")
]
Partner = Annotated[str | None, typer.Option(help="code of the other language, for a model centred per pair")]
Part = Annotated[
    Literal["sentence", "meaning", "language"] | None,
    typer.Option(help="which vectors; meaning, or sentence of an encoder"),
]
TranslationPart = Annotated[
    Literal["sentence", "meaning"] | None, typer.Option(help="meaning, if there is one")
]
Margin = Annotated[
    Literal["ratio", "distance", "absolute"],
    typer.Option(help="a cosine over, or minus, the mean of its neighbours', or as it is"),
]
Retrieval = Annotated[
    Literal["max", "intersection", "forward", "backward"],
    typer.Option(help="both ways one to one; what both propose; what one side proposes"),
]
Neighborhood = Annotated[int, typer.Option("--neighborhood", "-k", min=1, help="neighbours of a margin")]
Realign = Annotated[
    bool,
    typer.Option(
        "--realign",
        help="pair lines anew where translations stand up to three lines away, in place of leaving them out",
    ),
]
Threshold = Annotated[
    float | None, typer.Option(help="least margin to keep; all if not given", callback=finite)
]
Numbers = Annotated[bool, typer.Option("--numbers", help="add the line numbers of both sides")]
Checkpoint = Annotated[
    Path | None, typer.Option(help="keep the vectors here; OUTPUT.checkpoint, removed when done")
]
Identify = Annotated[
    bool,
    typer.Option("--identify/--no-identify", help="whether a language identifier checks the translations"),
]
PrecisionOption = Annotated[
    Literal["float32", "bfloat16", "int8"],
    typer.Option(help="what the encoder computes in; int8 on a CPU, with the extra int8"),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1")]
Threads = Annotated[int | None, typer.Option(min=1, help="CPU threads; all there are if not given")]
OWN_MEAN = "--own-mean/--no-own-mean"
OwnMean = Annotated[
    bool,
    typer.Option(
        OWN_MEAN, help="whether each text has its own mean (PLDA); not if a text is in several languages"
    ),
]
Params = Annotated[
    Path | None,
    typer.Option(help="a params.yaml; the one in this folder, or the one that comes with orthoglot"),
]
Preset = Annotated[str | None, typer.Option(help="the one that params.yaml selects if not given")]
PairFiles = Annotated[
    list[Path],
    typer.Argument(
        help="a table (.tsv, .csv), source and translation, or a translation memory (.tmx, .xliff, .po, .mo); also "
        ".gz or .zst; - for a table on standard input"
    ),
]
Columns = Annotated[
    str,
    typer.Option(
        metavar="SOURCE,TARGET",
        help="of a table: numbers from 1, or names in its first row; those named source,target if not given",
    ),
]
PAIRS_OUTPUT = "file to write: .tsv, .jsonl or .tmx, also .gz or .zst; - for a TSV on standard output"
PairsOutput = Annotated[Path, output(PAIRS_OUTPUT)]
Bad = Annotated[
    Path | None,
    typer.Option(
        help="file for rows that are no pairs, with text, line and fault; 1 in 100 of the rows at most"
    ),
]
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        help="in a TSV put ' before cells that a spreadsheet would take for a formula, those with = + - @ first",
    ),
]
SCORED_OUTPUT = f"{PAIRS_OUTPUT}; .po or .xliff of such a file, whose other bytes stay"
AsJson = Annotated[bool, typer.Option("--json", help="print JSON, with unrounded numbers")]


def columns_of(text: str, counts: Sequence[int] = (2,)) -> list[str | int]:
    """The columns of --columns: numbers if all are, else names; an empty list if the option is not given.

    Raises:
        ConfigError: another number of columns than `counts` allows, one twice, or a number below 1.
    """
    parts = text.split(",") if text else []
    numbers = all(part.isdecimal() for part in parts)
    wrong = "" in parts or len({*parts}) < len(parts) or (numbers and any(int(part) < 1 for part in parts))
    if wrong or len(parts) not in (0, *counts):
        wanted = " or ".join(map(str, counts))
        raise ConfigError(f"--columns {text}: write {wanted}, by number from 1 or by name, e.g. 2,3 or en,gn")
    return [int(part) if numbers else part for part in parts]


class Opened(NamedTuple):
    """A model, and what a command does with it."""

    model: Model
    part: str  # of its vectors
    search: dict[str, Any]  # device and threads of a search


def open_model(
    folder: Path | None,
    device: str,
    threads: int | None,
    part: str | None = None,
    precision: Precision = "float32",
) -> Opened:
    """Open a model, the ready one if `folder` is None, with so many threads of the CPU.

    Call it last: the libraries that it imports take seconds, and a wrong option or absent text fails before.

    Raises:
        ConfigError: see `check_model` and `orthoglot.apply.ready_model.default`.
    """
    if folder is None:
        from orthoglot.apply import ready_model

        folder = ready_model.default()
        logger.info("model: the ready one, %s", folder)
    check_model(folder)
    import torch

    from orthoglot import load

    place = "cuda" if torch.cuda.is_available() and device != "cpu" else "cpu"
    search = {"device": place, "threads": use_threads(threads)}
    model = load(folder, device, precision)
    if model.decomposer is None:
        advice = f"orthoglot fit --encoder {folder} adds their meaning part"
        logger.info("%s: the encoder's own vectors; %s", folder, advice)
    return Opened(model, part or model.usual_part, search)


def use_threads(threads: int | None) -> int:
    """Let PyTorch compute in so many threads, all that this process may use if None; returns their number."""
    import torch

    threads = threads or len(os.sched_getaffinity(0))
    torch.set_num_threads(threads)
    return threads


def check_outputs(*outputs: Path | None, inputs: Iterable[Path | None] = ()) -> None:
    """Refuse files that cannot be written, before the work; "-" is standard output.

    Raises:
        ConfigError: a folder is there, the place is no folder or may not be written to, two outputs are one file, or
            one would replace an input; standard output is closed.
    """
    if STANDARD in outputs:
        standard_output()
    if outputs.count(STANDARD) > 1:
        raise ConfigError("- is named for two outputs, and standard output is one; name a file for the other")
    places = [output.resolve() for output in outputs if output is not None and output != STANDARD]
    if twice := [place for place, count in Counter(places).items() if count > 1]:
        raise ConfigError(f"{twice[0]} is named for two outputs; name another file")
    texts = {path.resolve() for path in inputs if path is not None and path.is_file()}
    if replaced := [place for place in places if place in texts]:
        raise ConfigError(f"{replaced[0]} is an input, which this output would replace; name another file")
    for output in outputs:
        if output is not None and output != STANDARD:
            if output.is_dir():
                raise ConfigError(f"{output} is a folder; name the file to write")
            check_place(output)


def check_ending(output: Path | None, *endings: str, content: str) -> None:
    """Refuse a file with another ending than these; "-" and a name without an ending pass.

    Args:
        output: The file.
        endings: The endings of the form.
        content: What is written, for the message: "vectors are written".
    Raises:
        ConfigError: another ending.
    """
    suffix = output.suffix.lower() if output is not None and output != STANDARD else ""
    if suffix not in ("", *endings):
        raise ConfigError(f"{output}: {content} as {' or '.join(endings)}, not as {suffix}")


def check_lines(*texts: Path) -> None:
    """Refuse translation memories where a text with a sentence per line belongs, and warn of tables.

    Raises:
        ConfigError: a file begins as TMX, XLIFF or PO.
        DataError: a file is no text.
    """
    from orthoglot.formats.forms import form_of_content
    from orthoglot.text.tables import TABLES, ending_of

    for text in texts:
        if (form := form_of_content(text)) in ("tmx", "xliff", "po"):
            raise ConfigError(
                f"{text} is {form.upper()}, not a text with a sentence per line; orthoglot score {text} -o pairs.tsv "
                "writes its pairs as a table"
            )
        if ending_of(text) in TABLES or form == "json":
            logger.warning(
                "%s is a table by its name or content: each of its lines is taken for a sentence", text
            )


def check_place(output: Path) -> None:
    """Refuse a file or folder that cannot be made where it shall be.

    Raises:
        ConfigError: the place is no folder or may not be written to.
    """
    place = next(folder for folder in output.absolute().parents if folder.exists())
    if not place.is_dir():
        raise ConfigError(f"{output} cannot be written: {place} is a file")
    if not os.access(place, os.W_OK | os.X_OK):
        raise ConfigError(f"{output} cannot be written: no right to write in {place}")


@contextmanager
def vectors_folder(chosen: Path | None, output: Path) -> Iterator[Path]:
    """Yield the folder for vectors: `chosen`, which stays, or OUTPUT.checkpoint, which goes after success.

    For standard output it is a temporary one. A second process with the same folder waits for the first. A folder that
    this process may not write to is only read, and has no lock.

    Raises:
        ConfigError: the folder is a file, or may not be made.
        StoppedError: in place of KeyboardInterrupt, where the folder stays; names it.
    """
    if chosen is None and output == STANDARD:
        with TemporaryDirectory(prefix="orthoglot-") as temporary:
            yield Path(temporary)
        return
    folder = chosen or output.with_name(output.name + ".checkpoint")
    there = folder.is_dir()
    if folder.is_file():
        raise ConfigError(
            f"{folder} is a file, and the vectors need a folder: remove it, or name another one"
        )
    if not there:
        check_place(folder)
    read_only = there and _is_read_only(folder)
    advice = "" if chosen is None else "; to start at once, give another --checkpoint"
    try:
        with nullcontext() if read_only else locked(folder / LOCK, folder, advice):
            try:
                yield folder
            except KeyboardInterrupt as error:
                if not _content(folder):
                    raise
                raise StoppedError(
                    f"what is done is kept in {folder}; the same command goes on from there"
                ) from error
            for path in _content(folder) if chosen is None else ():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    with suppress(OSError):  # what cannot be removed stays
                        path.unlink()
    finally:
        if chosen is None or not there:
            with suppress(OSError):  # it holds something
                folder.rmdir()


def _is_read_only(folder: Path) -> bool:
    """Whether a folder may only be read. It is held open: another process may remove it and make it again meanwhile."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        return not os.access(".", os.W_OK | os.X_OK, dir_fd=handle)
    finally:
        os.close(handle)


def _content(folder: Path) -> list[Path]:
    """What a folder for vectors holds besides its lock."""
    return [path for path in folder.iterdir() if path.name != LOCK] if folder.is_dir() else []


def say(line: str) -> None:
    """Print a line on standard error; control characters, which names of files may have, are escaped."""
    typer.echo(printable(line), err=True)


def print_table(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> None:
    """Print cells in columns; those numbered in `right` end together. Control characters are escaped."""
    rows = [[*map(printable, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    signs = [">" if place in set(right) else "<" for place in range(len(widths))]
    for row in rows:
        cells = (f"{cell:{sign}{width}}" for cell, sign, width in zip(row, signs, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())
