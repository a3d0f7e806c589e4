"""A table in a folder: files of Parquet or of lines of JSON, one by each task of Spark, Ray or datatrove."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from orthoglot.errors import ConfigError, DataError
from orthoglot.formats import base
from orthoglot.study.corpora.kinds import parquet
from orthoglot.text.bitext import Item, LeftOut, unpacked
from orthoglot.text.tables import ending_of, open_table

PARQUET, JSON_LINES = ".parquet", {".jsonl", ".ndjson", ".json"}


def files_of(folder: Path) -> list[str]:
    """The files of a folder by name, without those that begin with a dot or underscore, such as `_SUCCESS`.

    Raises:
        ConfigError: there is none, or something else than Parquet alone or lines of JSON alone.
    """
    files = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
    endings = {ending_of(path) if path.is_file() else "folders" for path in files}
    if endings != {PARQUET} and not (endings and endings <= JSON_LINES):
        raise ConfigError(
            f"{folder}: name a folder with Parquet files (.parquet) or with lines of JSON (.jsonl or .json, maybe .gz "
            f"or .zst), and nothing else; this one has {', '.join(sorted(endings)) or 'no file'}"
        )
    return [str(path) for path in files]


class Source(base.Source):
    """The files of a folder, in order."""

    def read(self, first: str, second: str) -> Iterator[Item]:
        """The pairs of each file; columns as of one file. A task without rows may leave an empty file.

        Raises:
            DataError: a file cannot be read, or lacks a column; all are empty.
        """
        empty = True
        for path in map(Path, self.paths):
            for item in self._of_file(path, first, second):
                empty = False
                if isinstance(item, LeftOut) and item.row:
                    item = item._replace(row=item.row._replace(fault=f"{item.row.fault} in {path.name}"))
                yield item
        if empty:
            raise DataError(f"{Path(self.paths[0]).parent} has no row")

    def _of_file(self, path: Path, first: str, second: str) -> Iterator[Item]:
        if ending_of(path) == PARQUET:
            names = [str(column) for column in self.columns] or [first, second]
            return parquet.read_file(str(path), names)
        if not any(unpacked(path)):
            return iter(())
        return open_table(path, self.columns, languages=(first, second)).pairs()
