"""Which form files have, by their names and their content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from orthoglot.errors import ConfigError
from orthoglot.formats.base import Source
from orthoglot.text import file_signatures
from orthoglot.text.bitext import unpacked
from orthoglot.text.tables import ending_of

# The module of `orthoglot.formats.kinds` that reads files with an ending, which .gz or .zst may follow; `local` reads
# files with other endings.
ENDINGS = {
    ".csv": "csv",
    ".mo": "po",
    ".po": "po",
    ".tmx": "tmx",
    ".xlf": "xliff",
    ".xliff": "xliff",
    ".sdlxliff": "xliff",  # of Trados
    ".mqxliff": "xliff",  # of memoQ
    ".mxliff": "xliff",  # of Memsource
}
NEVER_PACKED = ("po", "parquet")  # parquet is a form of the study
OF_MANY_PAIRS = ("tmx", "xliff")  # forms whose files state the languages of each text


def form_of(paths: Sequence[str], endings: Mapping[str, str] = ENDINGS) -> str:
    """The form of a user's files by their names.

    Raises:
        ConfigError: a file that holds both languages is not the only one, or is compressed where its form is not.
    """
    forms = [endings.get(ending_of(Path(path)), "local") for path in paths]
    for path, form in zip(paths, forms, strict=True):
        if form in NEVER_PACKED and path.lower().endswith((".gz", ".zst")):
            raise _packed(path)
    _check_alone(paths, {*forms})
    return forms[0]


def _packed(path: str | Path) -> ConfigError:
    return ConfigError(f"{path}: unpack it; files of this form are read uncompressed")


def _check_alone(paths: Sequence[str], forms: set[str]) -> None:
    if len(paths) > 1 and forms not in ({"local"}, {"csv"}):
        raise ConfigError(f"{', '.join(paths)}: a file of this form holds both languages; name one file")


def form_of_content(path: Path) -> str:
    """The form that a file begins as, whatever its name says: tmx, xliff, po, or json for a table of lines of JSON.

    Returns:
        "" if it does not exist, or begins as any table or text may.
    Raises:
        ConfigError: it is a message catalogue that is packed.
        DataError: it holds no sentences, see `file_signatures.form_of`.
    """
    if not path.is_file():
        return ""
    chunks, head = unpacked(path), b""
    while len(head) < file_signatures.HEAD_BYTES and (chunk := next(chunks, b"")):
        head += chunk
    form = file_signatures.form_of(head[: file_signatures.HEAD_BYTES], str(path))
    if form == "po":
        with path.open("rb") as file:
            if file.read(2) != head[:2]:
                raise _packed(path)
    return form


def source_of(name: str, paths: Sequence[str], columns: Sequence[str | int] = ()) -> Source:
    """A user's files as a source: a table, two files of lines that translate each other, or a translation memory.

    Args:
        name: The name of the source.
        paths: Its files; "-" is standard input.
        columns: The columns of a table, source first; those that its first row names source and target if not given.
    Raises:
        ConfigError: too many files, see `form_of`, or columns of files that have none.
        DataError: a file begins as something else than text, see `form_of_content`.
    """
    named = " ".join(paths)
    if len(paths) > 2 or list(paths).count("-") > 1:
        raise ConfigError(f"{named}: give one file, or a source and its translation")
    kind = form_of(paths)
    begun = {form_of_content(Path(path)) for path in paths if path != "-"} - {""}
    if begun:
        kind = "local" if begun == {"json"} else (begun - {"json"}).pop()
        _check_alone(paths, {kind})
    if columns and kind == "local" and len(paths) == 1:
        kind = "csv"
    if columns and kind != "csv":
        raise ConfigError(f"{named}: no table, so leave --columns out")
    if kind == "csv" and len(paths) == 2 and not columns:
        raise ConfigError(f"{named}: say --columns, one of each file")
    return Source.model_validate({"name": name, "kind": kind, "paths": [*paths], "columns": [*columns]})
