"""The user's own sentence pairs: one TSV file or two Moses files, or a translation memory of another form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from orthoglot.formats import kinds
from orthoglot.formats.base import PairedSettings, Source
from orthoglot.formats.sources import form_of
from orthoglot.languages import parse_pair
from orthoglot.registry import load
from orthoglot.text.bitext import SentencePair, read_pairs
from orthoglot.text.patterns import filled


class LocalSettings(PairedSettings):
    """The user's own sentence pairs."""

    kind: Literal["local"]
    files: Annotated[list[str], Field(min_length=1, max_length=2)]
    """One TSV file, or two Moses files, source first, or one translation memory (.tmx, .xliff, .xlf); plain, .gz or
    .zst; or one message catalogue (.po, .mo). `{pair}`, `{source}` and `{target}` stand for a pair and its two
    languages."""
    licence: str
    """Of the text; the report lists it."""

    @model_validator(mode="after")
    def _each_pair_has_files_of_its_own(self) -> Self:
        # Some translation memories state the languages of each text.
        sources = [
            source
            for source in self.pair_sources("").values()
            if not getattr(load(kinds, source["kind"]), "OF_MANY_PAIRS", False)
        ]
        if len({tuple(source["paths"]) for source in sources}) < len(sources):
            raise ValueError(
                f"files: the same for two of {len(self.pairs)} pairs; tell them apart by {{pair}}"
            )
        return self

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        """See `Corpus.pair_sources`."""
        found: dict[str, dict[str, Any]] = {}
        for pair in self.pairs:
            source, target = parse_pair(pair)
            paths = [filled(pattern, pair=pair, source=source, target=target) for pattern in self.files]
            found[pair] = {"kind": form_of(paths), "paths": paths}
        return self.limited(found)


SETTINGS = LocalSettings


def read(source: Source, first: str, second: str) -> Iterator[SentencePair]:
    """The pairs of one TSV file or two Moses files, whatever their languages are."""
    return read_pairs([Path(path) for path in source.paths])
