"""Pieces of training text that a tokenizer does not know: counted as text becomes ids, told by language."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from orthoglot.encoders.tokenization import Ragged
from orthoglot.pretraining.tokenised_bitext import Tokenise

# The share of a language's pieces that may be unknown without being told.
MANY = 0.1
logger = logging.getLogger(__name__)


class UnknownPieces:
    """Cuts sentences as another does, and counts pieces and unknown ones by language."""

    def __init__(self, tokenise: Tokenise, piece: int | None):
        """Take what cuts, and the id of an unknown piece; None where the tokenizer knows everything."""
        self._tokenise = tokenise
        self._piece = piece
        self._read: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._told: set[str] = set()

    def __call__(self, sentences: Sequence[str], language: str) -> Ragged:
        """The ids."""
        ids = self._tokenise(sentences, language)
        self._read[language] += ids.ids.size
        self._unknown[language] += ids.count(self._piece)
        return ids

    def tell(self, name: str) -> None:
        """Warn of every language of which too much was unknown since the last call, unless it was told before.

        Text whose ids were kept from an interrupted run is not read again, and not told again.

        Args:
            name: of the tokenizer.
        """
        for language, read in sorted(self._read.items()):
            if (unknown := self._unknown[language]) > MANY * read and language not in self._told:
                self._told.add(language)
                logger.warning(
                    "%.1f%% of %d pieces of %s are unknown to %s, which reads all of them as one; start from an "
                    "encoder that knows them (`orthoglot langs %s --text FILE` tells), raise character_coverage of a "
                    "new tokenizer, or leave %s out",
                    *(100 * unknown / read, read, language, name, language, language),
                )
        self._read.clear()
        self._unknown.clear()
