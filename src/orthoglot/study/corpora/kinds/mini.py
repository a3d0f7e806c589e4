"""A family of invented languages (`orthoglot.study.invented`); its pairs are in archives such as those of OPUS."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from orthoglot.settings import Count, Language, Share
from orthoglot.study.corpora.base import Corpus


class MiniSettings(Corpus):
    """A family of invented languages, generated offline."""

    verb = "generate"
    home = "invented"
    licence: ClassVar[str] = "CC0-1.0"
    kind: Literal["mini"]
    seed: int = 1
    """Seed of the generator."""
    pivot: Language
    """Code of the language that all others have sentence pairs with: qaa ... qtz, which ISO 639 keeps for
    private use."""
    languages: dict[Language, Count]
    """Sentence pairs with the pivot by language; for the pivot itself, sentences of text without
    translations."""
    retrieval_pairs: Count
    """Sentences of the retrieval test set in every language."""
    graded_items: Count
    """Pairs of sentences with a gold score, for each language."""
    synonyms: Share = 0.0
    """Share of the content words for which a language has a second word; a sentence takes either."""
    free: Share = 0.0
    """Share of the optional phrases (qualities, manner, companion, year) that a translation leaves out; without those
    with a gold score."""

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        pairs = [f"{self.pivot}-{language}" for language in self.languages]
        return {pair: {"kind": "opus", "paths": [f"{root}/opus/{pair}.zip"]} for pair in pairs}


SETTINGS = MiniSettings
