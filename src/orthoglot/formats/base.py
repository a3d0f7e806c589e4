"""Files of sentence pairs, and what is read of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, Self

from pydantic import model_validator

from orthoglot.formats import kinds
from orthoglot.registry import load
from orthoglot.settings import Count, Settings, Whole
from orthoglot.text.bitext import Item, SentencePair

# How words that a tokenizer has divided are put together; empty for text.
Detokeniser = Literal["", "moses"]


class Source(Settings):
    """Files of sentence pairs of one corpus, all of one form."""

    name: str
    """The name of the corpus."""
    kind: str
    """The module of `orthoglot.formats.kinds` that reads them."""
    paths: list[str] = []
    """The files."""
    max_pairs: Whole = 0
    """Pairs at most that are used, a sample; 0 for all."""
    columns: list[Count] | list[str] = []
    """The columns of source and target in one table, or the columns of two tables that translate each other."""
    tags: list[str] = []
    """The tags of source and target in its files, e.g. en and pt-BR; their languages if there are none."""
    detokenise: Detokeniser = ""
    """The rules by which the words of the pairs that are used are put together."""

    @model_validator(mode="after")
    def _something_is_read(self) -> Self:
        if not self.paths:
            raise ValueError("paths: name a file")
        if len(self.tags) not in (0, 2):
            raise ValueError("tags: name two")
        return self

    def read(self, first: str, second: str) -> Iterator[Item]:
        """The pairs in two languages, or tags, and why each other thing made none."""
        items: Iterator[Item] = load(kinds, self.kind).read(self, first, second)
        return items


class Unit(NamedTuple):
    """What is read of one unit of a translation memory, or of one message of a catalogue."""

    number: int  # among the units of its file, from 0; one unit may give several items
    # its sentences to encode, see `orthoglot.text.program_messages.plain`, or why it makes no pair
    item: Item
    written: SentencePair  # the text of its sides as it was read
