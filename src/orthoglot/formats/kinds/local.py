"""Files of sentence pairs, the user's or at an address: tables, Moses files, or a form with a module of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from orthoglot.formats import kinds
from orthoglot.formats.base import Detokeniser, PairedSettings, Source
from orthoglot.formats.sources import form_of
from orthoglot.languages import parse_pair
from orthoglot.registry import load
from orthoglot.settings import Count
from orthoglot.text.bitext import Item, aligned, read_lines
from orthoglot.text.patterns import by_name, filled
from orthoglot.text.tables import open_table


class LocalSettings(PairedSettings):
    """Files of sentence pairs."""

    kind: Literal["local"]
    files: Annotated[list[str], Field(min_length=1, max_length=2)]
    """One table (TSV, CSV, or lines of JSON in .jsonl), or two Moses files, source first, or one translation memory
    (.tmx, .xliff, .xlf); plain, .gz or .zst; or one message catalogue (.po, .mo) or Parquet file; here or at an address
    (https://). `{pair}`, `{source}` and `{target}` stand for a pair and its two languages, `{name}` for what `pairs`
    says of it."""
    columns: list[Count] | list[str] = []
    """Of tables the columns with sentences: of one file the source's and the target's, of two CSV files those that
    translate each other, row by row. Names, in which `{source}` and its like may stand, mean that the first row has
    them; numbers, from 1, that it has none. Without, TSV has two columns, or `source` and `target` in its first row,
    lines of JSON have keys called so or as the languages, and Parquet columns called as the languages."""
    detokenise: Detokeniser = ""
    """`moses`: words that blanks divide are put together by Moses' rules, after `max_pairs` has chosen."""
    licence: str
    """Of the text; the report lists it."""

    @model_validator(mode="after")
    def _each_pair_has_files_of_its_own(self) -> Self:
        all_sources = self.pair_sources("").values()
        kinds_of = {source["kind"] for source in all_sources}
        if ("csv" in kinds_of) if not self.columns else not kinds_of <= {"csv", "parquet"}:
            raise ValueError(
                "columns: CSV files (.csv) need them, e.g. [1, 2], and other files than tables have none"
            )
        if "parquet" in kinds_of and any(isinstance(column, int) for column in self.columns):
            raise ValueError("columns: those of Parquet files have names")
        if len(self.files) == 1 and len(self.columns) not in (0, 2):
            raise ValueError("columns: of one file, name the source's and the target's")
        # Some translation memories state the languages of each text.
        sources = [
            source
            for source in all_sources
            if not getattr(load(kinds, source["kind"]), "OF_MANY_PAIRS", False)
        ]
        if len({(*source["paths"], *source.get("columns", [])) for source in sources}) < len(sources):
            raise ValueError(
                f"files: the same for two of {len(self.pairs)} pairs; tell them apart by {{pair}}"
            )
        return self

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        """See `Corpus.pair_sources`."""
        sources: dict[str, dict[str, Any]] = {}
        for pair, name in by_name(self.pairs).items():
            source, target = parse_pair(pair)
            names = {"pair": pair, "source": source, "target": target, "name": name}
            paths = [filled(pattern, **names) for pattern in self.files]
            columns = [
                column if isinstance(column, int) else filled(column, "columns", **names)
                for column in self.columns
            ]
            kind = form_of(paths)
            if columns and kind == "local" and len(paths) == 1:
                kind = "csv"
            sources[pair] = {"kind": kind, "paths": paths}
            sources[pair] |= {"columns": columns} if columns else {}
            sources[pair] |= {"detokenise": self.detokenise} if self.detokenise else {}
        return self.limited(sources)


SETTINGS = LocalSettings


def read(source: Source, first: str, second: str) -> Iterator[Item]:
    """The pairs of one table or two Moses files; languages matter only where a table names them."""
    if len(source.paths) > 1:
        names = source.paths
        ours, theirs = (read_lines(Path(name), escaped=True) for name in names)
        return aligned(ours, theirs, names[0], names[1])
    return open_table(Path(source.paths[0]), languages=(first, second)).pairs()
