"""Sentences in two languages at once: words swapped for their translations from a bilingual dictionary."""

from __future__ import annotations

from pathlib import Path
from random import Random

import regex

from orthoglot.corpora.bitext import read_lines
from orthoglot.errors import DataError

# A word between the punctuation around it.
_WORD = regex.compile(r"([\p{P}\p{S}]*)(.*?)([\p{P}\p{S}]*)", regex.DOTALL)


def read_dictionary(path: Path) -> dict[str, list[str]]:
    """Translations into the first column's language of each lower-cased word of the second (MUSE's files, inverted).

    A word that translates as itself, as many names do, is left out: swapping it would change nothing.

    Raises:
        DataError: the file cannot be read, or a line is not two words with a tab or a blank between them.
    """
    found: dict[str, dict[str, None]] = {}
    for number, line in enumerate(read_lines(path), 1):
        words = line.split("\t" if "\t" in line else None)
        if len(words) != 2 or not all(words):
            raise DataError(f"{path}: line {number} is not two words")
        ours, theirs = words
        if ours.lower() != theirs.lower():
            found.setdefault(theirs.lower(), {})[ours] = None
    return {word: list(translations) for word, translations in found.items()}


def known_words(sentence: str, dictionary: dict[str, list[str]]) -> int:
    """How many words of the sentence `switched` could swap."""
    return sum(word.lower() in dictionary for _, word, _ in _parts(sentence))


def switched(sentence: str, dictionary: dict[str, list[str]], rate: float, random: Random) -> tuple[str, int]:
    """The sentence with words swapped, and how many; (sentence, 0) if the dictionary knows none of its words.

    Words stand between white space; punctuation around a word stays, its case is ignored. Each known word is
    swapped with probability `rate` for one of its translations, all equally likely; that is drawn again until
    at least one was swapped.

    Source: docs/papers.md#protocol-code-switching.
    """
    parts = _parts(sentence)
    known = [place for place, (_, word, _) in enumerate(parts) if word.lower() in dictionary]
    chosen: list[int] = []
    while known and not chosen:
        chosen = [place for place in known if random.random() < rate]
    if not chosen:
        return sentence, 0
    mixed = ["".join(part) for part in parts]
    for place in chosen:
        before, word, after = parts[place]
        mixed[place] = before + random.choice(dictionary[word.lower()]) + after
    return " ".join(mixed), len(chosen)


def _parts(sentence: str) -> list[tuple[str, str, str]]:
    """The words between white space: punctuation before, word, punctuation after."""
    matches = [_WORD.fullmatch(word) for word in sentence.split()]
    return [match.groups() for match in matches if match]
