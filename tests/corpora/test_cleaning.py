"""Every pair is counted once, a cleaned corpus is clean, and benchmark sentences do not get through."""

from __future__ import annotations

import unicodedata
from collections import Counter
from pathlib import Path

import pytest
import regex
from cleaned import clean
from hypothesis import given
from hypothesis import strategies as st

from orthoglot.corpora.cleaning import tidy, tidy_all
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.text.bitext import SentencePair, read_lines
from orthoglot.text.keys import normalised, normalised_all

ALL = CleaningSettings(
    min_characters=2, max_characters=20, max_ratio=2.0, drop_copies=True, drop_duplicates=True
)
WORDS = st.text(st.sampled_from("ab Zé1,.\t\u00a0漢字。ᾳßﬁİ़\x00"), max_size=24)
TEXTS = WORDS | st.text(max_size=24)


def _clean(
    pairs: list[SentencePair],
    settings: CleaningSettings = ALL,
    banned: frozenset[str] = frozenset(),
    languages: tuple[str, str] = ("en", "de"),
) -> tuple[list[SentencePair], Counter[str]]:
    counts: Counter[str] = Counter()
    return list(clean(pairs, settings, *languages, dict.fromkeys(banned, ()), counts)), counts


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("It's 5 o'clock, Mr. Smith!", "its5oclockmrsmith"),
        ("  ÉCOLE\u00a0№ 1 ", "écoleno1"),
        ("E\u0301cole", "école"),
        ("Straße", "strasse"),
        ("ﬁne ＡＢＣ１", "fineabc1"),
        ("私 は テニス 部員 で す 。", "私はテニス部員です"),
        ("snake_case", "snakecase"),
        ("?!… —", ""),
    ],
)
def test_keys_hold_letters_and_digits_only(text: str, key: str) -> None:
    assert normalised(text) == key


def test_key_of_every_character_is_the_same_alone_and_among_others() -> None:
    # Between letters with which marks combine; surrogates are no text.
    texts = [f"a{chr(code)}e{chr(code)}" for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for start in range(0, len(texts), 1 << 16):
        some = texts[start : start + (1 << 16)]
        assert normalised_all(some) == [*map(normalised, some)]


@given(texts=st.lists(TEXTS | st.text(), max_size=5))
def test_keys_of_many_are_those_of_each(texts: list[str]) -> None:
    assert normalised_all(texts) == [*map(normalised, texts)]


@given(
    texts=st.lists(TEXTS | st.text(), max_size=5),
    language=st.sampled_from(["en", "ja", "th"]),
    drop=st.booleans(),
)
def test_many_are_tidied_as_each(texts: list[str], language: str, drop: bool) -> None:
    assert tidy_all(texts, language, controls=drop) == [tidy(text, language, controls=drop) for text in texts]


@given(text=TEXTS)
def test_key_is_the_plain_definition(text: str) -> None:
    folded = unicodedata.normalize("NFKC", text).casefold()
    assert normalised(text) == "".join(
        letter for letter in folded if regex.match(r"[\p{L}\p{N}\p{M}]", letter)
    )


@pytest.mark.parametrize(
    ("sentence", "language", "tidied"),
    [
        ("  one\ttwo \u2028 three\x00four\r", "en", "one two three four"),
        ("誰 が 一番 に 着 く か", "ja", "誰が一番に着くか"),
        ("彼 は IBM の 社員 で 20 歳", "ja", "彼は IBM の社員で 20 歳"),
        ("誰 が 一番", "en", "誰 が 一番"),
        ("嗨\u3000你好 。", "zh", "嗨你好。"),
        ("für alle", "qae", "für alle"),
        ("\ufeffa\u200bb", "en", "a b"),
        ("มี บท เดียว\u3000และ\u200bบท สอง", "th", "มี บท เดียว และบท สอง"),
        ("ຂ້ອຍ ກິນ  ເຂົ້າ ແລ້ວ", "lo", "ຂ້ອຍ ກິນ ເຂົ້າ ແລ້ວ"),
        ("ខ្ញុំ\u200bទៅ\u200bផ្សារ រួច\u200bហើយ", "km", "ខ្ញុំទៅផ្សារ រួចហើយ"),
        ("မင်္ဂလာပါ ခင်ဗျာ", "my", "မင်္ဂလာပါ ခင်ဗျာ"),
        ("བཀྲ་ཤིས། བདེ་ལེགས།", "bo", "བཀྲ་ཤིས། བདེ་ལེགས།"),
    ],
)
def test_white_space_is_tidied_by_language(sentence: str, language: str, tidied: str) -> None:
    assert tidy(sentence, language) == tidied


@pytest.mark.parametrize(("language", "place"), [("th", "bible.tha"), ("my", "bible.mya")])
def test_spaces_between_phrases_of_real_text_stay(language: str, place: str, more_data: Path) -> None:
    lines = [line for line in read_lines(more_data / f"bible_nt/{place}.tsv.gz") if line.strip()][:500]
    spaces = sum(line.strip().count(" ") for line in lines)
    assert spaces > 2 * len(lines)
    assert sum(tidy(line, language).count(" ") for line in lines) == spaces


def test_control_characters_become_spaces_or_drop_the_pair() -> None:
    pair = SentencePair("one\x00two\tthree", "eins")
    assert _clean([pair])[0] == [("one two three", "eins")]
    kept, counts = _clean([pair], CleaningSettings(drop_controls=True))
    assert (kept, +counts) == ([], Counter(control_characters=1))
    plain = SentencePair("one\ttwo\u2028three", "eins")
    assert _clean([plain], CleaningSettings(drop_controls=True))[0] == [("one two three", "eins")]


def test_what_counts_as_a_duplicate() -> None:
    pairs = [
        SentencePair("Page 1 of many", "Seite 1 von vielen"),
        SentencePair("page 1, of MANY!", "Seite 1 (von vielen)"),
        SentencePair("Page 22 of many", "Seite 3 von vielen"),
        SentencePair("Many of page 1", "Von vielen Seite 1"),
        SentencePair("Page of many 1", "Seite 1 von vielen"),
        SentencePair("1999", "1999."),
        SentencePair("2001", "2001."),
        SentencePair("Page 1 of many", "Seite 1 von wenigen"),
    ]
    kept, counts = _clean(pairs, CleaningSettings(drop_copies=False))
    assert kept == [pair for place, pair in enumerate(pairs) if place != 1]
    assert counts["duplicate"] == 1


@given(text=TEXTS, language=st.sampled_from(["en", "ja", "th"]), drop=st.booleans())
def test_tidying_twice_is_tidying_once_and_moves_no_letter(text: str, language: str, drop: bool) -> None:
    once = tidy(text, language, controls=drop)
    assert tidy(once, language, controls=drop) == once
    assert "  " not in once
    assert once == once.strip()
    assert normalised(once) == normalised(text.replace("\u200b", ""))


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (("", "leer"), "empty"),
        (("...", "!?"), "empty"),
        (("I", "ich"), "too_short"),
        (("a" * 21, "b" * 20), "too_long"),
        (("Same thing.", "same thing"), "copy"),
        (("Known question?", "Frage"), "benchmark"),
        (("Question", "Bekannte frage"), "benchmark"),
        (("Good morning.", "Guten Morgen"), "duplicate"),
        (("good  morning", "guten morgen!"), "duplicate"),
        (("Hello there", "Hallo du da"), "kept"),
    ],
)
def test_each_reason(pair: tuple[str, str], reason: str) -> None:
    first = SentencePair("Good morning!", "Guten Morgen.")
    banned = frozenset({normalised("known, question"), normalised("Bekannte Frage.")})
    _, counts = _clean([first, SentencePair(*pair)], banned=banned)
    assert +counts == Counter({"kept": 1}) + Counter([reason])


def test_the_ratio_is_taken_after_scaling_by_the_mean_lengths() -> None:
    # Targets are three times as long throughout: no pair is odd. The last pair is 1:1, so 3 times off.
    usual = [SentencePair(f"ab{n}", f"abcdefgh{n}") for n in range(9)]
    settings = ALL.model_copy(update={"max_ratio": 1.5})
    assert _clean(usual, settings)[0] == usual
    kept, counts = _clean([*usual, SentencePair("abc", "xyz")], settings)
    assert kept == usual
    assert counts["ratio"] == 1
