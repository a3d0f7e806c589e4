"""The score of a translation, and the flags of what is none."""

from __future__ import annotations

from typing import NamedTuple

BLANK, COPY, UNTRANSLATED, OTHER = "blank", "copy", "untranslated", "other_language"
# Behind a flag that the language parts alone give, or the identifier to a short text.
GUESS = "?"


class Scored(NamedTuple):
    """A pair's score in [-1, 1], None of a blank line; why it is no translation, if so; the plain cosine.

    A flag with a question mark is a guess and leaves the score as it is.
    """

    score: float | None
    flag: str
    similarity: float | None
