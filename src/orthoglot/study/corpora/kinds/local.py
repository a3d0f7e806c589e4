"""Files of sentence pairs, the user's or at an address: tables, Moses files, or a form with a module of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from orthoglot.formats.base import Detokeniser
from orthoglot.formats.forms import ENDINGS, OF_MANY_PAIRS, form_of
from orthoglot.languages import parse_pair
from orthoglot.settings import Count
from orthoglot.study.corpora.base import PairedSettings
from orthoglot.study.corpora.kinds import folder
from orthoglot.study.corpora.patterns import by_name, filled

FORMS = {**ENDINGS, ".parquet": "parquet"}


class LocalSettings(PairedSettings):
    """Files of sentence pairs."""

    kind: Literal["local"]
    files: Annotated[list[str], Field(min_length=1, max_length=2)]
    """One table (TSV, CSV, or lines of JSON in .jsonl), or two Moses files, source first, or one translation memory
    (.tmx, .xliff, .xlf); plain, .gz or .zst; or one message catalogue (.po, .mo) or Parquet file; here or at an address
    (https://). Or a folder here whose Parquet files, or files of lines of JSON, are parts of one table. `{pair}`,
    `{source}` and `{target}` stand for a pair and its two languages, `{name}` for what `pairs` says of it."""
    columns: list[Count] | list[str] = []
    """The columns of tables with sentences: the source's and the target's of one file, or those of two CSV files that
    translate each other, row by row. Names, in which `{source}` and its like may stand, mean that the first row has
    them; numbers, from 1, that it has none. Without, TSV has two columns, or `source` and `target` in its first row,
    lines of JSON have keys called so or as the languages, and Parquet columns called as the languages."""
    detokenise: Detokeniser = ""
    """`moses`: words that blanks divide are put together by Moses' rules, after `max_pairs` has chosen."""
    licence: str
    """The licence of the text; the report lists it."""

    @model_validator(mode="after")
    def _each_pair_has_files_of_its_own(self) -> Self:
        all_sources = self.pair_sources("").values()
        kinds_of = {source["kind"] for source in all_sources}
        if ("csv" in kinds_of) if not self.columns else not kinds_of <= {"csv", "parquet", "folder"}:
            raise ValueError(
                "columns: CSV files (.csv) need them, e.g. [1, 2], and other files than tables have none"
            )
        if kinds_of & {"parquet", "folder"} and any(isinstance(column, int) for column in self.columns):
            raise ValueError("columns: those of Parquet files have names, and so have those of a folder")
        if len(self.files) == 1 and len(self.columns) not in (0, 2):
            raise ValueError("columns: of one file, name the source's and the target's")
        # Some translation memories state the languages of each text.
        sources = [source for source in all_sources if source["kind"] not in OF_MANY_PAIRS]
        if len({(*source["paths"], *source.get("columns", [])) for source in sources}) < len(sources):
            raise ValueError(
                f"files: the same for two of {len(self.pairs)} pairs; tell them apart by {{pair}}"
            )
        return self

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        sources: dict[str, dict[str, Any]] = {}
        for pair, name in by_name(self.pairs).items():
            source, target = parse_pair(pair)
            names = {"pair": pair, "source": source, "target": target, "name": name}
            paths = [filled(pattern, **names) for pattern in self.files]
            columns = [
                column if isinstance(column, int) else filled(column, "columns", **names)
                for column in self.columns
            ]
            if len(paths) == 1 and Path(paths[0]).is_dir():
                kind, paths = "folder", folder.files_of(Path(paths[0]))
            else:
                kind = form_of(paths, FORMS)
            if columns and kind == "local" and len(paths) == 1:
                kind = "csv"
            sources[pair] = {"kind": kind, "paths": paths}
            sources[pair] |= {"columns": columns} if columns else {}
            sources[pair] |= {"detokenise": self.detokenise} if self.detokenise else {}
        return self.limited(sources)


SETTINGS = LocalSettings
