"""What every corpus of the catalogue says about itself, and the files that its sentence pairs are in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, PlainValidator, SerializeAsAny, model_validator

from orthoglot.formats.base import Source
from orthoglot.languages import parse_pair
from orthoglot.registry import load, names
from orthoglot.settings import Count, Settings, Whole
from orthoglot.study.corpora import kinds
from orthoglot.study.corpora.patterns import is_address

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
        """`kind` and `paths` of a `formats.base.Source` by language pair; `root` is the folder that `verb` made."""
        return {}

    def addresses(self, takes: Callable[..., bool]) -> list[str]:
        """The addresses of its files in the languages that `takes` says are used."""
        paths = [path for code, path in self.texts("").items() if takes(code)]
        sources = {} if self.verb or self.invented else self.pair_sources("")
        for pair, source in sources.items():
            if takes(*parse_pair(pair)):
                paths += source.get("paths", [])
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


def parsed(values: Any) -> Source:
    """A `Source` of the class that its kind has, if the study alone reads it, of values from JSON."""
    kind = values.get("kind") if isinstance(values, dict) else None
    form = load(kinds, kind) if kind in names(kinds) else None
    source: Source = getattr(form, "Source", Source).model_validate(values)
    return source


# `Source` itself would be asked as well, and some forms read something else than `paths`.
AnySource = Annotated[SerializeAsAny[Source], PlainValidator(parsed)]
