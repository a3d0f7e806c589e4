"""Words by Moses' rules are sacremoses' own, letter by letter, in every language that it knows."""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacremoses import MosesTokenizer
from sacremoses.corpus import NonbreakingPrefixes

from orthoglot.encoders import moses
from orthoglot.encoders.moses import MosesRules, moses_rules
from orthoglot.languages import canonical, has_spaces

# Every list of abbreviations, the languages with rules of their own, and one that sacremoses does not know.
LANGUAGES = sorted({*NonbreakingPrefixes().available_langs.values(), "en", "fr", "it", "ko", "gn"} - {"cjk"})
# Pieces at which the rules look at what stands around them, and what stands there.
PIECES = [
    *("a", "B", "ñandu", "ß", "½", "5", "1,000", "मैं", "한국어", "ª", "ⅰ", "no", "no.", "u.s.", "mr.", "z.b.", "dr"),
    *("'", "''", "'s", "s'", "l'", "'90s", "5's", ",", ",,", ",5", "5,", "a,b", "a,5", "5,a", ".", "..", "...", ".5."),
    *("(", ")", ").", ",'", "',", ".'", "'.", '"', '."', "“", "€", "-", "--", "`", "``", "&", "|", "[", "@-@", "$5.50"),
    *("dotmulti", "DOTMULTI", "DOT", "MULTI", "\x00", "\x1b", "\x07'", "#", "art.", "pp.", "18.", "18.)", "\u200b"),
]  # fmt: skip
BLANKS = [" ", "  ", "\t", "\u00a0", "\u3000", "\x1f", "\n", " \x00 ", ""]


def expected(sentence: str, language: str) -> str:
    return MosesTokenizer(language).tokenize(sentence, escape=False, return_str=True)


def test_known_answers() -> None:
    english, french, german = (moses_rules(code).words for code in ("en", "fr", "de"))
    assert english('he said: "don\'t!" (5,000.50 u.s. dollars).') == (
        'he said : " don \'t ! " ( 5,000.50 u.s. dollars ) .'
    )
    assert french("l'été, aujourd'hui...") == "l' été , aujourd' hui ..."
    # "z.b." is an abbreviation; a period before a lower-case word stays, one before another does not
    assert german("z.b. am 3. mai. Ende.") == "z.b. am 3. mai . Ende ."
    assert german("am 3. und (35). und er.") == "am 3. und ( 35 ) . und er ."
    # The first apostrophe uses up the blank that the second would need.
    assert english("from 1' '2 to 3") == "from 1 ' '2 to 3"
    assert english("from 1' x '2 to 3") == "from 1 ' x ' 2 to 3"
    # "No." is one before a number only
    assert english("No. 5 and No. Five") == "No. 5 and No . Five"


@pytest.mark.parametrize("language", LANGUAGES)
def test_generated_sentences_are_split_as_by_sacremoses(language: str) -> None:
    rules, theirs = MosesRules(language), MosesTokenizer(language)
    parts = st.tuples(st.sampled_from(PIECES), st.sampled_from(BLANKS))

    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(st.lists(parts, max_size=9))
    def same(drawn: Sequence[tuple[str, str]]) -> None:
        sentence = "".join(map("".join, drawn))
        assert rules.words(sentence) == theirs.tokenize(sentence, escape=False, return_str=True)

    same()


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(max_size=30))
def test_any_text_is_split_as_by_sacremoses(sentence: str) -> None:
    assert moses_rules("fr").words(sentence) == expected(sentence, "fr")


def test_real_sentences_are_split_as_by_sacremoses(more_data: Path) -> None:
    lines: dict[str, list[str]] = defaultdict(list)
    with gzip.open(more_data / "lingua_sentences/sentences.tsv.gz", "rt", encoding="utf-8") as file:
        for code, sentence in (line.rstrip("\n").split("\t") for line in list(file)[1:]):
            lines[canonical(code)].append(sentence)
    languages = [code for code in lines if has_spaces(code)]
    assert len(languages) > 70
    for language in languages:
        rules, theirs = MosesRules(language), MosesTokenizer(language)
        for sentence in (form for line in lines[language][::10] for form in (line, line.lower())):
            assert rules.words(sentence) == theirs.tokenize(sentence, escape=False, return_str=True), language


def test_what_is_remembered_is_bounded_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moses, "PIECES", 3)
    rules, sentence = MosesRules("en"), "One, two. three. Four: don't; five (6) seven."
    for _ in range(3):
        assert rules.words(sentence) == expected(sentence, "en")
        assert len(rules) <= 4  # a piece and what it is made of
    assert rules.words("ab" * moses.LONGEST) == "ab" * moses.LONGEST
    assert max(map(len, rules)) < moses.LONGEST
