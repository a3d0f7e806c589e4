"""Filters score as written, accept at their threshold, and drop nothing that their language is written with."""

from __future__ import annotations

import gzip
import math
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from cleaned import accepted_by, alone, clean
from hypothesis import given
from hypothesis import strategies as st

from orthoglot.corpora.cleaning import Cleaner, make_filters
from orthoglot.corpora.filters import (
    FILTERS,
    Controls,
    Copies,
    Empty,
    Filter,
    Language,
    LengthRatio,
    MaxCharacters,
    MinCharacters,
    Numbers,
    Script,
)
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.languages import canonical, script, unicode_scripts
from orthoglot.text.bitext import SentencePair, read_pairs
from orthoglot.text.keys import normalised

EN_RU = ("en", "ru")


@pytest.mark.parametrize(
    ("one", "pair", "score", "kept"),
    [
        (Empty(), ("abc", ""), 0, False),
        (Empty(), ("abc", "d"), 1, True),
        (MinCharacters(3), ("abcd", "ab"), 2, False),
        (MinCharacters(3), ("abcd", "abc"), 3, True),
        (MaxCharacters(3), ("abcd", "ab"), 4, False),
        (MaxCharacters(4), ("abcd", "abc"), 4, True),
        (Controls(), ("a\x00b", "a\ufffd"), 2, False),
        (Controls(), ("a\tb\x1b", "ab"), 1, False),
        (Controls(), ("a b", "a\u200db"), 0, True),
        (Copies(), ("ab", "ab"), 1, False),
        (Copies(), ("ab", "ac"), 0, True),
        (Script(0.5, EN_RU), ("Good day", "Dobry day"), 0.0, False),
        (Script(0.5, EN_RU), ("Good day", "День IBM"), 4 / 7, True),
        (Script(4 / 7, EN_RU), ("Good day", "День IBM"), 4 / 7, True),
        (Script(0.6, EN_RU), ("Гооd day", "День"), 4 / 7, False),
        (Script(0.5, EN_RU), ("12:30", "(12.30)"), 1.0, True),
        (Script(1.0, ("ja", "ko")), ("東京タワーとスカイツリー", "서울 大學校"), 1.0, True),
        (Script(1.0, ("sr", "hi")), ("Dobar дан", "नमस्ते दुनिया"), 1.0, True),
        (Script(1.0, ("en", "")), ("plain", "что угодно"), 1.0, True),
        (Numbers(1.0), ("no numbers", "keine"), 1.0, True),
        (Numbers(1.0), ("in 1999, 7 of 10", "١٩٩٩ 10 7"), 1.0, True),
        (Numbers(0.5), ("1 and 2", "1 und 3"), 0.5, True),
        (Numbers(0.5), ("7 7 7", "007"), 0.5, True),
        (Numbers(0.1), ("page 3", "Seite"), 0.0, False),
        (LengthRatio(2.0, (10.0, 20.0)), ("a" * 10, "b" * 20), 0.0, True),
        (LengthRatio(2.0, (10.0, 20.0)), ("a" * 10, "b" * 10), math.log(2), True),
        (LengthRatio(2.0, (10.0, 20.0)), ("a" * 10, "b" * 41), math.log(2.05), False),
    ],
)
def test_scores_and_what_is_accepted(one: Filter, pair: tuple[str, str], score: float, kept: bool) -> None:
    assert scored(one, pair) == pytest.approx(score)
    sides = alone(pair)
    assert one.accepts(one.scores(sides)).tolist() == [kept]
    one, other = one.scores(alone(pair)), one.scores(([*sides[0], "x"], [*sides[1], "yz"]))
    assert one[0] == other[0]


def scored(one: Filter, pair: tuple[str, str]) -> float:
    return float(one.scores(alone(pair))[0])


TEXT = st.text(st.sampled_from("abZé 12.ßДаяѣ漢字かなカナ한글नमस्ते๑กขΑω-'"), max_size=12)


@given(text=TEXT, language=st.sampled_from(["en", "ru", "ja", "ko", "hi", "sr", "th", "el"]))
def test_share_in_a_script_is_that_by_the_names_of_the_letters(text: str, language: str) -> None:
    named = {"Latn": "LATIN", "Cyrl": "CYRILLIC", "Hani": "CJK", "Hira": "HIRAGANA", "Kana": "KATAKANA"}
    named |= {"Hang": "HANGUL", "Deva": "DEVANAGARI", "Thai": "THAI", "Grek": "GREEK"}
    letters = [unicodedata.name(one) for one in text if unicodedata.category(one).startswith("L")]
    ours = [name for name in letters if name.split()[0] in {named[one] for one in unicode_scripts(language)}]
    wanted = len(ours) / len(letters) if letters else 1.0
    assert scored(Script(0.5, ("", language)), ("", text)) == pytest.approx(wanted)


def plain_shares(source: str, target: str) -> tuple[float, float]:
    """What `Numbers` and `Script` (of Hindi and English) score, without their tests of many texts at once."""
    ours, theirs = (
        Counter("".join(str(unicodedata.digit(one)) for one in digits).lstrip("0") for digits in found)
        for found in (re.findall(r"\d+", side) for side in (source, target))
    )
    total = ours.total() + theirs.total()
    shares = [1.0]
    for side, name in ((source, "Devanagari"), (target, "Latin")):
        letters = regex.findall(r"(?V1)[\p{L}--[\p{Script=Common}\p{Script=Inherited}]]", side)
        if letters:
            shares.append(
                sum(bool(regex.match(rf"\p{{Script={name}}}", one)) for one in letters) / len(letters)
            )
    return 2 * (ours & theirs).total() / total if total else 1.0, min(shares)


def assert_shares_are_plain(pairs: list[tuple[str, str]]) -> None:
    sides = [one for one, _ in pairs], [other for _, other in pairs]
    plain = [plain_shares(*pair) for pair in pairs]
    assert Numbers(0.5).scores(sides).tolist() == [numbers for numbers, _ in plain]
    assert Script(0.5, ("hi", "en")).scores(sides).tolist() == [script for _, script in plain]


MIXED = st.text(st.sampled_from("ab 07१२٣-नमे東Я²"), max_size=6)


@given(st.lists(st.tuples(MIXED, MIXED), max_size=8))
def test_looking_for_digits_and_foreign_letters_first_changes_no_score(pairs: list[tuple[str, str]]) -> None:
    assert_shares_are_plain(pairs)


def test_nor_does_it_on_real_text(shared_data: Path) -> None:
    pairs = read_pairs([shared_data / "parallel/tico19.en-hi.tsv.gz"])
    assert_shares_are_plain([(target, source) for source, target in pairs])


def test_language_is_the_probability_of_the_worse_side() -> None:
    one = Language(0.05, ("en", "de"))
    right = scored(one, ("The weather is nice today.", "Das Wetter ist heute schön."))
    wrong = scored(one, ("The weather is nice today.", "Il fait beau aujourd'hui."))
    assert 0.5 < right <= 1
    assert 0 <= wrong < 0.01
    assert one.accepts(np.array([right, wrong])).tolist() == [True, False]
    swapped = Language(0.05, ("de", "en"))
    assert scored(swapped, ("Il fait beau aujourd'hui.", "The weather is nice today.")) < 0.01
    first = Language(0.05, ("de", ""))
    assert scored(first, ("Das Wetter ist heute schön.", "Il fait beau.")) > 0.5


def test_a_language_that_is_not_known_is_accepted_and_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pairs = [SentencePair(f"The weather is nice on day {n}.", "Ina wer u fɛ.") for n in range(9)]
    counts: Counter[str] = Counter()
    settings = CleaningSettings(min_language=0.05, max_ratio=100.0)
    assert list(clean(pairs, settings, "en", "bm", {}, counts)) == pairs
    assert [record.getMessage() for record in caplog.records] == [
        "py3langid does not know bm: it accepts every such sentence"
    ]


def test_every_setting_of_a_filter_is_off_by_default_or_as_it_was() -> None:
    names = [type(one).__name__ for one in make_filters(CleaningSettings(), ("en", "de"))]
    assert names == ["Empty", "MinCharacters", "MaxCharacters", "Copies"]
    assert set(FILTERS) <= set(CleaningSettings.model_fields)
    every = CleaningSettings(drop_controls=True, min_script=0.5, min_numbers=0.5, min_language=0.05)
    made = make_filters(every, ("en", "de"))
    assert len({one.reason for one in made}) == len(made) == 1 + len(FILTERS)


SENTENCES = st.text(
    st.sampled_from("abZ é1,7 \x00\ufffd漢字。е́дa\u0301ก ข\u200b"), max_size=16
) | st.sampled_from(
    [
        "The weather is nice.",
        "Das Wetter ist schön.",
        "Погода хорошая 7.",
        "天気がいいです。",
        "Il fait beau.",
    ]
)
SETTINGS = st.builds(
    CleaningSettings,
    min_characters=st.integers(1, 4),
    max_characters=st.integers(8, 24),
    max_ratio=st.sampled_from([1.5, 9.0]),
    drop_copies=st.booleans(),
    drop_duplicates=st.booleans(),
    drop_controls=st.booleans(),
    min_script=st.sampled_from([0.0, 0.5, 1.0]),
    min_numbers=st.sampled_from([0.0, 0.5]),
    min_language=st.sampled_from([0.0, 0.05]),
)
BANNED = {"weather": ("one",), normalised("Das Wetter ist schön."): ("one", "two")}


@given(
    pairs=st.lists(st.builds(SentencePair, SENTENCES, SENTENCES), max_size=12),
    settings=SETTINGS,
    languages=st.sampled_from([("en", "de"), ("ja", "ru"), ("th", "zh"), ("gn", "qaa")]),
)
def test_read_is_kept_plus_dropped_by_reason_whatever_the_settings(
    pairs: list[SentencePair], settings: CleaningSettings, languages: tuple[str, str]
) -> None:
    counts: Counter[str] = Counter()
    overlaps: Counter[str] = Counter()
    kept = list(clean(pairs, settings, *languages, BANNED, counts, overlaps))
    assert counts.total() == len(pairs)
    assert counts["kept"] == len(kept)
    assert max(overlaps.values(), default=0) <= counts["benchmark"] <= overlaps.total()
    again: Counter[str] = Counter()
    assert list(clean(kept, settings, *languages, BANNED, again)) == kept
    assert +again == +Counter({"kept": len(kept)})
    for one in make_filters(settings, languages):
        assert all(accepted_by(one, pair, (normalised(pair[0]), normalised(pair[1]))) for pair in kept)


@given(
    pairs=st.lists(st.builds(SentencePair, SENTENCES, SENTENCES), max_size=12),
    settings=SETTINGS,
    languages=st.sampled_from([("en", "de"), ("ja", "ru"), ("th", "zh"), ("gn", "qaa"), ("ja", "")]),
)
def test_many_pairs_at_once_fare_as_each_alone(
    pairs: list[SentencePair], settings: CleaningSettings, languages: tuple[str, str]
) -> None:
    if not languages[1]:
        pairs = [SentencePair(pair.source, pair.source) for pair in pairs]
    every = settings.model_copy(update={"max_ratio": 1e9, "drop_duplicates": False})
    alone_counts, alone_overlaps, counts, overlaps = (Counter[str]() for _ in range(4))
    ungated = every if languages[1] else every.model_copy(update={"drop_copies": False})
    kept = clean(pairs, ungated, *languages, BANNED, alone_counts, alone_overlaps)
    cleaner = Cleaner(every, languages, {"benchmark": BANNED}, counts, overlaps)
    sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
    if languages[1]:
        found, keys = cleaner.pairs(sides)
        assert [*map(normalised, found[0])] == [*keys[0]]
        assert [*map(normalised, found[1])] == [*keys[1]]
        assert [*zip(*found, strict=True)] == kept
    else:
        sentences, keys_found = cleaner.sentences(sides[0])
        assert [*sentences] == [pair.source for pair in kept]
        assert len(keys_found) == len(kept)
    assert +counts == +alone_counts - Counter({"kept": len(kept)})
    assert overlaps == alone_overlaps


@pytest.mark.parametrize(
    ("changed", "pair", "reason"),
    [
        ({"drop_controls": True}, ("a \x1b[31mred", "ein roter"), "control_characters"),
        ({"min_script": 0.5}, ("a red one", "красный"), "script"),
        ({"min_numbers": 0.5}, ("a red 1", "ein roter 2"), "numbers"),
        ({"min_language": 0.05}, ("The weather is nice today.", "Il fait beau aujourd'hui."), "language"),
    ],
)
def test_each_further_reason_and_none_without_its_setting(
    changed: dict[str, Any], pair: tuple[str, str], reason: str
) -> None:
    for settings, wanted in ((CleaningSettings(**changed), reason), (CleaningSettings(), "kept")):
        counts: Counter[str] = Counter()
        list(clean([SentencePair(*pair)], settings, "en", "de", {}, counts))
        assert +counts == Counter([wanted])


def test_real_sentences_are_in_the_scripts_of_their_language(shared_data: Path) -> None:
    """FLORES-200 names the script of each column."""
    with gzip.open(shared_data / "nway/flores200.devtest.tsv.gz", "rt", encoding="utf-8") as file:
        header, *rows = (line.rstrip("\n").split("\t") for line in file)
    low = {}
    for place, name in enumerate(header[1:], 1):
        code = canonical(name)
        assert {"Hans": "Hani", "Hant": "Hani", "Jpan": "Hani"}.get(name[-4:], name[-4:]) in unicode_scripts(
            code
        )
        one = Script(0.5, ("", code))
        low[name] = sum(~one.accepts(one.scores(([""] * len(rows), [row[place] for row in rows]))))
    assert len(low) > 130
    # Sentences of which half are names in Latin letters.
    assert max(low.values()) <= 0.02 * len(rows)
    assert sum(low.values()) < 0.001 * len(rows) * len(low)
    assert script("sr") == "Cyrl"
