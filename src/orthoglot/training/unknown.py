"""Pieces of training text that a tokenizer does not know: counted as text becomes ids, told once a language."""

from __future__ import annotations

import logging
from collections import Counter

from orthoglot.encoders.tokenization import Ragged

# The share of a language's pieces that may be unknown without being told.
MANY = 0.1
logger = logging.getLogger(__name__)


class UnknownPieces:
    """Counts pieces and unknown ones by language; it changes no id."""

    def __init__(self, piece: int | None):
        """Take the id of an unknown piece, None where the tokenizer knows everything."""
        self._piece = piece
        self._read: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._told: set[str] = set()

    def counted(self, ids: Ragged, language: str) -> Ragged:
        """The same ids, after their pieces were counted."""
        self._read[language] += ids.ids.size
        self._unknown[language] += ids.count(self._piece)
        return ids

    def tell(self, name: str) -> None:
        """Warn of every language of which too much was unknown since the last call, unless it was told before.

        Text whose ids were stored by an earlier run is not read again, and not told again.

        Args:
            name: of the encoder, told in the warning.
        """
        for language, read in sorted(self._read.items()):
            unknown = self._unknown[language]
            if unknown > MANY * read and language not in self._told:
                self._told.add(language)
                logger.warning(
                    "%s: %.1f%% of %d pieces of %s are unknown to its tokenizer, which reads all of them as one; start "
                    "from an encoder that knows them (`orthoglot langs %s --text FILE` tells), raise "
                    "character_coverage of a new tokenizer, or leave %s out",
                    *(name, 100 * unknown / read, read, language, language, language),
                )
        self._read.clear()
        self._unknown.clear()
