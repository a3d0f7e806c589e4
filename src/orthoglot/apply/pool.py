"""A pool of sentences in many languages, which search each other.

`pool.tsv` has sentences for whoever brings none: forty about a railway station in each of nine languages, written for
this. So each has as many translations as the page shows neighbours, and many others of its language are close in topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from orthoglot.apply.scored import has_letter
from orthoglot.corpora.language_identifier import probabilities
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import canonical_if_known
from orthoglot.text.bitext import read_rows, read_sentences

OWN = Path(__file__).with_suffix(".tsv")
MOST = 20_000  # sentences
UNKNOWN = "und"  # the code of ISO 639 for a language that nobody named


class Pool(NamedTuple):
    """N different sentences, which search each other."""

    languages: list[str]  # code of each
    sentences: list[str]  # without white space at their ends
    # numbers of the lines of each, from 1; those of one line translate each other. None if none do.
    lines: list[list[int]] | None
    guessed: bool  # whether a language identifier named some of the languages


def read(texts: Sequence[Path], parallel: bool | None = None) -> Pool:
    """The sentences of texts, each once in its language; those of `OWN` if there are no texts.

    A text's language is in its name: en.txt, eng_Latn.txt, news.en, news.en.txt.gz. Where no name says one, a language
    identifier names that of each sentence.

    Args:
        texts: Files with a sentence per line; blank ones are skipped.
        parallel: Whether line n of each text translates line n of the others; if None, they do where there are several
            texts of different languages that have as many lines.
    Raises:
        ConfigError: `parallel` of less than two languages.
        DataError: a text cannot be read; two that are parallel differ in length; less than two different sentences, or
            more than `MOST`.
    """
    if not texts:
        codes, *rows = read_rows(OWN)
        columns = [[*column] for column in zip(*rows, strict=True)]
        return _pool([*codes], columns, parallel is not False)
    named = [language_of(path) for path in texts]
    several = len(texts) > 1 and len({*named} - {None}) == len(texts)
    if parallel and not several:
        raise ConfigError(
            "--parallel: name two or more texts by the codes of different languages, e.g. en.txt sw.txt"
        )
    columns = [_lines(path) for path in texts]
    for path, column in zip(texts, columns, strict=True):
        if not any(column):
            raise DataError(f"{path}: no line has text" if column else f"{path} is empty")
        if parallel and len(column) != len(columns[0]):
            raise DataError(f"{texts[0]} has {len(columns[0])} lines but {path} has {len(column)}")
    if parallel is None:
        parallel = several and len({*map(len, columns)}) == 1
    return _pool(named, columns, parallel)


def language_of(text: Path) -> str | None:
    """The language that a text's name says; None if it says none."""
    name = text.name.lower()
    for end in (".gz", ".zst", ".txt"):
        name = name.removesuffix(end)
    return canonical_if_known(name.rpartition(".")[2])


def _lines(path: Path) -> list[str]:
    """The lines of a text, without white space at their ends; no more are read than show that they are too many."""
    lines: list[str] = []
    count = 0
    for line in read_sentences(path):
        lines.append(line.removeprefix("\ufeff").strip())
        count += bool(lines[-1])
        _check_count(count)
    return lines


def _pool(named: Sequence[str | None], columns: Sequence[Sequence[str]], parallel: bool) -> Pool:
    """Each sentence once in its language."""
    lines: dict[tuple[str, str], list[int]] = {}
    for code, column in zip(named, columns, strict=True):
        for number, sentence in enumerate(column if parallel else dict.fromkeys(column), 1):
            if sentence:
                lines.setdefault((code or _identified(sentence), sentence), []).append(number)
    _check_count(len(lines))
    if len(lines) < 2:
        raise DataError("one sentence has no neighbours: give two or more")
    languages, sentences = zip(*lines, strict=True)
    return Pool([*languages], [*sentences], [*lines.values()] if parallel else None, None in named)


def _identified(sentence: str) -> str:
    """The most probable language of a sentence; unknown without a letter."""
    if not has_letter(sentence):
        return UNKNOWN
    return canonical_if_known(next(iter(probabilities(sentence)))) or UNKNOWN


def _check_count(count: int) -> None:
    if count > MOST:
        raise DataError(f"a page has at most {MOST:,} lines of text: give the first lines of each text alone")
