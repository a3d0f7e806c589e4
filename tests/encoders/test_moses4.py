"""Words by Moses' release 4.0: the answers of its programs, and sacremoses where both have the same rules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacremoses import MosesPunctNormalizer, MosesTokenizer

from orthoglot.encoders.moses4 import words

# remove-non-printing-char.perl | normalize-punctuation.perl -l LANGUAGE | tokenizer.perl -q -no-escape -l LANGUAGE of
# RELEASE-4.0 wrote the third column.
ANSWERS = [
    (
        "en",
        "Mr. Smith (aged 5) can't say: \"No.\" It's No. 5, isn't it?",
        "Mr. Smith ( aged 5 ) can 't say : \" No . \" It 's No. 5 , isn 't it ?",
    ),
    (
        "en",
        "Rs. 5,300 ... the 1990's, 'tis 50 % of ,,it…",
        "Rs . 5,300 ... the 1990 's , ' tis 50 % of , , it ...",
    ),
    ("en", "See fig. a and U.S.A. No. Five", "See fig. a and U.S.A. No . Five"),
    ("en", "a.b.' c.'", "a.b. ' c . '"),
    ("de", "Er sagte: „Ja.“ z.B. um 5 Uhr, Nr. 7", 'Er sagte : " Ja " . z.B. um 5 Uhr , Nr. 7'),
    ("de", 'Sie sagt: "Nein."', 'Sie sagt : " Nein " .'),
    ("de", "10\u00a0000 Euro", "10,000 Euro"),
    ("ru", "10\u00a0000 «рублей», т.е. много", '10.000 " рублей " , т.е. много'),
    ("fr", "L’été d'ici «\u00a0oui\u00a0»\u00a0!", 'L " été d\' ici " oui " !'),
    ("ga", "b'fhéidir d'ól", "b' fhéidir d' ól"),
    ("it", "l'acqua nell’aria", "l' acqua nell' aria"),
    ("es", 'lo que dijo l\'acqua ,"sí"', 'lo que dijo l \' acqua " , sí "'),
    ("cs", 'řekl "ano". toč', 'řekl " ano " . toč'),
    ("sv", "kl. 5 t.ex. ca. 7", "kl. 5 t.ex. ca . 7"),
    ("ta", "லை. நான்", "லை. நான ்"),
    ("hi", "हिन्दी भाषा।", "हिन ् दी भाषा ।"),
    ("zh", "我来到北京。“好”", '我来到北京 。 " 好 "'),
    (
        "xx",
        "rock'n'roll\u200b\u00ad x&amp;y a‘b’c’d e-mail 3.5",
        "rock ' n ' roll x & amp ; y a ' b ' c \" d e-mail 3.5",
    ),
]


@pytest.mark.parametrize(("language", "sentence", "answer"), ANSWERS)
def test_the_answers_of_the_programs(language: str, sentence: str, answer: str) -> None:
    assert words(sentence, language) == answer


@given(st.text("abcXYZ019 ,.;:?!()[]-/%$é", max_size=40), st.sampled_from(["en", "de", "fr", "is"]))
@settings(max_examples=200, deadline=None)
def test_sacremoses_agrees_where_there_are_no_quotation_marks(sentence: str, language: str) -> None:
    unified = MosesPunctNormalizer(language).normalize(sentence)
    assert words(sentence, language) == MosesTokenizer(language).tokenize(
        unified, escape=False, return_str=True
    )


@given(st.text(max_size=40), st.sampled_from(["en", "fr", "ta", "sw"]))
@settings(max_examples=200, deadline=None)
def test_words_are_separated_by_single_blanks_and_are_printable(sentence: str, language: str) -> None:
    split = words(sentence, language)
    assert split == " ".join(split.split())
    assert "\ue000" not in split
    assert not set(split) & set("\x00\u200b\u00ad")


def test_a_period_of_private_use_is_no_period() -> None:
    assert words("a\ue000b", "en") == "a b"
