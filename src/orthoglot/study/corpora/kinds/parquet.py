"""Sentence pairs in two columns of a Parquet file, as data sets of Hugging Face's hub have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from orthoglot.errors import DataError
from orthoglot.formats import base
from orthoglot.text.bitext import LINES, Item, SentencePair, bad_row
from orthoglot.text.json_lines import TRANSLATION

if TYPE_CHECKING:
    import pyarrow as pa


class Source(base.Source):
    """A Parquet file."""

    def read(self, first: str, second: str) -> Iterator[Item]:
        """The pairs of each row, see `read_file`. Columns are those that the settings name, or else the two languages.

        Raises:
            DataError: see `read_file`; the file has no row.
        """
        path = self.paths[0]
        empty = True
        for item in read_file(path, [str(column) for column in self.columns] or [first, second]):
            empty = False
            yield item
        if empty:
            raise DataError(f"{path} is empty")


def read_file(path: str, names: Sequence[str]) -> Iterator[Item]:
    """The pairs of each row, in two columns; a row without text on a side is bad.

    Where the file has a column `translation` with texts by language, these count as columns.

    Raises:
        DataError: the file cannot be read, or has no such column of text.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    done = 0
    try:
        with pq.ParquetFile(path) as file:
            columns = [_column(path, file.schema_arrow, name) for name in names]
            for batch in file.iter_batches(batch_size=LINES, columns=columns):
                for number, row in enumerate(zip(*_texts(batch, names), strict=True), done + 1):
                    pair = SentencePair(*(text or "" for text in row))
                    yield bad_row(number, "has no text", "\t".join(pair)) if None in row else pair
                done += batch.num_rows
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist") from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        cause = str(error).partition("\n")[0]
        raise DataError(f"{path} is no sound Parquet file: {cause}") from error


def _column(path: str, schema: pa.Schema, name: str) -> str:
    """What Parquet calls a column of text."""
    import pyarrow as pa

    texts = schema.field(TRANSLATION).type if TRANSLATION in schema.names else pa.null()
    inner = {field.name: field.type for field in texts} if pa.types.is_struct(texts) else {}
    outer = {field.name: field.type for field in schema}
    if name not in outer | inner:
        raise DataError(f"{path} has no column {name}; it has {', '.join(inner or outer)}")
    held = outer.get(name, inner.get(name))
    if not pa.types.is_string(held) and not pa.types.is_large_string(held):
        raise DataError(f"{path}: the column {name} has {held}, no text")
    return name if name in outer else f"{TRANSLATION}.{name}"


def _texts(batch: pa.RecordBatch, names: Sequence[str]) -> list[list[str | None]]:
    """The cells of each column."""
    cells = dict(zip(batch.schema.names, batch.columns, strict=True))
    if TRANSLATION in cells:
        inner = cells.pop(TRANSLATION)
        cells = dict(zip([field.name for field in inner.type], inner.flatten(), strict=True)) | cells
    return [cells[name].to_pylist() for name in names]
