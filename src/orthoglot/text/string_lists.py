"""Lists of strings that a caller hands over, checked in one place, so that an error says which one is wrong."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from orthoglot.errors import DataError

# What is said beside "give strings" where a string is a sentence.
BLANK = ', "" for a blank line'


def strings(given: Iterable[str], name: str, advice: str = BLANK) -> list[str]:
    """What was given as a list: of a list, tuple, generator, pandas Series, NumPy array and the like.

    Args:
        given: The strings, in order.
        name: The argument's name, for messages.
        advice: What a message says after "give strings".
    Raises:
        TypeError: one string, bytes, a mapping, a set, a table or no collection at all; or an element that is no
            string, such as None or NaN. The message names its position, from 0.
        DataError: a string with half a surrogate pair, which no encoding of Unicode holds.
    """
    if isinstance(given, str | bytes | bytearray | memoryview | Mapping | Set) or not isinstance(
        given, Iterable
    ):
        raise TypeError(f"{name} is {_shown(given)}; give a list of strings")
    # Looping over a table of pandas gives the names of its columns.
    if (dimensions := getattr(given, "ndim", 1)) != 1:
        raise TypeError(f"{name} has {dimensions} dimensions; give one column of strings")
    texts = list(given)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"{name}[{number}] is {_shown(text)}; give strings{advice}")
        check_unicode(text, f"{name}[{number}]")
    return texts


def check_unicode(text: str, name: str) -> None:
    """Refuse half a surrogate pair.

    Raises:
        DataError: says at which character.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{name} has half a surrogate pair (U+{ord(text[error.start]):04X} at character {error.start}), which is "
            'no text; .encode("utf-16", "surrogatepass").decode("utf-16", "replace") replaces it'
        ) from error


def string_pairs(given: Iterable[Sequence[str]], name: str) -> list[tuple[str, str]]:
    """Pairs of strings as a list of tuples.

    Args:
        given: Pairs, in order; each may be a tuple or a list.
        name: The argument's name, for messages.
    Raises:
        TypeError: as of `strings`, or an element that is no pair.
        DataError: as of `strings`.
    """
    if isinstance(given, str | bytes | Mapping | Set) or not isinstance(given, Iterable):
        raise TypeError(f"{name} is {_shown(given)}; give a list of pairs of strings")
    pairs = []
    for number, pair in enumerate(given):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise TypeError(f"{name}[{number}] is {_shown(pair)}; give pairs of strings")
        source, target = strings(pair, f"{name}[{number}]")
        pairs.append((source, target))
    return pairs


def _shown(value: Any) -> str:
    return "None" if value is None else f"{reprlib.repr(value)} ({type(value).__name__})"
