"""What every corpus says about itself, and where its sentence pairs are read from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from orthoglot.languages import parse_pair
from orthoglot.settings import Count, Settings, Whole
from orthoglot.text.bitext import Item, SentencePair
from orthoglot.text.patterns import is_address

# How words that a tokenizer has divided are put together; empty for text.
Detokeniser = Literal["", "moses"]
Digest = Annotated[str, Field(pattern=r"^[0-9A-Fa-f]{64}$")]


class Corpus(Settings):
    """What every corpus says about itself: who makes its files, and which they are."""

    # the command that makes them, in the folder data/PRESET/`home`/CORPUS; empty for files of the user, and for those
    # of the invented world
    verb: ClassVar[str] = ""
    home: ClassVar[str] = ""  # see `verb`
    kind: str
    obtain: str = ""
    """How to get its files, where they have no address; the message about a missing one says it."""

    @property
    def invented(self) -> bool:
        """Whether its files are the invented world's."""
        return False

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        """`kind` and `paths` of a `prepare.Source` by language pair; `root` is the folder that `verb` made."""
        return {}

    def addresses(self, takes: Callable[..., bool]) -> list[str]:
        """The addresses of its files in the languages that `takes` says are used."""
        pairs = {} if self.verb or self.invented else self.pair_sources("")
        paths = [
            *(
                path
                for pair, source in pairs.items()
                if takes(*parse_pair(pair))
                for path in source.get("paths", [])
            ),
            *(path for code, path in self.texts("").items() if takes(code)),
        ]
        return sorted({path for path in paths if is_address(path)})

    def texts(self, root: str) -> dict[str, str]:
        """Files of text without translations by language; `root` is the invented world's folder."""
        return {}


class PairedSettings(Corpus):
    """A corpus whose language pairs are named one by one."""

    pairs: Annotated[list[str], Field(min_length=1)] | Annotated[dict[str, str], Field(min_length=1)]
    """Language pairs, pivot first, e.g. en-de, or each with the text that `{name}` stands for."""
    max_pairs: Whole | dict[str, Count] = 0
    """Sentence pairs that are used of each language pair at most, a sample; 0 for all. Or a number by language pair;
    of those not named all are used."""

    @model_validator(mode="after")
    def _pairs_are_pairs(self) -> Self:
        for pair in self.pairs:
            parse_pair(pair)
        if isinstance(self.max_pairs, dict) and (strange := sorted(set(self.max_pairs) - set(self.pairs))):
            raise ValueError(f"max_pairs names {', '.join(strange)}, which is none of the pairs")
        return self

    def most(self, pair: str) -> int:
        """How many sentence pairs of a language pair are used at most; 0 for all."""
        return self.max_pairs.get(pair, 0) if isinstance(self.max_pairs, dict) else self.max_pairs

    def limited(self, sources: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """The same sources, with `max_pairs` where there is a limit."""
        return {
            pair: {**source, "max_pairs": most} if (most := self.most(pair)) else source
            for pair, source in sources.items()
        }


class Source(Settings):
    """Files of sentence pairs of one corpus, all of one form."""

    name: str
    """Of the corpus."""
    kind: str
    """The module of `orthoglot.formats.kinds` that reads them."""
    paths: list[str] = []
    """The files."""
    max_pairs: Whole = 0
    """Pairs at most that are used, a sample; 0 for all."""
    tags: list[str] = []
    """Of source and target in its files, e.g. en and pt-BR; their languages if there are none."""
    detokenise: Detokeniser = ""
    """By whose rules the pairs that are used are put together."""

    @model_validator(mode="after")
    def _something_is_read(self) -> Self:
        if not self.paths:
            raise ValueError("paths: name a file")
        if len(self.tags) not in (0, 2):
            raise ValueError("tags: name two")
        return self


class Unit(NamedTuple):
    """What is read of one unit of a translation memory, or of one message of a catalogue."""

    number: int  # among the units of its file, from 0; one unit may give several items
    item: Item  # its sentences to encode, see `orthoglot.text.messages.plain`, or why it makes no pair
    written: SentencePair  # the text of its sides as it was read
