"""Words by the programs of Moses' release 4.0 (2017), by whose rules LASER1's vocabulary was learned.

Later releases, and sacremoses, cut other words. Release 4.0 takes any lone single quotation mark that is not between
Latin letters for a double one, and cuts the signs that join letters of Indian scripts, which are no letters, off as
punctuation. Lists of abbreviations are those of sacremoses, but for English, Swedish and Tamil, which have changed
since.

Source: remove-non-printing-char.perl, normalize-punctuation.perl and tokenizer.perl of
https://github.com/moses-smt/mosesdecoder at RELEASE-4.0; docs/papers.md#laser1-text.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from string import ascii_uppercase

import regex
from sacremoses.corpus import NonbreakingPrefixes

# Languages with a list of abbreviations; others have the English one.
LISTS = "ca cs de el en es fi fr ga hu is it lt lv nl pl pt ro ru sk sl sv ta yue zh"
_NUMERIC = "#NUMERIC_ONLY#"
# The lists leave out those of Tamil that end in a joining sign, as no word does.
_SWEDISH = "AB VG dvs etc from iaf jfr kl kr mao mfl mm osv pga tex tom vs"
_TAMIL = "திரு திருமதி வண கௌரவ Nos Nr"
_TAMIL_NUMERIC = "No Art pp"
_TAMIL_VOWELS, _TAMIL_CONSONANTS = "அஆஇஈஉஊஎஏஐஒஓஔஃ", "கசடதபறயரலவளழஙஞணநமன"
_TAMIL_SIGNS = ("", *"ாிீுூெேைொோௌ")
# Stands for a period of a run of them, so that it is none to other rules; no sentence has it, as it is not printable.
_DOT = "\ue000"
_LETTER, _DIGIT = r"\p{Alphabetic}", r"\p{N}"

Step = tuple[regex.Pattern[str], str]


def _steps(*pairs: tuple[str, str]) -> list[Step]:
    return [(regex.compile(pattern), replacement) for pattern, replacement in pairs]


_UNPRINTABLE = regex.compile(r"\p{C}")
_PUNCTUATION = _steps(
    (r"\(", " ("),
    (r"\)", ") "),
    (" +", " "),
    (r"\) ([.!:?;,])", r")\1"),
    (r"\( ", "("),
    (r" \)", ")"),
    ("([0-9]) %", r"\1%"),
    (" ([:;])", r"\1"),
    ("`", "'"),
    ("''", ' " '),
    ("[„“”]", '"'),
    ("–", "-"),
    ("—", " - "),
    (" +", " "),
    ("´", "'"),
    ("([a-zA-Z])‘([a-zA-Z])", r"\1'\2"),
    ("([a-zA-Z])’([a-zA-Z])", r"\1'\2"),
    ("[‘‚’]|''", '"'),
    ("…", "..."),
    ("\u00a0«\u00a0", ' "'),
    ("«\u00a0?", '"'),
    ("\u00a0»\u00a0", '" '),
    ("\u00a0?»", '"'),
    ("\u00a0([%:?!;])", r"\1"),
    ("nº\u00a0", "nº "),
    ("\u00a0(ºC|cm)", r" \1"),
    (",\u00a0", ", "),
    (" +", " "),
)
_QUOTATIONS = {"en": _steps((r'"([,.]+)', r'\1"')), "cs": []}
_OTHER_QUOTATIONS = _steps((',"', '",'), (r'(\.+)"(\s*(?:[^<]|$))', r'"\1\2'))
_GROUPED_NUMBER = regex.compile("([0-9])\u00a0([0-9])")
_COMMA_LANGUAGES = ("cs", "de", "es", "fr")  # those with a decimal comma, as Moses has it

_SYMBOL = regex.compile(rf"([^{_LETTER}\p{{Nd}}\s.'`,-])")
_DOTS = regex.compile(r"\.{2,}")
_COMMAS = _steps((f"([^{_DIGIT}]),", r"\1 , "), (f",([^{_DIGIT}])", r" , \1"), (f"({_DIGIT}),$", r"\1 ,"))
_AROUND = (f"([^{_LETTER}])'([^{_LETTER}])", r"\1 ' \2")
_AFTER_LETTER = (f"([{_LETTER}])'([^{_LETTER}])", r"\1 ' \2")
_APOSTROPHES = {
    "en": _steps(
        _AROUND,
        (f"([^{_LETTER}{_DIGIT}])'([{_LETTER}])", r"\1 ' \2"),
        _AFTER_LETTER,
        (f"([{_LETTER}])'([{_LETTER}])", r"\1 '\2"),
        (f"({_DIGIT})'(s)", r"\1 '\2"),
    ),
    "fr": _steps(
        _AROUND,
        (f"([^{_LETTER}])'([{_LETTER}])", r"\1 ' \2"),
        _AFTER_LETTER,
        (f"([{_LETTER}])'([{_LETTER}])", r"\1' \2"),
    ),
}
_APOSTROPHES |= dict.fromkeys(("ga", "it"), _APOSTROPHES["fr"])
_OTHER_APOSTROPHES = _steps(("'", " ' "))
_ANY_LETTER = regex.compile(_LETTER)
_LOWER = regex.compile(r"\p{Lowercase}")


def words(sentence: str, language: str) -> str:
    """The words of a sentence, separated by blanks, in its own case; entities are neither read nor written.

    What is not printable (Unicode's category C) becomes a blank, and punctuation is unified first. A language (ISO
    639-1) that Moses has no rules for gets the general ones and the English abbreviations.
    """
    return _tokens(_unified(_UNPRINTABLE.sub(" ", sentence), language), language)


def _unified(text: str, language: str) -> str:
    """What normalize-punctuation.perl writes."""
    text = _substitute(text, _PUNCTUATION + _QUOTATIONS.get(language, _OTHER_QUOTATIONS))
    return _GROUPED_NUMBER.sub(r"\1,\2" if language in _COMMA_LANGUAGES else r"\1.\2", text)


def _tokens(text: str, language: str) -> str:
    """What tokenizer.perl -no-escape writes."""
    text = _SYMBOL.sub(r" \1 ", " ".join(text.split()))
    text = _DOTS.sub(lambda run: f" {_DOT * len(run[0])} ", text)
    text = _substitute(text, _COMMAS + _APOSTROPHES.get(language, _OTHER_APOSTROPHES))
    tokens = text.split()
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        if len(token) > 1 and token.endswith(".") and not _keeps_period(token[:-1], following, language):
            tokens[place] = f"{token[:-1]} ."
    text = " ".join(tokens)
    if text.endswith(".'"):
        text = f"{text[:-2]} . '"
    return " ".join(text.replace(_DOT, ".").split())


def _keeps_period(token: str, following: str, language: str) -> bool:
    """Whether the period after a token stays on it, given the next one."""
    if ("." in token and _ANY_LETTER.search(token)) or _LOWER.match(following):
        return True
    numeric = _abbreviations(language if language in LISTS.split() else "en").get(token)
    return numeric is False or (numeric is True and following[:1] in set("0123456789"))


@functools.cache
def _abbreviations(language: str) -> Mapping[str, bool]:
    """Abbreviations, each with whether it is one only before a number."""
    lines = (line.strip() for line in _lists(language))
    return {line.removesuffix(_NUMERIC).rstrip(): line.endswith(_NUMERIC) for line in lines}


def _lists(language: str) -> Iterable[str]:
    """The entries of release 4.0's list for a language."""
    if language == "sv":
        return [*ascii_uppercase, *_SWEDISH.split()]
    if language == "ta":
        syllables = [consonant + sign for consonant in _TAMIL_CONSONANTS for sign in _TAMIL_SIGNS]
        numeric = [f"{abbreviation} {_NUMERIC}" for abbreviation in _TAMIL_NUMERIC.split()]
        return [*_TAMIL_VOWELS, *syllables, *_TAMIL.split(), *numeric]
    return [
        line for line in NonbreakingPrefixes().words(language) if (language, line.strip()) != ("en", "Rs")
    ]


def _substitute(text: str, steps: list[Step]) -> str:
    for pattern, replacement in steps:
        text = pattern.sub(replacement, text)
    return text
