"""Keys of sentences: what two texts have in common that count as equal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
import regex

from orthoglot.text.characters import CharacterTable, code_points


class _LeftOut(dict[str, bool]):
    """Whether a character is left out of keys, by character."""

    def __missing__(self, character: str) -> bool:
        self[character] = bool(_NOT_ALPHANUMERIC.fullmatch(character))
        return self[character]


# Letters, digits, and the marks that Indic and other scripts write vowels with.
_NOT_ALPHANUMERIC = regex.compile(r"[^\p{L}\p{N}\p{M}]+")
_IS_LEFT_OUT = _LeftOut()
_ASCII_REST = bytes(code for code in range(128) if not chr(code).isalnum())
# Sentences whose characters are looked at together.
AT_ONCE = 2_000
# In a table of keys: what cannot be said of a character without its neighbours, or is several characters.
_NOT_ALONE = 0xFFFFFFFE
_LINE_FEED = 10


def normalised(text: str) -> str:
    """Letters, vowel marks and digits of a text, NFKC, case-folded: texts with the same key count as equal."""
    if text.isascii():
        return text.lower().encode().translate(None, _ASCII_REST).decode()
    key = unicodedata.normalize("NFKC", text).casefold()
    for character in set(key):  # ten times faster than a regular expression on the whole text
        if _IS_LEFT_OUT[character]:
            key = key.replace(character, "")
    return key


def normalised_all(texts: Sequence[str]) -> list[str]:
    """`normalised` of each text, several times as fast."""
    keys: list[str] = []
    for start in range(0, len(texts), AT_ONCE):
        some = texts[start : start + AT_ONCE]
        whole = "\n".join(some)
        if whole.count("\n") != len(some) - 1:
            keys += map(normalised, some)
            continue
        found = _KEYS[code_points(whole)]
        not_alone = np.flatnonzero(found == _NOT_ALONE)
        ends = np.flatnonzero(found == _LINE_FEED) if len(not_alone) else not_alone
        some_keys = found[(found != 0) & (found != _NOT_ALONE)].tobytes().decode("utf-32-le").split("\n")
        for row in np.unique(np.searchsorted(ends, not_alone)).tolist():
            some_keys[row] = normalised(some[row])
        keys += some_keys
    return keys


def _key(character: str) -> int:
    """The code point that `normalised` makes of a character wherever it stands, 0 if none, or `_NOT_ALONE`.

    Marks and the letters of Hangul combine with what is before them; so may anything beyond the first plane. A line
    feed, which divides texts, stays.
    """
    if character == "\n":
        return _LINE_FEED
    composed = unicodedata.normalize("NFKC", character)
    if any(
        one >= "\U00010000" or "\u1100" <= one <= "\u11ff" or unicodedata.category(one)[0] == "M"
        for one in composed
    ):
        return _NOT_ALONE
    key = normalised(character)
    return _NOT_ALONE if len(key) > 1 else ord(key or "\0")


_KEYS = CharacterTable(_key, np.uint32)
