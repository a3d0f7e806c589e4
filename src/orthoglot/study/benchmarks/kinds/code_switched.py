"""Retrieval of sentences in two languages at once: words swapped for their translations from a bilingual dictionary.

A folder has `de-en.code-switched.tsv.gz` for each language: mixed sentence, pivot's, the sentence as it was before.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from pathlib import Path
from random import Random
from typing import Annotated, Literal, Self

import regex
from pydantic import Field, model_validator

from orthoglot.errors import DataError
from orthoglot.languages import has_spaces, parse_pair
from orthoglot.random_streams import derive
from orthoglot.study.benchmarks.base import PairSet, Paths, TextsByLanguage, read_tables
from orthoglot.study.corpora.patterns import MINI
from orthoglot.text.bitext import read_lines, read_pairs, write_pairs

CODE_SWITCHED = "code-switched"
# A word between the punctuation around it.
_WORD = regex.compile(r"([\p{P}\p{S}]*)(.*?)([\p{P}\p{S}]*)", regex.DOTALL)


class CodeSwitchedSettings(TextsByLanguage):
    """Retrieval of a sentence by its translation in which words are replaced by the pivot's.

    Source: docs/papers.md#protocol-code-switching.
    """

    kind: Literal["code-switched"]
    dictionaries: str
    """Dictionaries in the format of MUSE (`the der`) or hunalign (`the @ der`), pivot word first; `{foreign}` and
    `{pivot}` in canonical spelling, and `{mini}`."""
    rate: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Probability that a word of the dictionary is replaced; ORACLE does not print its own."""
    seed: int = 1
    """Seed of the replacements."""

    @model_validator(mode="after")
    def _each_language_has_words_and_files(self) -> Self:
        if whole := [code for code in self.languages if not has_spaces(code)]:
            raise ValueError(f"languages: {', '.join(whole)} is written without spaces between words")
        self.paths()
        return self

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        """The sentences and the dictionary of each language; see `Benchmark.paths`."""
        dictionaries = self.files_of(self.dictionaries, "dictionaries", "canonical", mini=world)
        texts = self.texts(world).items()
        return {code: [*paths, words] for (code, paths), words in zip(texts, dictionaries, strict=True)}


SETTINGS = CodeSwitchedSettings


def collect(settings: CodeSwitchedSettings, paths: Paths, output: Path) -> dict[str, dict[str, float]]:
    """Write the pairs of each language with words of the foreign sentence swapped; those without one are left out.

    Returns rate and seed, and of each language how many pairs were kept; and in these the words, those that the
    dictionary knows, and those that were swapped.
    """
    by_language = {}
    for foreign, (*texts, words) in sorted(paths.items()):
        parse_pair(f"{foreign}-{settings.pivot}")
        dictionary = read_dictionary(words)
        counts = {"kept": 0, "without_known_word": 0, "words": 0, "known": 0, "swapped": 0}
        rows = []
        for number, (sentence, translation) in enumerate(read_pairs(texts)):
            # A stream per sentence: another dictionary word elsewhere shifts no draw.
            random = Random(derive(settings.seed, CODE_SWITCHED, foreign, number, sentence))
            mixed, swapped = switched(sentence, dictionary, settings.rate, random)
            if not swapped:
                counts["without_known_word"] += 1
                continue
            counts["kept"] += 1
            counts["words"] += len(sentence.split())
            counts["known"] += known_words(sentence, dictionary)
            counts["swapped"] += swapped
            rows.append((mixed, translation, sentence))
        if not rows:
            raise DataError(f"{texts[0]}: the dictionary {words} knows no word of any sentence")
        write_pairs(output / f"{foreign}-{settings.pivot}.{CODE_SWITCHED}.tsv.gz", rows)
        by_language[foreign] = {"rate": settings.rate, "seed": settings.seed, **counts}
    return by_language


def read(folder: Path) -> list[PairSet]:
    """The sets in a folder that `collect` wrote, by language pair; none in one of another kind."""
    tables = read_tables(folder, CODE_SWITCHED, 3)
    return [
        PairSet(folder.name, *pair, mixed, translations, originals)
        for _, pair, (mixed, translations, originals) in tables
    ]


def read_dictionary(path: Path) -> dict[str, list[str]]:
    """Translations into the first column's language of each lower-cased word of the second (MUSE's files, inverted).

    The columns are divided by a tab, ` @ ` as in hunalign's dictionaries, or a blank.

    A word that translates as itself, as many names do, is left out: swapping it would change nothing.

    Raises:
        DataError: the file cannot be read, or a line is not two words with a tab or a blank between them.
    """
    dictionary: dict[str, dict[str, None]] = {}
    for number, line in enumerate(read_lines(path), 1):
        words = line.split(next((mark for mark in ("\t", " @ ") if mark in line), None))
        if len(words) != 2 or not all(words):
            raise DataError(f"{path}: line {number} is not two words")
        ours, theirs = words
        if ours.lower() != theirs.lower():
            dictionary.setdefault(theirs.lower(), {})[ours] = None
    return {word: list(translations) for word, translations in dictionary.items()}


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


def marked(sentence: str, mixed: str) -> str:
    """The mixed sentence with the words that the sentence lacks at their place between asterisks."""
    before, after = sentence.split(), mixed.split()
    if len(before) == len(after):
        unchanged = [old == new for old, new in zip(before, after, strict=True)]
    else:  # a translation has several words
        blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
        places = {start + n for _, start, length in blocks for n in range(length)}
        unchanged = [n in places for n in range(len(after))]
    return " ".join(word if same else f"*{word}*" for word, same in zip(after, unchanged, strict=True))


def _parts(sentence: str) -> list[tuple[str, str, str]]:
    """The words between white space: punctuation before, word, punctuation after."""
    matches = [_WORD.fullmatch(word) for word in sentence.split()]
    return [match.groups() for match in matches if match]
