"""Words by Moses' rules: the output of sacremoses, with what stands between two blanks split once and remembered.

Moses' rules look at most at the characters next to a punctuation mark, and at the first character of the word after a
period. So a piece of text between two blanks is split alike wherever it stands, given that character. Where this does
not hold, sacremoses splits the whole sentence: an apostrophe or a comma at either end, two apostrophes around a blank.
"""

from __future__ import annotations

import functools
import re

from sacremoses import MosesTokenizer

# Pieces that are remembered for each language, their longest, and languages: some 30 MB each.
PIECES, LONGEST, LANGUAGES = 100_000, 100, 4
# Control characters that are not white space; sacremoses removes them, too.
_JUNK = re.compile(r"[\x00-\x08\x0e-\x1b]")
# No rule but the one that puts blanks around every other character can match in such text.
_NO_RULE = re.compile(r"[^.,']+").fullmatch
_AT_THE_ENDS = ("'", ",")


class MosesRules(dict[str, str]):
    """The rules of one language, and a dictionary: a piece, a blank and what comes next give the words of the piece."""

    def __init__(self, language: str):
        """Take an ISO 639-1 code; one without a list of abbreviations gets the English one."""
        super().__init__()
        self._rules = _Sacremoses(language)
        self._others = self._rules.PAD_NOT_ISALNUM[0]

    def words(self, sentence: str) -> str:
        """The words, separated by blanks; equal to sacremoses' `tokenize(sentence, escape=False, return_str=True)`."""
        text = sentence.strip()
        if not text.isprintable() or "  " in text:
            text = " ".join(_JUNK.sub("", text).split())
        if text.startswith(_AT_THE_ENDS) or text.endswith(_AT_THE_ENDS) or "' '" in text:
            return self._whole(sentence)
        pieces = text.split()
        if ". " in text:
            for place, after in enumerate(pieces[1:]):
                if pieces[place][-1] == ".":
                    pieces[place] += " " + self._stand_in(after[0])
        return " ".join([self[piece] for piece in pieces])

    def __missing__(self, key: str) -> str:
        if len(self) >= PIECES:
            self.clear()
        piece, _, after = key.partition(" ")
        core, end = piece[:-1], piece[-1]
        if end == "'" or "MULTI" in piece or not _NO_RULE(core):
            words = self._whole(f"- {piece} {after or '-'}")[2:-2]
        elif end == ",":
            words = f"{self[core]} ,"
        elif end == ".":
            words = self[core]
            stays = not self._others.fullmatch(core[-1]) and self._rules.keeps_period(
                words.split()[-1], after
            )
            words += "." if stays else " ."
        else:
            words = " ".join(" ".join(self._others.split(piece)).split())
        if len(key) <= LONGEST:
            self[key] = words
        return words

    def _whole(self, sentence: str) -> str:
        return self._rules.tokenize(sentence, escape=False, return_str=True)

    def _stand_in(self, first: str) -> str:
        """A character after which a period is treated as before a word that begins with this one."""
        if first in self._rules.lower:
            return "a"
        return "0" if first in "0123456789" else "-"


class _Sacremoses(MosesTokenizer):
    """The same rules with sets in place of lists of characters and abbreviations."""

    def __init__(self, language: str):
        super().__init__(language)
        self.lower, self.alpha = _characters(self.IsLower), _characters(self.IsAlpha)
        self.NONBREAKING_PREFIXES: frozenset[str] = frozenset(self.NONBREAKING_PREFIXES)
        self.NUMERIC_ONLY_PREFIXES: frozenset[str] = frozenset(self.NUMERIC_ONLY_PREFIXES)

    def keeps_period(self, word: str, after: str) -> bool:
        """Whether the period after a word without one stays on it: `handles_nonbreaking_prefixes` for such words."""
        if word in self.NUMERIC_ONLY_PREFIXES and after == "0":
            return True
        return after == "a" or (word in self.NONBREAKING_PREFIXES and word not in self.NUMERIC_ONLY_PREFIXES)

    def islower(self, text: str) -> bool:
        return self.lower.issuperset(text)

    def isanyalpha(self, text: str) -> bool:
        return not self.alpha.isdisjoint(text)


@functools.cache
def _characters(text: str) -> frozenset[str]:
    return frozenset(text)  # the same ones in most languages


@functools.lru_cache(LANGUAGES)
def moses_rules(language: str) -> MosesRules:
    """The rules of a language with what they remember."""
    return MosesRules(language)
